# SPDX-License-Identifier: Apache-2.0
"""Walks robots with the errors of real ones straight ahead, and measures what they lose, and what their physics costs.

`python bench/real_robots.py --seeds 10` prints one line for each kind of errors: means over the seeds, and the extremes
in brackets. Nothing corrects the walk: neither IMU nor calibration.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from walk_quality import Course, walk

from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.reality import Reality, reality
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep
from hexapod_control.sim.simulation import MIN_CONTACT_FORCE_N, Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

COURSE = Course("tripod", Twist(0.1, 0.0, 0.0))
COST_TICKS = 100
COST_PAIRS = 15
HEAD = (
    f"{'errors':24s} {'ratio':>22s} {'turn deg/m':>12s} {'drift mm/m':>12s} {'roll deg':>8s} {'slip m/m':>8s}  3 feet"
)


class StraightWalk(NamedTuple):
    """Figures of one walk straight ahead."""

    ratio: float  # achieved over commanded distance
    turn: float  # [deg/m]
    drift: float  # [mm/m] sideways
    roll: float  # [deg] RMS
    slip: float  # [m/m]
    three_feet: float  # share of the time in which at least three feet bear load


class ObservedLockstep(Lockstep):
    """Keeps the targets of each tick, and whether at least three feet bear load after it."""

    def __init__(self, simulation: Simulation, planner: Planner) -> None:
        super().__init__(simulation, planner)
        self.targets: list[Array] = []
        self.on_three_feet: list[bool] = []

    def follow(self, targets: Array, observe: Callable[[Simulation], None] | None) -> None:
        """Simulates one control period."""
        super().follow(targets, observe)
        self.targets.append(targets.copy())
        self.on_three_feet.append(int(np.count_nonzero(self.simulation.foot_forces > MIN_CONTACT_FORCE_N)) >= 3)


def measured(robot_file: RobotFile, errors: Reality) -> StraightWalk:
    """Walks one robot on flat ground. Raises WalkError."""
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings(), errors)
    runs: list[ObservedLockstep] = []

    def drive(simulation: Simulation, planner: Planner) -> Lockstep:
        runs.append(ObservedLockstep(simulation, planner))
        return runs[-1]

    found = walk(simulation, COURSE, drive)
    way = found.achieved.vx
    ticks = round(found.time / CONTROL_PERIOD_S)
    return StraightWalk(
        ratio=found.ratios[0],
        turn=math.degrees(found.achieved.wz) / way,
        drift=1e3 * found.achieved.vy / way,
        roll=found.roll,
        slip=found.slip,
        three_feet=float(np.mean(runs[-1].on_three_feet[-ticks:])),
    )


def cases(robot_file: RobotFile, seeds: int) -> Iterator[tuple[str, list[Reality]]]:
    """The kinds of errors, each with one robot per seed."""
    robot = robot_file.robot
    ideal = reality(robot, "ideal")
    typical, worn = ([reality(robot, level, seed) for seed in range(seeds)] for level in ("typical", "worn"))
    play = np.array(math.radians(1.0))
    latency = np.array(0.04)
    yield "ideal", [ideal]
    yield "latency 40 ms", [replace(ideal, latency=latency)]
    yield "play 1 deg", [replace(ideal, backlash=play)]
    yield "zeros 2 deg", [replace(ideal, zero_offset=each.zero_offset) for each in typical]
    yield (
        "zeros 2, play 1, 40 ms",
        [replace(ideal, zero_offset=each.zero_offset, backlash=play, latency=latency) for each in typical],
    )
    yield "lengths and hips 1 mm", [replace(ideal, length=each.length, hip=each.hip) for each in typical]
    yield "typical", typical
    yield "worn", worn


def line(name: str, walks: Sequence[StraightWalk]) -> str:
    """One line of the table."""
    ratio, turn, drift, roll, slip, three_feet = np.array(walks).T
    turn = np.abs(turn)
    drift = np.abs(drift)
    return (
        f"{name:24s} {f'{ratio.mean():.3f} ({ratio.min():.3f}-{ratio.max():.3f})':>22s}"
        f" {f'{turn.mean():.1f} ({turn.max():.1f})':>12s} {f'{drift.mean():.0f} ({drift.max():.0f})':>12s}"
        f" {roll.mean():8.2f} {slip.mean():8.4f}  {100.0 * three_feet.mean():.0f} %"
    )


def cost(robot_file: RobotFile, errors: Reality) -> float:
    """Computing time of the physics with these errors over that of the ideal robot, for the targets of a walk."""
    robot = robot_file.robot
    text = urdf(robot_file)
    start, targets = _walk_targets(robot_file)

    def seconds(given: Reality | None) -> float:
        simulation = Simulation(robot, text, WorldSettings(), given)
        simulation.reset(start)
        begin = time.process_time()
        for row in targets:
            simulation.step(row, CONTROL_PERIOD_S)
        return time.process_time() - begin

    pairs = [(seconds(errors), seconds(None)) for _ in range(COST_PAIRS)]
    real, ideal = (min(column) for column in zip(*pairs, strict=True))  # what else runs only makes them longer
    return real / ideal


def _walk_targets(robot_file: RobotFile) -> tuple[Array, list[Array]]:
    """Joints at the start, and the targets of each tick."""
    simulation = Simulation(robot_file.robot, urdf(robot_file), WorldSettings())
    simulation.reset(sitting_pose(robot_file.robot))
    lockstep = ObservedLockstep(simulation, Planner(robot_file.robot))
    lockstep.stand()
    lockstep.targets.clear()
    start = simulation.joints
    lockstep.planner.command(COURSE.twist)
    for _ in range(COST_TICKS):
        lockstep.tick()
    return start, lockstep.targets


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="bench/real_robots.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE")
    parser.add_argument("--seeds", type=int, default=4, metavar="N", help="robots of each kind (default: %(default)s)")
    args = parser.parse_args(arguments)
    robot_file = load(args.robot)
    print(HEAD)
    for name, robots in cases(robot_file, args.seeds):
        print(line(name, [measured(robot_file, errors) for errors in robots]), flush=True)
    ratios = [cost(robot_file, reality(robot_file.robot, "typical", seed)) for seed in range(args.seeds)]
    print(f"physics of typical robots costs {np.median(ratios):.2f} times that of the ideal one")
    return 0


if __name__ == "__main__":
    sys.exit(main())
