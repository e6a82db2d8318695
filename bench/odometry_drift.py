# SPDX-License-Identifier: Apache-2.0
"""Measures the drift of the odometry and the consistency of its covariance, with planner and physics in lock step.

`python bench/odometry_drift.py` prints the drift over drives of one minute on three
grounds, and how well the covariance describes the errors over windows of ten seconds (normalised error squared per
degree of freedom, 1 is ideal).

planned   measured joints, planned stance feet: for servos that do not report their load
legs      measured joints and contacts
legs_imu  measured joints and contacts, heading of an IMU with simulated errors
"""

from __future__ import annotations

import argparse
import math
import os
import random
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby

import numpy as np

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.se2 import Pose, Twist, wrap
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.foot_force_estimator import MIN_LOAD_SHARE
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, planar_pose, standing_lockstep
from hexapod_control.sim.simulation import ImuNoise, Simulation
from hexapod_control.sim.world_settings import WorldSettings

DriveScript = tuple[tuple[Twist, float], ...]
"""Twists and the duration [s] of each."""

MODES = ("planned", "legs", "legs_imu")
WINDOW_S = 10.0  # over which the normalised error is evaluated
MIXED: DriveScript = (
    (Twist(0.1, 0.0, 0.0), 10.0),
    (Twist(0.1, 0.0, 0.4), 10.0),
    (Twist(0.0, 0.1, 0.0), 8.0),
    (Twist(0.0, 0.0, 0.5), 8.0),
    (Twist(0.07, 0.07, 0.0), 8.0),
    (Twist(0.1, 0.0, -0.4), 10.0),
    (Twist(0.0, 0.0, 0.0), 6.0),
)
SIDE = (Twist(0.1, 0.0, 0.0), 11.0), (Twist(0.0, 0.0, 0.5), math.pi)
DRIVES: dict[str, DriveScript] = {
    "straight": ((Twist(0.1, 0.0, 0.0), 60.0),),
    "arc": ((Twist(0.1, 0.0, 0.3), 60.0),),
    "strafe": ((Twist(0.0, 0.1, 0.0), 60.0),),
    "on the spot": ((Twist(0.0, 0.0, 0.5), 60.0),),
    "square": SIDE * 4,
    "figure eight": ((Twist(0.1, 0.0, 0.3), math.tau / 0.3), (Twist(0.1, 0.0, -0.3), math.tau / 0.3)),
    "mixed": MIXED,
}
GROUNDS = {
    "flat": WorldSettings(),
    "blocks 1 cm": WorldSettings(world="blocks", block_height=0.01),
    "friction 0.5": WorldSettings(friction=0.5),
}


@dataclass(frozen=True, slots=True)
class OdometryDrift:
    """Odometry against ground truth over a drive."""

    distance: float  # [m] of the true path; a rotation counts as the path of the feet
    position: float  # [m] maximum error along the path
    heading: float  # [rad] maximum error along the path
    windows: tuple[float, ...]  # normalised error squared per degree of freedom of every window

    @property
    def share(self) -> float:
        """Position error divided by the distance."""
        return self.position / self.distance

    @property
    def heading_per_metre(self) -> float:
        """Heading error divided by the distance [rad/m]."""
        return self.heading / self.distance


def random_drive(seed: int, seconds: float = 60.0) -> DriveScript:
    """Returns a drive of `seconds` [s] with standard twists in random order and of random duration."""
    rng = random.Random(seed)
    legs = []
    left = seconds
    twists = [twist for twist, _ in MIXED[:-1]]
    while left > 0.0:
        time = min(left, rng.choice((2.0, 3.0, 5.0, 8.0)))
        legs.append((rng.choice(twists).scaled(rng.choice((1.0, 1.0, -1.0))), time))
        left -= time
    return tuple(legs)


class SimulatedOdometry:
    """The odometry of one mode with simulated sensors."""

    def __init__(self, robot: Robot, mode: str, seed: int) -> None:
        """`seed` determines the errors of the IMU."""
        self._robot = robot
        self._mode = mode
        self._min_load = MIN_LOAD_SHARE * robot.mass * GRAVITY
        self._noise = ImuNoise(seed)
        self.odometry = Odometry(robot)
        self._heading: float | None = None

    def update(self, simulation: Simulation, planned: Sequence[float]) -> None:
        """Updates the odometry from the sensors after a tick."""
        self._noise.step(CONTROL_PERIOD_S)
        heading = planar_pose(simulation).yaw + self._noise.heading
        turn = None if self._heading is None or self._mode != "legs_imu" else wrap(heading - self._heading)
        self._heading = heading
        loads = [force if force > self._min_load else 0.0 for force in simulation.sensed_foot_forces().tolist()]
        self.odometry.update(simulation.joints, planned if self._mode == "planned" else loads, CONTROL_PERIOD_S, turn)


