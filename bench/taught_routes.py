# SPDX-License-Identifier: Apache-2.0
"""Measures routes that are taught by driving once, then walked back and again, with odometry that is wrong by 3 %.

Planner, physics, odometry and lidar are in lock step, without ROS. The operator drives by sight from place to place in
a random room; the robot knows odometry and scans only. `python bench/taught_routes.py --seeds 0 1 2` prints the errors
by ground truth: at the end of each walk, and the largest one beside the taught way.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

import numpy as np
from odometry_drift import SimulatedOdometry

from hexapod_control.config.robots.nav2_parameters import describe
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist
from hexapod_control.core.steering.obstacle_avoidance import points as scan_points
from hexapod_control.core.steering.obstacle_avoidance import transform_points
from hexapod_control.core.steering.path_following import Pursuit, PursuitPhase, PursuitSettings, Waypoint
from hexapod_control.core.steering.taught_route import TOLERANCE_M, RouteLesson, TaughtRoute
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, planar_pose, standing_lockstep
from hexapod_control.sim.free_places import random_goals
from hexapod_control.sim.lidar import Lidar
from hexapod_control.sim.simulation import CollisionCounter
from hexapod_control.sim.world_settings import WorldSettings

COMMAND_TICKS = 3  # ticks between two commands
ERROR = 0.03  # of the odometry
MAX_WALK_S = 900.0
BAR_M = 0.1


class WrongOdometry:
    """Odometry by the legs whose steps are longer or shorter and turn further or less than the true ones."""

    def __init__(self, lockstep: Lockstep, seed: int, error: float) -> None:
        """`error` is the share by which distances and turns are wrong; their signs are drawn by the seed."""
        self._odometry = SimulatedOdometry(lockstep.simulation.robot, "legs", seed)
        self._way, self._turn = 1.0 + error * np.random.default_rng(seed).choice((-1.0, 1.0), 2)
        self._last = self._odometry.odometry.pose
        self.pose = Pose(0.0, 0.0, 0.0)  # in odom

    def update(self, lockstep: Lockstep, planned: Sequence[float]) -> None:
        """Takes one tick."""
        self._odometry.update(lockstep.simulation, planned)
        new = self._odometry.odometry.pose
        step = self._last.inverse() @ new
        self._last = new
        self.pose = self.pose @ Pose(self._way * step.x, self._way * step.y, self._turn * step.yaw)


class Walker:
    """A simulated robot with wrong odometry and a lidar."""

    def __init__(self, lockstep: Lockstep, seed: int, error: float) -> None:
        self.lockstep = lockstep
        self.odometry = WrongOdometry(lockstep, seed, error)
        self._lidar = Lidar(lockstep.simulation.robot, seed=seed)
        self._every = round(1.0 / (self._lidar.settings.scan_rate * CONTROL_PERIOD_S))  # ticks
        self._collisions = CollisionCounter()
        self._ticks = 0
        self.scan: Array = np.zeros((0, 2))  # [m] in base_footprint
        self.scanned = Pose(0.0, 0.0, 0.0)  # pose in odom at the scan
        self.true_scanned = self.truth
        self.has_new_scan = False

    @property
    def truth(self) -> Pose:
        """Pose in the world."""
        return planar_pose(self.lockstep.simulation)

    @property
    def limits(self) -> Twist:
        """Maximum speeds."""
        return self.lockstep.planner.view.maxima()

    @property
    def collisions(self) -> int:
        """Obstacles hit so far."""
        return self._collisions.count

    def go(self, twist: Twist) -> None:
        """Walks until the next command; takes a scan if one is due."""
        self.lockstep.planner.command(twist)
        self.has_new_scan = False
        for _ in range(COMMAND_TICKS):
            plan = self.lockstep.tick(self._collisions.update)
            self.odometry.update(self.lockstep, plan.support.tolist())
            self._ticks += 1
            if self._ticks % self._every == 0:
                self.scan = scan_points(
                    self._lidar.scan(self.lockstep.simulation), Pose(*self._lidar.position[:2], 0.0)
                )
                self.scanned, self.true_scanned = self.odometry.pose, self.truth
                self.has_new_scan = True

    @property
    def seconds(self) -> float:
        """Of one command."""
        return COMMAND_TICKS * CONTROL_PERIOD_S


def teach(walker: Walker, length: float, seed: int, radius: float) -> tuple[RouteLesson, list[Pose]]:
    """An operator drives a way of at least this length [m] by sight. Returns the lesson, and the true way."""
    lesson = RouteLesson()
    way = [walker.truth]
    driven = 0.0
    goals = 0
    while driven < length:
        pursuit = Pursuit(
            [Waypoint(g.x, g.y) for g in random_goals(walker.lockstep.simulation, radius, 1, 1000 * seed + goals)],
            PursuitSettings(tolerance=0.1, radius=radius, progress_timeout=15.0),
        )
        goals += 1
        phase = PursuitPhase.WALKING
        while driven < length and phase not in (PursuitPhase.DONE, PursuitPhase.STUCK):
            seen = transform_points(walker.scan, walker.true_scanned)
            command = pursuit.step(walker.truth, walker.limits, seen, walker.seconds)
            phase = command.phase
            walker.go(command.twist)
            _learn(lesson, walker)
            driven += math.dist(way[-1][:2], walker.truth[:2])
            way.append(walker.truth)
    for _ in range(30):  # the robot comes to rest
        walker.go(ZERO)
        _learn(lesson, walker)
    way.append(walker.truth)
    return lesson, way


def _learn(lesson: RouteLesson, walker: Walker) -> None:
    lesson.take_odometry(walker.odometry.pose)
    if walker.has_new_scan:
        lesson.take_scan(walker.scan, walker.scanned)


def walk(
    walker: Walker, points: Sequence[tuple[float, float]], seen: Array | None, radius: float
) -> tuple[str, list[Pose]]:
    """Walks along a route. Returns how it ended, and the true way."""
    route = None if seen is None else TaughtRoute(points, seen)
    tracker = route and route.find(walker.scan, walker.scanned)
    if route is not None and tracker is None:
        return "place not found", [walker.truth]
    settings = PursuitSettings(TOLERANCE_M, radius=radius, progress_timeout=30.0)
    pursuit = Pursuit([Waypoint(x, y) for x, y in points], settings)
    way = [walker.truth]
    for _ in range(round(MAX_WALK_S / walker.seconds)):
        if tracker and walker.has_new_scan:
            tracker.take_scan(walker.scan, walker.scanned)
        on_map = tracker.odom_on_map if tracker else Pose(0.0, 0.0, 0.0)
        seen = transform_points(walker.scan, on_map @ walker.scanned)
        place = on_map @ walker.odometry.pose
        seen = route.obstacles(seen, place[:2], radius + settings.clearance) if route else seen
        command = pursuit.step(place, walker.limits, seen, walker.seconds)
        walker.go(command.twist)
        way.append(walker.truth)
        if command.phase in (PursuitPhase.DONE, PursuitPhase.STUCK):
            break
    for _ in range(30):
        walker.go(ZERO)
    return command.phase.value, [*way, walker.truth]


def beside(way: Sequence[Pose], taught: Sequence[Pose]) -> float:
    """The largest distance [m] of a way from a taught one."""
    line = np.array([pose[:2] for pose in taught])
    return max(float(np.hypot(*(line - pose[:2]).T).min()) for pose in way)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the errors. Returns 1 if a walk did not end at its goal."""
    parser = argparse.ArgumentParser(prog="python bench/taught_routes.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx", help="name or robot file (default: %(default)s)")
    parser.add_argument("--length", type=float, default=20.0, help="of a route [m] (default: %(default)s)")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="worlds and errors (default: 0)")
    parser.add_argument("--error", type=float, default=ERROR, help="share of the odometry (default: %(default)s)")
    parser.add_argument("--room", type=float, default=5.0, help="side of the room [m] (default: %(default)s)")
    parser.add_argument("--blind", action="store_true", help="by odometry alone")
    options = parser.parse_args(arguments)
    robot_file = load(options.robot)
    radius = describe(robot_file.robot).radius
    bad = 0
    for seed in options.seeds:
        settings = WorldSettings(world="obstacles", seed=seed, room_size=options.room)
        lockstep = standing_lockstep(robot_file.robot, urdf(robot_file), settings)
        walker = Walker(lockstep, seed, options.error)
        lesson, way = teach(walker, options.length, seed, radius)
        seen = None if options.blind else lesson.seen
        route = lesson.route()
        drift = math.dist(walker.odometry.pose[:2], (way[0].inverse() @ walker.truth)[:2])
        print(
            f"seed {seed}: {lesson.length:.1f} m in {len(route)} points, odometry {1e3 * drift:.0f} mm off", flush=True
        )
        for name, points_, goal in (("back", route[::-1], way[0]), ("again", route, way[-1])):
            end, walked = walk(walker, points_, seen, radius)
            off = math.dist(walked[-1][:2], goal[:2])
            good = end == "done" and off <= BAR_M
            bad += not good
            text = f"{name}: {end}, {1e3 * off:.0f} mm from the end, at most {1e3 * beside(walked, way):.0f} mm beside"
            print(f"  {text}, {walker.collisions} collisions", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
