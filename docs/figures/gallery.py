# SPDX-License-Identifier: Apache-2.0
"""The picture of docs/gallery.md: every robot of the package from above and from behind, all at one scale.

`python docs/figures/gallery.py` (needs matplotlib).
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.robot import Robot

PICTURE = Path(__file__).parent.parent / "images" / "gallery.png"
COLUMNS, HALF_WIDTH_M = 4, 0.48
VIEWS = ((1, 0, -1.0), (1, 2, -1.0))  # axes shown to the right and upwards, and the sign of the first


def draw(axes: Axes, robot: Robot, view: tuple[int, int, float]) -> None:
    """The robot in its neutral stance."""
    right, up, sign = view
    body = robot.body
    corner = (sign * body.center[right] - body.size[right] / 2, body.center[up] - body.size[up] / 2)
    axes.add_patch(plt.Rectangle(corner, body.size[right], body.size[up], color="#30343c"))
    for leg, row in zip(robot.legs, standing_joints(robot), strict=True):
        knee, foot = (hip_to_base(leg, point) for point in leg_forward(leg, row))
        hip = leg.hip
        colour = "#d94a38" if hip[1] > 0.0 else "#2a9468"
        points = [(sign * point[right], point[up]) for point in (hip, knee, foot)]
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=2.0, marker="o", markersize=2.5)


def main() -> None:
    """Draws all robots."""
    names = known_robots()
    rows = -(-len(names) // COLUMNS)
    figure, grid = plt.subplots(2 * rows, COLUMNS, figsize=(11, 3.9 * rows), height_ratios=[3, 1.3] * rows)
    for axes in grid.flat:
        axes.axis("off")
    for number, name in enumerate(names):
        robot, row, column = load(name).robot, 2 * (number // COLUMNS), number % COLUMNS
        grid[row, column].set_title(f"{name}\n{robot.mass:.1f} kg", fontsize=10)
        for view, axes in zip(VIEWS, grid[row : row + 2, column], strict=True):
            draw(axes, robot, view)
            axes.set(xlim=(-HALF_WIDTH_M, HALF_WIDTH_M), aspect="equal")
        grid[row, column].set_ylim(-HALF_WIDTH_M, HALF_WIDTH_M)
        grid[row + 1, column].set_ylim(-0.21, 0.15)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=90)


if __name__ == "__main__":
    main()
