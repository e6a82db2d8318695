# SPDX-License-Identifier: Apache-2.0
"""Measures gait changes in physics and compares their figures with limits.

`python bench/gait_changes.py` runs planner and physics in lock step. A robot that walks
steadily changes its gait and changes it back, at random phases of the cycle. Speeds are means over the longer of the
two cycles; a yaw rate counts as the speed of a foot on the circle of the neutral stance.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Pose, Twist, log
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, planar_pose, standing_lockstep
from hexapod_control.sim.world_settings import WorldSettings

SPEED_SHARE = 0.8  # of the maximum speed of both gaits
STEADY_CYCLES = 2  # walked before a change
MAX_CHANGE_S = 2.5  # time limit for the new gait to be active
MAX_ERROR_SHARE = 0.10  # allowed speed error, as a share of the commanded speed
MIN_ALLOWED_ERROR_M_S = 0.006  # allowed speed error of slow walks
DIRECTIONS = {
    "forwards": Twist(1.0, 0.0, 0.0),
    "strafing": Twist(0.0, 1.0, 0.0),
    "on an arc": Twist(1.0, 0.0, 4.0),
    "turning": Twist(0.0, 0.0, 1.0),
}


@dataclass(slots=True)
class GaitChanges:
    """Figures of all changes between two gaits in one direction."""

    count: int = 0
    time: float = 0.0  # [s] longest time until the new gait was active
    speed_error: float = 0.0  # [m/s] maximum difference of a one-cycle mean from the command
    allowed: float = 0.0  # [m/s]
    margin: float = math.inf  # [m] smallest stability margin
    unreachable: int = 0

    @property
    def kept(self) -> bool:
        """True if all limits are kept."""
        return (
            self.time <= MAX_CHANGE_S
            and self.speed_error <= self.allowed
            and self.margin > 0.0
            and self.unreachable == 0
        )


def measure(lockstep: Lockstep, pair: tuple[str, str], direction: Twist, phases: int, seed: int = 0) -> GaitChanges:
    """Changes from one gait to another and back at `phases` random phases. Returns the figures."""
    planner = lockstep.planner
    planner.change_gait(pair[0])
    command = planner.capabilities.fastest(direction, pair).scaled(SPEED_SHARE)
    cycle = max(planner.capabilities.gaits[name].cycle for name in pair) * planner.robot.walk.swing_time
    radius = max(math.hypot(x, y) for x, y in planner.view.neutral_footholds())
    size = max(math.hypot(command.vx, command.vy), radius * abs(command.wz))
    found = GaitChanges(allowed=max(MAX_ERROR_SHARE * size, MIN_ALLOWED_ERROR_M_S))
    walk = _SteadyWalk(lockstep, command, found, round(cycle / CONTROL_PERIOD_S), radius)
    rng = random.Random(seed)
    for _ in range(phases):
        for name in reversed(pair):
            walk.steadily(rng.random() * cycle)
            walk.change(name)
    return found


class _SteadyWalk:
    """Walks a robot with one command and collects the figures."""

    def __init__(self, lockstep: Lockstep, command: Twist, found: GaitChanges, cycle: int, radius: float) -> None:
        self._lockstep = lockstep
        self._command = command
        self._found = found
        self._cycle = cycle  # [ticks]
        self._radius = radius  # [m]
        self._poses: list[Pose] = []
        lockstep.reach(command)
        self.steadily(STEADY_CYCLES * cycle * CONTROL_PERIOD_S)

    def steadily(self, seconds: float) -> None:
        for _ in range(round(seconds / CONTROL_PERIOD_S)):
            self._tick()

    def change(self, name: str) -> None:
        """Requests a gait and walks until two cycles after the time limit for the change."""
        found = self._found
        planner = self._lockstep.planner
        planner.change_gait(name)
        found.count += 1
        taken = math.inf
        for tick in range(round(MAX_CHANGE_S / CONTROL_PERIOD_S) + STEADY_CYCLES * self._cycle):
            self._tick()
            if planner.view.active_gait == name:
                taken = min(taken, tick * CONTROL_PERIOD_S)
        found.time = max(found.time, taken)

    def _tick(self) -> None:
        lockstep, found = self._lockstep, self._found
        lockstep.planner.command(self._command)
        found.margin = min(found.margin, lockstep.tick().margin)
        found.unreachable = lockstep.unreachable
        self._poses.append(planar_pose(lockstep.simulation))
        if len(self._poses) > self._cycle:
            self._record_error(log(self._poses.pop(0).inverse() @ self._poses[-1], self._cycle * CONTROL_PERIOD_S))

    def _record_error(self, mean: Twist) -> None:
        command = self._command
        linear = math.hypot(mean.vx - command.vx, mean.vy - command.vy)
        self._found.speed_error = max(self._found.speed_error, linear, self._radius * abs(mean.wz - command.wz))


def table(lockstep: Lockstep, phases: int) -> Iterator[tuple[str, str, str, GaitChanges]]:
    """Yields (gait, other gait, direction, figures) for all pairs of gaits and all directions."""
    for pair in itertools.combinations(lockstep.planner.capabilities.gaits, 2):
        for name, direction in DIRECTIONS.items():
            yield *pair, name, measure(lockstep, pair, direction, phases)


HEAD = f"{'gaits':20s} {'direction':10s} {'changes':>7s} {'s':>5s} {'err m/s':>8s} {'limit':>7s} {'margin m':>8s}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table. Exit code 0 if every limit is kept, 1 if not, 2 for a bad robot file."""
    parser = argparse.ArgumentParser(prog="python bench/gait_changes.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--phases", type=int, default=4, help="of changes there and back (default: %(default)s)")
    args = parser.parse_args(arguments)
    try:
        robot_file = load(args.robot)
    except RobotFileError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{robot_file.robot.name}: at {SPEED_SHARE:.0%} of the highest speed both gaits allow\n{HEAD}")
    good = True
    for old, new, direction, seen in table(
        standing_lockstep(robot_file.robot, urdf(robot_file), WorldSettings()), args.phases
    ):
        good = good and seen.kept
        figures = f"{seen.time:5.2f} {seen.speed_error:8.4f} {seen.allowed:7.4f} {seen.margin:8.3f}"
        verdict = "" if seen.kept else "  BROKEN"
        print(f"{f'{old}, {new}':20s} {direction:10s} {seen.count:7d} {figures}{verdict}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
