# SPDX-License-Identifier: Apache-2.0
"""`hexapod gaits`: the gaits of a robot with their speeds and margins, as a table and as a picture."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from hexapod_control.cli.bounded_options import add_robot, output_file
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.gait.gait_table import AUTO, Gait, leg_sides
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import least_support
from hexapod_control.core.workspace.stride_stability import margin_at

LEFT = "#2e8b57"
RIGHT = "#e4572e"
PHASES = np.linspace(0.0, 1.0, 240, endpoint=False)
FORWARD = (1.0, 0.0)
STRIDES = {"on the spot": 0.0, "full strides forward": 1.0}  # stride length as a share of the stance regions
HEAD = ("gait", "duty factor", "cycle [s]", "margin [mm]", "forward [m/s]", "left [m/s]", "turn [rad/s]")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    parser.add_argument(
        "--plot",
        type=output_file("a picture", (".png", ".svg", ".pdf")),
        metavar="FILE",
        help="draw when each foot stands, and the static margin over the cycle",
    )


def run(args: argparse.Namespace) -> int:
    """Prints the table and the gaits of `auto`, and draws the picture. Raises RobotFileError, OSError if it cannot."""
    robot = load(args.robot).robot
    saved_capabilities.enable()
    capabilities = Capabilities.of(robot)
    print(",".join(HEAD))
    for name, gait in capabilities.gaits.items():
        cycle = gait.cycle * robot.walk.swing_time
        margin = 1e3 * least_support(robot, gait).margin
        speeds = capabilities.envelope.maxima(gait, robot.walk.height, capabilities.region_share(gait))
        values = (f"{gait.duty_factor:.3f}", f"{cycle:.2f}", f"{margin:.0f}", *(f"{speed:.3f}" for speed in speeds))
        print(name, *values, sep=",")
    print(f"{AUTO}: {', '.join(gait.name for gait in capabilities.selection(AUTO).gaits)}")
    if args.plot:
        plot(capabilities, args.plot)
        print(args.plot)
    return DONE


def plot(capabilities: Capabilities, path: Path) -> None:
    """Writes the picture, a column per gait. Raises OSError."""
    import matplotlib  # takes a second, and is not needed for the table

    matplotlib.use("Agg")  # no screen
    import matplotlib.pyplot as plt

    rows = capabilities.gaits
    legs = len(capabilities.robot.legs)
    figure = plt.figure(figsize=(2.9 * len(rows), 2.0 + 0.25 * legs), layout="constrained")
    heights = (0.25 * legs, 1.4)
    grid = figure.subplots(2, len(rows), height_ratios=heights, sharex=True, sharey="row", squeeze=False)
    try:
        for (above, below), gait in zip(grid.T, rows.values(), strict=True):
            _feet(above, capabilities, gait)
            _margin(below, capabilities, gait)
        grid[0, 0].invert_yaxis()
        grid[1, 0].set(ylabel="static margin [mm]", ylim=(min(0.0, grid[1, 0].get_ylim()[0]), None))
        grid[1, 0].legend(fontsize="x-small", frameon=False)
        figure.savefig(path, dpi=110)
    finally:
        plt.close(figure)


def _feet(axes: Any, capabilities: Capabilities, gait: Gait) -> None:
    """A bar for every stance: the left legs front to rear, then the right ones."""
    left, right = leg_sides(capabilities.robot.legs)
    for row, leg in enumerate(left + right):
        stances = [(cycle + gait.lift_off[leg] - gait.duty_factor, gait.duty_factor) for cycle in (0, 1)]
        axes.broken_barh(stances, (row - 0.35, 0.7), color=LEFT if leg in left else RIGHT)
    names = [capabilities.robot.legs[leg].name for leg in left + right]
    axes.set_yticks(range(len(names)), names, fontsize="small")
    axes.set(xlim=(0.0, 1.0), title=f"{gait.name}: duty factor {gait.duty_factor:.2f}")


def _margin(axes: Any, capabilities: Capabilities, gait: Gait) -> None:
    robot = capabilities.robot
    stance = capabilities.neutral_stance
    center = neutral_center(robot)
    for (label, share), colour in zip(STRIDES.items(), ("#333333", "#999999"), strict=True):
        margins = [1e3 * margin_at(gait, phase, stance, center, share, FORWARD) for phase in PHASES]
        axes.plot(PHASES, margins, color=colour, label=label)
    axes.set(xlabel="phase of the cycle")
    axes.grid(alpha=0.2)