class _PathComparison:
    """Odometry of one mode against ground truth along one drive."""

    def __init__(self, robot: Robot, mode: str, seed: int, start: Pose) -> None:
        self._whole = SimulatedOdometry(robot, mode, seed)
        self._window = SimulatedOdometry(robot, mode, seed)
        self._reach = sum(math.hypot(*leg.foothold) for leg in robot.legs) / len(robot.legs)
        self._start = start
        self._last = start
        self._origin = start
        self._distance = 0.0
        self._position = 0.0
        self._heading = 0.0
        self._ticks = 0
        self._windows: list[float] = []

    def update(self, simulation: Simulation, planned: Sequence[float]) -> None:
        """Compares the poses after a tick."""
        for watched in (self._whole, self._window):
            watched.update(simulation, planned)
        now = planar_pose(simulation)
        last = self._last
        self._distance += math.hypot(now.x - last.x, now.y - last.y) + self._reach * abs(wrap(now.yaw - last.yaw))
        self._last = now
        error = _error(self._whole.odometry.pose, self._start.inverse() @ now)
        self._position = max(self._position, math.hypot(*error[:2]))
        self._heading = max(self._heading, abs(error[2]))
        self._ticks += 1
        if self._ticks % round(WINDOW_S / CONTROL_PERIOD_S) == 0:
            window = self._window.odometry
            error = _error(window.pose, self._origin.inverse() @ now)
            self._windows.append(float(error @ np.linalg.solve(window.covariance, error)) / len(error))
            window.reset()
            self._origin = now

    def result(self) -> OdometryDrift:
        """Returns the drift so far."""
        return OdometryDrift(self._distance, self._position, self._heading, tuple(self._windows))


def drift(
    lockstep: Lockstep, drive: DriveScript, modes: Sequence[str] = MODES, seed: int = 0
) -> dict[str, OdometryDrift]:
    """Drives a standing robot. Returns the drift of the odometry of every mode against ground truth."""
    simulation = lockstep.simulation
    compared = {mode: _PathComparison(simulation.robot, mode, seed, planar_pose(simulation)) for mode in modes}
    for planned in _planned(lockstep, drive):
        for comparison in compared.values():
            comparison.update(simulation, planned)
    return {mode: comparison.result() for mode, comparison in compared.items()}


def _planned(lockstep: Lockstep, drive: DriveScript) -> Iterator[list[float]]:
    for twist, seconds in drive:
        for _ in range(round(seconds / CONTROL_PERIOD_S)):
            lockstep.planner.command(twist)
            yield lockstep.tick().support.tolist()


def _error(estimate: Pose, truth: Pose) -> np.ndarray:
    return np.array((estimate.x - truth.x, estimate.y - truth.y, wrap(estimate.yaw - truth.yaw)))


@dataclass(frozen=True, slots=True)
class DriftJob:
    """One line of the table."""

    robot: str
    ground: str
    name: str
    drive: DriveScript
    seed: int


@cache
def _loaded(name: str) -> tuple[Robot, str]:
    robot_file = load(name)
    return robot_file.robot, urdf(robot_file)


def run(job: DriftJob) -> dict[str, OdometryDrift]:
    """Measures the drift of every mode on one drive; the seed also determines the blocks of the ground."""
    robot, text = _loaded(job.robot)
    return drift(
        standing_lockstep(robot, text, replace(GROUNDS[job.ground], seed=job.seed)), job.drive, MODES, job.seed
    )


def jobs(robot: str, seeds: int) -> list[DriftJob]:
    """Returns the named drives and `seeds` random ones, each on every ground."""
    drives = [*DRIVES.items(), *((f"random {seed}", random_drive(seed)) for seed in range(seeds))]
    return [
        DriftJob(robot, ground, name, drive, number)
        for ground in GROUNDS
        for number, (name, drive) in enumerate(drives)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python bench/odometry_drift.py", description=__doc__.partition("\n")[0])
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=20, help="random drives per ground (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="drives at a time (default: one per CPU)")
    options = parser.parse_args(arguments)
    print(f"{'ground':13s} {'drive':13s} {'mode':9s} {'dist m':>6s} {'error %':>8s} {'deg/m':>6s} {'NEES/dof':>9s}")
    listed = jobs(options.robot, options.seeds)
    with ProcessPoolExecutor(options.jobs) as pool:
        found = zip(listed, pool.map(run, listed), strict=True)
        for ground, rows in groupby(found, key=lambda row: row[0].ground):
            _print(ground, options.seeds, [(job.name, drifts) for job, drifts in rows])
    return 0


def _print(ground: str, seeds: int, rows: Sequence[tuple[str, dict[str, OdometryDrift]]]) -> None:
    for mode in MODES:
        for name, drifts in rows:
            if name in DRIVES:
                print(_line(ground, name, mode, [drifts[mode]]))
        random_ones = [drifts[mode] for name, drifts in rows if name not in DRIVES]
        if random_ones:
            print(_line(ground, f"{seeds} random", mode, random_ones), flush=True)


def _line(ground: str, name: str, mode: str, drifts: Sequence[OdometryDrift]) -> str:
    """A row with the maximum drift of several drives and the mean normalised error of all their windows."""
    windows = np.mean([square for one in drifts for square in one.windows])
    return (
        f"{ground:13s} {name:13s} {mode:9s} {np.mean([one.distance for one in drifts]):6.2f}"
        f" {100.0 * max(one.share for one in drifts):8.2f}"
        f" {math.degrees(max(one.heading_per_metre for one in drifts)):6.2f} {windows:9.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())
