"""How far dead reckoning is from the truth, and whether it knows; core and physics in lock step.

`python -m hexapod_control.sim.drift` prints the drift of both modes over drives of a minute on three grounds, and
how well the covariance describes the errors of windows of ten seconds (normalised error squared, 1 is ideal).
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.odometry import Odometry
from hexapod_control.core.planner import Planner
from hexapod_control.core.robot import Robot
from hexapod_control.core.se2 import Pose, Twist, wrap
from hexapod_control.robots.load import load
from hexapod_control.robots.urdf import urdf
from hexapod_control.sim.imu import ImuNoise
from hexapod_control.sim.lockstep import CONTROL_PERIOD, Lockstep
from hexapod_control.sim.quality import planar_pose
from hexapod_control.sim.settings import WorldSettings
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start import sitting

Drive = tuple[tuple[Twist, float], ...]
"""Twists and how long [s] each is driven."""

MODES = ("legs", "legs_imu")
LOADED = 0.02  # of the weight: as the node takes it
WINDOW = 10.0  # [s] of the normalised error
MIXED: Drive = (
    (Twist(0.1, 0.0, 0.0), 10.0),
    (Twist(0.1, 0.0, 0.4), 10.0),
    (Twist(0.0, 0.1, 0.0), 8.0),
    (Twist(0.0, 0.0, 0.5), 8.0),
    (Twist(0.07, 0.07, 0.0), 8.0),
    (Twist(0.1, 0.0, -0.4), 10.0),
    (Twist(0.0, 0.0, 0.0), 6.0),
)
SIDE = (Twist(0.1, 0.0, 0.0), 11.0), (Twist(0.0, 0.0, 0.5), math.pi)
DRIVES: dict[str, Drive] = {
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
class Drift:
    """Odometry against ground truth over a drive."""

    distance: float  # [m] of the true path; a turn counts with the way of the feet
    position: float  # [m] greatest error on the way
    heading: float  # [rad] greatest error on the way
    windows: tuple[float, ...]  # normalised error squared per degree of freedom of every window

    @property
    def share(self) -> float:
        """Position error over the distance."""
        return self.position / self.distance

    @property
    def heading_per_metre(self) -> float:
        """[rad/m]."""
        return self.heading / self.distance


def random_drive(seed: int, seconds: float = 60.0) -> Drive:
    """A drive of standard twists in random order and length."""
    rng, legs, left = random.Random(seed), [], seconds
    twists = [twist for twist, _ in MIXED[:-1]]
    while left > 0.0:
        time = min(left, rng.choice((2.0, 3.0, 5.0, 8.0)))
        legs.append((rng.choice(twists).scaled(rng.choice((1.0, 1.0, -1.0))), time))
        left -= time
    return tuple(legs)


class Watched:
    """Odometry of one mode, compared with the truth from its start."""

    def __init__(self, robot: Robot, mode: str, seed: int) -> None:
        """`seed` is that of the IMU's errors."""
        self._robot, self._mode = robot, mode
        self._noise = ImuNoise(seed)
        self.odometry = Odometry(robot)
        self._heading: float | None = None

    def update(self, lockstep: Lockstep, planned: Sequence[float]) -> None:
        """Takes what the sensors say after a tick."""
        simulation = lockstep.simulation
        self._noise.step(CONTROL_PERIOD)
        heading = planar_pose(simulation).yaw + self._noise.heading
        turn = None if self._heading is None else wrap(heading - self._heading)
        self._heading = heading
        if self._mode == "legs":
            self.odometry.update(simulation.joints, planned, CONTROL_PERIOD)
            return
        least = LOADED * self._robot.mass * 9.81
        loads = [force if force > least else 0.0 for force in simulation.foot_forces.tolist()]
        self.odometry.update(simulation.joints, loads, CONTROL_PERIOD, turn)


def standing(robot: Robot, text: str, world: WorldSettings) -> Lockstep:
    """A robot that has stood up in a world; `text` is its URDF."""
    simulation = Simulation(robot, text, world)
    simulation.reset(sitting(robot))
    lockstep = Lockstep(simulation, Planner(robot))
    lockstep.stand()
    return lockstep


def drift(lockstep: Lockstep, drive: Drive, mode: str = "legs", seed: int = 0) -> Drift:
    """Drives a standing robot and compares the odometry of one mode with the truth."""
    robot = lockstep.simulation.robot
    reach = sum(math.hypot(*leg.foothold) for leg in robot.legs) / len(robot.legs)
    whole, window = Watched(robot, mode, seed), Watched(robot, mode, seed)
    start = last = origin = planar_pose(lockstep.simulation)
    distance = position = heading = since = 0.0
    windows = []
    for planned in _planned(lockstep, drive):
        for watched in (whole, window):
            watched.update(lockstep, planned)
        now = planar_pose(lockstep.simulation)
        distance += math.hypot(now.x - last.x, now.y - last.y) + reach * abs(wrap(now.yaw - last.yaw))
        last = now
        error = _error(whole.odometry.pose, start.inverse() @ now)
        position, heading = max(position, math.hypot(*error[:2])), max(heading, abs(error[2]))
        since += CONTROL_PERIOD
        if since >= WINDOW:
            error = _error(window.odometry.pose, origin.inverse() @ now)
            windows.append(float(error @ np.linalg.solve(window.odometry.covariance, error)) / len(error))
            window.odometry.reset()
            origin, since = now, 0.0
    return Drift(distance, position, heading, tuple(windows))


def _planned(lockstep: Lockstep, drive: Drive) -> Iterator[list[float]]:
    for twist, seconds in drive:
        for _ in range(round(seconds / CONTROL_PERIOD)):
            lockstep.planner.command(twist)
            yield lockstep.tick().support.tolist()


def _error(told: Pose, true: Pose) -> np.ndarray:
    return np.array((told.x - true.x, told.y - true.y, wrap(told.yaw - true.yaw)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="python -m hexapod_control.sim.drift", description=__doc__)
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=20, help="random drives per ground (default: %(default)s)")
    options = parser.parse_args(arguments)
    robot_file = load(options.robot)
    robot, text = robot_file.robot, urdf(robot_file)
    print(f"{'ground':14s} {'drive':14s} {'mode':9s} {'way m':>6s} {'error %':>8s} {'deg/m':>6s} {'NEES/dof':>9s}")
    for ground, world in GROUNDS.items():
        drives = {**DRIVES, **{f"random {k}": random_drive(k) for k in range(options.seeds)}}
        for mode in MODES:
            squared: list[float] = []
            for number, (name, drive) in enumerate(drives.items()):
                found = drift(standing(robot, text, world), drive, mode, number)
                squared += found.windows if name.startswith("random") else ()
                print(
                    f"{ground:14s} {name:14s} {mode:9s} {found.distance:6.2f} {100.0 * found.share:8.2f}"
                    f" {math.degrees(found.heading_per_metre):6.2f} {np.mean(found.windows):9.2f}",
                    flush=True,
                )
            if squared:
                print(f"{ground:14s} {'all random':14s} {mode:9s} {'':6s} {'':8s} {'':6s} {np.mean(squared):9.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
