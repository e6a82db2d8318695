"""`hexapod gaits`: the gaits of a robot with their speeds and margins, as a table and as a picture."""

from __future__ import annotations

import argparse

from hexapod_control.cli.bounded_options import add_robot, output_file
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import least_support

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
        cycle, margin = gait.cycle * robot.walk.swing_time, 1e3 * least_support(robot, gait).margin
        speeds = capabilities.envelope.maxima(gait, robot.walk.height, capabilities.region_share(gait))
        values = (f"{gait.duty_factor:.3f}", f"{cycle:.2f}", f"{margin:.0f}", *(f"{speed:.3f}" for speed in speeds))
        print(name, *values, sep=",")
    print(f"{AUTO}: {', '.join(gait.name for gait in capabilities.selection(AUTO).gaits)}")
    if args.plot:
        from hexapod_control.cli.robot_files.gait_diagrams import plot

        plot(capabilities, args.plot)
        print(args.plot)
    return DONE
