# SPDX-License-Identifier: Apache-2.0
"""Plots a comparison of two runs: paths, velocities and joint differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from hexapod_control.bags.recorded_run import hold_last
from hexapod_control.bags.run_comparison import COMMAND_TIMEOUT_S, RunComparison
from hexapod_control.core.names import short_joint_name

matplotlib.use("Agg")  # no screen

import matplotlib.pyplot as plt

COLOURS = ("tab:blue", "tab:orange")
NAMES = ("vx [m/s]", "vy [m/s]", "wz [rad/s]")


def plot(comparison: RunComparison, path: Path) -> None:
    """Writes the plot as PNG. Raises OSError."""
    figure = plt.figure(figsize=(12.0, 8.0), layout="constrained")
    try:
        grid = figure.add_gridspec(3, 2)
        _paths(figure.add_subplot(grid[:2, 0]), comparison)
        _joints(figure.add_subplot(grid[2, 0]), comparison)
        axes = [figure.add_subplot(grid[row, 1]) for row in range(3)]
        _velocities(axes, comparison)
        figure.savefig(path, dpi=100)
    finally:
        plt.close(figure)


def _paths(axes: Any, comparison: RunComparison) -> None:
    for run, colour in zip((comparison.one, comparison.other), COLOURS, strict=True):
        axes.plot(run.odometry[:, 1], run.odometry[:, 2], color=colour, label=f"{run.name}: odom")
        if len(run.truth):
            axes.plot(run.truth[:, 1], run.truth[:, 2], color=colour, linestyle=":", label="truth")
    axes.set(title="paths from the first command", xlabel="x [m]", ylabel="y [m]")
    axes.axis("equal")
    axes.legend(fontsize="small")


def _velocities(rows: list[Any], comparison: RunComparison) -> None:
    for axis, axes in enumerate(rows):
        for run, colour in zip((comparison.one, comparison.other), COLOURS, strict=True):
            times = run.velocity[:, 0]
            axes.plot(times, run.velocity[:, 1 + axis], color=colour, linewidth=0.8)
            axes.plot(times, hold_last(run.command, times, COMMAND_TIMEOUT_S)[:, axis], color=colour, linestyle="--")
        axes.set(ylabel=NAMES[axis])
    rows[0].set(title="achieved by odom, commanded dashed")
    rows[-1].set(xlabel="time [s]")


def _joints(axes: Any, comparison: RunComparison) -> None:
    if len(comparison.joint_difference):
        rms = np.degrees(np.sqrt(np.nanmean(comparison.joint_difference**2, axis=0)))
        places = np.arange(len(rms))
        axes.bar(places, rms, color="tab:gray")
        names = [short_joint_name(name).replace("_", " ") for name in comparison.joint_names]
        axes.set_xticks(places, names, rotation=90, fontsize="x-small")
    axes.set(title="joint differences", ylabel="rms [deg]")
