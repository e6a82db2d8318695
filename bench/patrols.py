# SPDX-License-Identifier: Apache-2.0
"""Measures patrols among obstacles: planner, physics, odometry with IMU, and lidar in lock step, without ROS.

`python bench/patrols.py` sends the robot to random goals, one after the other, and prints
the true distance from each goal when the robot reported it as reached, and the number of collisions.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from odometry_drift import SimulatedOdometry

from hexapod_control.config.robots.nav2_parameters import describe
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import ZERO, Pose, wrap
from hexapod_control.core.robot import Robot
from hexapod_control.core.steering.obstacle_avoidance import points, transform_points
from hexapod_control.core.steering.path_following import (
    Pursuit,
    PursuitCommand,
    PursuitPhase,
    PursuitSettings,
    Waypoint,
)
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, planar_pose, standing_lockstep
from hexapod_control.sim.free_places import random_goals
from hexapod_control.sim.lidar import Lidar
from hexapod_control.sim.simulation import CollisionCounter
from hexapod_control.sim.world_settings import WorldSettings

COMMAND_TICKS = 3  # ticks between two commands
# by ground truth, for a goal that counts as reached
MAX_DISTANCE_M = 0.1
MAX_HEADING_RAD = math.radians(10.0)
MAX_PATROL_S = 1200.0


@dataclass(frozen=True, slots=True)
class PatrolArrival:
    """A goal and the pose of the robot when it reported the goal as reached."""

    goal: Waypoint
    time: float  # [s]
    position: float  # [m] distance from the goal by ground truth
    heading: float  # [rad]
    drift: float  # [m] of the odometry

    @property
    def good(self) -> bool:
        """True if the robot was at the goal by ground truth."""
        return self.position <= MAX_DISTANCE_M and self.heading <= MAX_HEADING_RAD


@dataclass(frozen=True, slots=True)
class Patrol:
    """Result of a patrol."""

    arrivals: tuple[PatrolArrival, ...]
    command: PursuitCommand  # the last one
    collisions: int
    time: float  # [s]


class PatrolSensors:
    """Simulated odometry and lidar of a robot in lock step. The odometry starts at the true pose."""

    def __init__(self, lockstep: Lockstep, seed: int) -> None:
        simulation = lockstep.simulation
        self.odometry = SimulatedOdometry(simulation.robot, "legs_imu", seed)
        self.odometry.odometry.pose = planar_pose(simulation)
        self._lidar = Lidar(simulation.robot, seed=seed)
        self._every = round(1.0 / (self._lidar.settings.scan_rate * CONTROL_PERIOD_S))  # ticks
        self._ticks = 0
        self.obstacles: Array = np.zeros((0, 2))  # [m] in odom, as of the last scan

    @property
    def pose(self) -> Pose:
        """Pose of the robot in odom."""
        return self.odometry.odometry.pose

    def update(self, lockstep: Lockstep, planned: Sequence[float]) -> None:
        """Updates odometry and obstacles after a tick."""
        self.odometry.update(lockstep.simulation, planned)
        self._ticks += 1
        if self._ticks % self._every:
            return
        sensor = Pose(*self._lidar.position[:2], 0.0)
        self.obstacles = transform_points(points(self._lidar.scan(lockstep.simulation), sensor), self.pose)


def patrol(
    lockstep: Lockstep,
    pursuit: Pursuit,
    seed: int = 0,
    watch: Callable[[Pose, Pose, Array], None] | None = None,
) -> Patrol:
    """Walks a standing robot along waypoints; `watch` is called with odometry, truth and obstacles at every command."""
    sensors = PatrolSensors(lockstep, seed)
    collisions = CollisionCounter()
    arrivals: list[PatrolArrival] = []
    start = lockstep.simulation.time
    command = PursuitCommand(ZERO, PursuitPhase.HELD, 0, math.inf)
    ticks = 0
    while command.phase not in (PursuitPhase.DONE, PursuitPhase.STUCK) and ticks * CONTROL_PERIOD_S < MAX_PATROL_S:
        plan = lockstep.tick(collisions.update)
        sensors.update(lockstep, plan.support.tolist())
        ticks += 1
        if ticks % COMMAND_TICKS:
            continue
        truth = planar_pose(lockstep.simulation)
        time = lockstep.simulation.time - start
        command = pursuit.step(
            sensors.pose, lockstep.planner.view.maxima(), sensors.obstacles, COMMAND_TICKS * CONTROL_PERIOD_S
        )
        lockstep.planner.command(command.twist)
        for goal in pursuit.waypoints[len(arrivals) : command.reached]:
            arrivals.append(_arrival(goal, time, sensors.pose, truth))
        if watch:
            watch(sensors.pose, truth, sensors.obstacles)
    return Patrol(tuple(arrivals), command, collisions.count, lockstep.simulation.time - start)


def _arrival(goal: Waypoint, time: float, estimate: Pose, truth: Pose) -> PatrolArrival:
    off = 0.0 if goal.yaw is None else abs(wrap(goal.yaw - truth.yaw))
    return PatrolArrival(goal, time, math.dist((goal.x, goal.y), truth[:2]), off, math.dist(estimate[:2], truth[:2]))


def prepare_patrol(robot: Robot, text: str, count: int, seed: int) -> tuple[Lockstep, Pursuit]:
    """Returns a lock step whose robot stands among obstacles, and the pursuit of its goals; `text` is the URDF."""
    lockstep = standing_lockstep(robot, text, WorldSettings(world="obstacles", seed=seed))
    radius = describe(robot).radius
    goals = random_goals(lockstep.simulation, radius, count, seed)
    return lockstep, Pursuit(goals, PursuitSettings(radius=radius))


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table. Returns 1 if a goal was missed or an obstacle was hit."""
    parser = argparse.ArgumentParser(prog="python bench/patrols.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--goals", type=int, default=10, help="goals of a patrol (default: %(default)s)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="worlds (default: 0)")
    parser.add_argument("--out", type=Path, help="picture of the last patrol, .png")
    options = parser.parse_args(arguments)
    robot_file = load(options.robot)
    bad = 0
    for seed in options.seeds:
        lockstep, pursuit = prepare_patrol(robot_file.robot, urdf(robot_file), options.goals, seed)
        done = patrol(lockstep, pursuit, seed)
        for number, arrival in enumerate(done.arrivals, start=1):
            print(
                f"seed {seed} goal {number:2d} after {arrival.time:6.1f} s: {1e3 * arrival.position:5.1f} mm, "
                f"{math.degrees(arrival.heading):4.1f} deg by ground truth, odometry {1e3 * arrival.drift:5.1f} mm off"
            )
        good = sum(arrival.good for arrival in done.arrivals)
        print(
            f"seed {seed}: {good} of {options.goals} reached, {done.collisions} collisions, {done.command.phase.value}"
        )
        bad += options.goals - good + done.collisions
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
