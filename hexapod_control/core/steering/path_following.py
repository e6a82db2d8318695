# SPDX-License-Identifier: Apache-2.0
"""Follows waypoints: planar pure pursuit for a robot that can walk in every direction.

Poses and waypoints are in odom, twists in base_footprint. The robot follows the line from its position at the previous
waypoint, aiming at a point one lookahead distance ahead. If there is an obstacle on it, the robot walks around it and
continues on a new line; if no direction is free, it stands.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, wrap
from hexapod_control.core.steering.obstacle_avoidance import CLEAR_DISTANCE, detour, free_distance, transform_points

FACING_DISTANCE = 0.3  # [m] from the waypoint, within which the robot turns to the heading of the waypoint
PROGRESS = 0.2  # of the tolerances, by which a robot must get nearer


class PursuitHeading(Enum):
    """Heading of the robot between waypoints."""

    ALIGNED = "aligned"  # the direction of travel
    FREE = "free"  # the heading of the waypoint; without one, the present heading


class PursuitPhase(Enum):
    """Phase of the pursuit."""

    WALKING = "walking"
    DETOUR = "detour"
    BLOCKED = "blocked"  # no direction is free: the robot stands
    HELD = "held"  # the robot cannot walk now: its limits are zero or its pose is not finite
    STUCK = "stuck"  # no progress for `progress_timeout`
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Waypoint:
    """A position to reach, with an optional heading."""

    x: float  # [m]
    y: float  # [m]
    yaw: float | None = None  # [rad]
    heading: PursuitHeading = PursuitHeading.ALIGNED

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.x, self.y, self.yaw or 0.0))):
            raise ValueError(f"a waypoint must be finite, is {self.x}, {self.y}, {self.yaw}")


@dataclass(frozen=True, slots=True)
class PursuitSettings:
    """Settings of the pursuit."""

    tolerance: float = 0.02  # [m] from a waypoint within which it is reached
    heading_tolerance: float = math.radians(3.0)  # [rad]
    radius: float = 0.0  # [m] of a disc that contains the robot with its feet
    clearance: float = 0.04  # [m] additional distance from obstacles
    stop: float = 0.03  # [m] free distance below which the robot stands
    lookahead: float = 0.4  # [m]
    share: float = 0.9  # of the maximum speeds
    gain: float = 1.0  # [1/s] speed per distance to the waypoint or the obstacle
    slowest: float = 0.15  # lower limit of the speed, as a share of `share`
    turn_gain: float = 1.5  # [1/s] yaw rate per heading error
    progress_timeout: float = 60.0  # [s] without getting closer to the waypoint

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            may_be_zero = name in ("radius", "clearance")
            if not (math.isfinite(value) and (value >= 0.0 if may_be_zero else value > 0.0)):
                raise ValueError(f"{name} must be finite and {'>=' if may_be_zero else '>'} 0, is {value}")


@dataclass(frozen=True, slots=True)
class PursuitCommand:
    """The command for one step."""

    twist: Twist
    phase: PursuitPhase
    reached: int  # waypoints reached so far
    distance: float  # [m] to the waypoint


class Pursuit:
    """Follows waypoints; call `step` for every command."""

    def __init__(self, waypoints: Sequence[Waypoint], settings: PursuitSettings | None = None) -> None:
        self.waypoints = tuple(waypoints)
        self.settings = settings or PursuitSettings()
        self._reached = 0
        self._start: tuple[float, float] | None = None  # [m] of the line
        self._last: float | None = None  # [rad] direction of the detour, in odom
        # shortest remaining path so far, in tolerances; [s] since it last got shorter
        self._nearest = math.inf
        self._idle = 0.0

    def step(self, pose: Pose, limits: Twist, obstacles: Array, dt: float) -> PursuitCommand:
        """Returns the command for a pose, maximum speeds and obstacles (k, 2) [m] in odom, `dt` [s] after the last."""
        while self._reached < len(self.waypoints) and self._is_reached(pose):
            self._reached += 1
            self._start = self._last = None
            self._nearest = math.inf
            self._idle = 0.0
        if self._reached == len(self.waypoints):
            return PursuitCommand(ZERO, PursuitPhase.DONE, self._reached, 0.0)
        goal = self.waypoints[self._reached]
        distance = math.dist((goal.x, goal.y), pose[:2])
        held = PursuitCommand(ZERO, PursuitPhase.HELD, self._reached, distance)
        if min(limits) <= 0.0 or not all(map(math.isfinite, (*pose, *limits))):
            return held
        if self._is_stuck(pose, distance, dt):
            return replace(held, phase=PursuitPhase.STUCK)
        direction, free, phase = self._direction(pose, goal, transform_points(obstacles, pose.inverse()))
        return replace(held, twist=self._twist(pose, direction, min(free, distance), limits), phase=phase)

    def _is_reached(self, pose: Pose) -> bool:
        goal = self.waypoints[self._reached]
        near = math.dist((goal.x, goal.y), pose[:2]) <= self.settings.tolerance
        return near and (goal.yaw is None or abs(wrap(goal.yaw - pose.yaw)) <= self.settings.heading_tolerance)

    def _is_stuck(self, pose: Pose, distance: float, dt: float) -> bool:
        """True after `progress_timeout` without progress in distance or, near the waypoint, in heading."""
        goal = self.waypoints[self._reached]
        error = abs(wrap(goal.yaw - pose.yaw)) if goal.yaw is not None and distance < FACING_DISTANCE else math.pi
        remaining = distance / self.settings.tolerance + error / self.settings.heading_tolerance
        if remaining < self._nearest - PROGRESS:
            self._nearest = remaining
            self._idle = 0.0
        else:
            self._idle += dt
        return self._idle > self.settings.progress_timeout

    def _direction(self, pose: Pose, goal: Waypoint, obstacles: Array) -> tuple[float, float, PursuitPhase]:
        """Returns direction [rad] in base_footprint, its free distance [m], and phase."""
        settings = self.settings
        disc = self.settings.radius + self.settings.clearance
        self._start = self._start or pose[:2]
        back = pose.inverse()
        target = back.apply(goal.x, goal.y)
        for x, y in (back.apply(*self._lookahead_point(pose, goal)), target):
            direction = math.atan2(y, x)
            far = math.hypot(x, y)
            free = free_distance(obstacles, direction, disc)
            if free >= min(CLEAR_DISTANCE, math.hypot(*target)) and (far > 0.0 or not any(target)):
                self._last = None
                return direction, free, PursuitPhase.WALKING
        self._start = pose[:2]
        last = None if self._last is None else wrap(self._last - pose.yaw)
        direction, free = detour(target, obstacles, disc, last)
        if free < settings.stop:
            return direction, 0.0, PursuitPhase.BLOCKED
        self._last = direction + pose.yaw
        return direction, free, PursuitPhase.DETOUR

    def _lookahead_point(self, pose: Pose, goal: Waypoint) -> tuple[float, float]:
        """Returns the point [m] on the line that is one lookahead distance beyond the point nearest to the robot."""
        assert self._start is not None
        x, y = self._start
        dx = goal.x - x
        dy = goal.y - y
        length = math.hypot(dx, dy)
        if length < self.settings.tolerance:
            return goal.x, goal.y
        passed = ((pose.x - x) * dx + (pose.y - y) * dy) / length
        part = min(1.0, (max(0.0, passed) + self.settings.lookahead) / length)
        return x + part * dx, y + part * dy

    def _twist(self, pose: Pose, direction: float, distance: float, limits: Twist) -> Twist:
        """Returns a twist in a direction [rad], within the limits, with which the robot can stop in `distance` [m]."""
        settings = self.settings
        goal = self.waypoints[self._reached]
        c, s = math.cos(direction), math.sin(direction)
        top = settings.share / math.hypot(c / limits.vx, s / limits.vy)
        speed = min(top, max(settings.gain * distance, settings.slowest * top)) if distance > 0.0 else 0.0
        distance = math.dist((goal.x, goal.y), pose[:2])
        turn = self._turn(pose, goal, direction, distance) if speed or distance < FACING_DISTANCE else 0.0
        wz = max(-settings.share * limits.wz, min(settings.share * limits.wz, turn))
        if distance < settings.tolerance / 2.0:
            speed = 0.0  # only the heading is left
        wanted = Twist(speed * c, speed * s, wz)
        used = math.hypot(wanted.vx / limits.vx, wanted.vy / limits.vy) + abs(wz) / limits.wz
        return wanted.scaled(min(1.0, settings.share / used)) if used else ZERO

    def _turn(self, pose: Pose, goal: Waypoint, direction: float, distance: float) -> float:
        """Returns the yaw rate [rad/s]."""
        if goal.heading is PursuitHeading.ALIGNED and (distance > FACING_DISTANCE or goal.yaw is None):
            error = direction if distance > FACING_DISTANCE else 0.0
        else:
            error = wrap(goal.yaw - pose.yaw) if goal.yaw is not None else 0.0
        return self.settings.turn_gain * error
