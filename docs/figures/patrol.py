# SPDX-License-Identifier: Apache-2.0
"""The picture of docs/patrol.md, made in lock step: `python docs/figures/patrol.py` (needs MuJoCo and matplotlib)."""

from __future__ import annotations

import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))

from patrols import patrol, prepare_patrol

from hexapod_control.clients.patrol_run import PatrolResult, draw
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose

IMAGE = Path(__file__).parent.parent / "images" / "patrol.png"
SEED = 3


def main() -> None:
    """Walks and draws."""
    robot_file = load("phantomx")
    lockstep, pursuit = prepare_patrol(robot_file.robot, urdf(robot_file), 10, SEED)
    result = PatrolResult(pursuit.waypoints, pursuit.settings.tolerance, pursuit.settings.radius)

    last: list[Array | None] = [None]

    def watch(estimate: Pose, truth: Pose, obstacles: Array) -> None:
        result.odometry.append(estimate)
        result.truth.append(truth)
        if obstacles is not last[0]:
            last[0] = obstacles
            result.add_scan(obstacles.tolist())

    done = patrol(lockstep, pursuit, SEED, watch)
    worst = max(arrival.position for arrival in done.arrivals)
    turn = math.degrees(max(arrival.heading for arrival in done.arrivals))
    result.headline = (
        f"{len(done.arrivals)} of {len(pursuit.waypoints)} waypoints reached in {done.time:.0f} s, at most "
        f"{1e3 * worst:.0f} mm and {turn:.1f} deg off by ground truth, {done.collisions} collisions"
    )
    draw(result, IMAGE)
    print(IMAGE, result.headline)


if __name__ == "__main__":
    main()
