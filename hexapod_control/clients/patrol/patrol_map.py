"""Draws a map of a patrol: path by odometry and by ground truth, waypoints and obstacles."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.path_following import Waypoint

CELL_M = 0.02  # size of a cell of the obstacle map
MAX_CELLS = 200_000
MIN_HITS = 5  # scans with an obstacle in a cell, for the cell to be drawn; fewer are noise
ARROW_M = 0.25


@dataclass(slots=True)
class PatrolResult:
    """Path, arrivals and obstacles of a patrol, in the frame odom."""

    waypoints: tuple[Waypoint, ...]
    tolerance: float  # [m]
    radius: float  # [m] of the robot
    odometry: list[Pose] = field(default_factory=list)
    truth: list[Pose] = field(default_factory=list)  # empty on a real robot
    arrivals: list[tuple[float, float]] = field(default_factory=list)  # [m] where waypoints were reached
    hits: Counter[tuple[int, int]] = field(default_factory=Counter)  # scans with an obstacle in a cell
    headline: str = ""

    def add_scan(self, points: Sequence[Sequence[float]]) -> None:
        """Adds the obstacle points (k, 2) [m] of a scan."""
        if len(self.hits) < MAX_CELLS:
            self.hits.update((round(x / CELL_M), round(y / CELL_M)) for x, y in points)


def draw(result: PatrolResult, path: Path) -> None:
    """Draws the map into a file, whose suffix gives its format."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.patches import Circle

    figure, axes = plt.subplots(figsize=(7.5, 7.5))
    if result.hits:
        cells = [(x * CELL_M, y * CELL_M) for (x, y), times in result.hits.items() if times >= MIN_HITS]
        axes.plot(
            [x for x, _ in cells],
            [y for _, y in cells],
            ".",
            color="#8a8f98",
            markersize=1.2,
            label="seen by the lidar",
        )
    for name, track, colour, style in (
        ("odometry", result.odometry, "#1f77b4", "-"),
        ("ground truth", result.truth, "#e4572e", "--"),
    ):
        if track:
            axes.plot([p.x for p in track], [p.y for p in track], style, color=colour, linewidth=1.3, label=name)
    start = result.odometry[0]
    axes.add_patch(Circle(start[:2], result.radius, fill=False, color="#1f77b4", linewidth=0.6, label="robot"))
    for number, goal in enumerate(dict.fromkeys(result.waypoints), start=1):
        axes.add_patch(Circle((goal.x, goal.y), max(result.tolerance, 0.03), color="#2e8b57", alpha=0.8))
        if goal.yaw is not None:
            tip = (goal.x + ARROW_M * math.cos(goal.yaw), goal.y + ARROW_M * math.sin(goal.yaw))
            axes.annotate("", tip, (goal.x, goal.y), arrowprops={"arrowstyle": "->", "color": "#2e8b57"})
        axes.annotate(str(number), (goal.x, goal.y), xytext=(5, 5), textcoords="offset points", fontsize=9)
    axes.set(aspect="equal", xlabel="x in odom [m]", ylabel="y in odom [m]")
    axes.set_title(result.headline, fontsize=9)
    axes.grid(alpha=0.2)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=4, frameon=False, fontsize=8, markerscale=6)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
