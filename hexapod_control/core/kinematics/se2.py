# SPDX-License-Identifier: Apache-2.0
"""Planar rigid motions: a pose is (x, y, yaw) [m, m, rad], a twist (vx, vy, wz) [m/s, m/s, rad/s].

`exp` integrates a constant twist over a time exactly, so that a foot fixed in the world stays fixed for any twist and
step size. See docs/architecture/walking-mathematics.md, "Stance: SE(2) integration".

An arc is a travel and a curvature. Source: "Building a hexapod from scratch, part 8: improved motion maths". There x
points right and z forward; here x is forward and y left (REP 103): article x = -y, article z = x. A turn radius > 0 has
its center on the right, so that walking forward turns clockwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple


class Twist(NamedTuple):
    """Body velocity in base_footprint."""

    vx: float  # [m/s] forward
    vy: float  # [m/s] left
    wz: float  # [rad/s] counter-clockwise

    def scaled(self, factor: float) -> Twist:
        """This twist times a factor: the same path at another speed."""
        return Twist(self.vx * factor, self.vy * factor, self.wz * factor)

    def velocity_at(self, x: float, y: float) -> tuple[float, float]:
        """Velocity [m/s] of the body's point (x, y) [m]; relative to it a planted foot has the opposite one."""
        vx, vy, wz = self
        return vx - wz * y, vy + wz * x

    def speed_at(self, x: float, y: float) -> float:
        """Speed [m/s] of the body's point (x, y) [m]."""
        vx, vy, wz = self
        return math.hypot(vx - wz * y, vy + wz * x)

    def foot_speed(self, radius: float) -> float:
        """Mean speed [m/s] under the body of feet at `radius` [m] from its center."""
        return math.hypot(self.vx, self.vy, radius * self.wz)

    def along(self, course: Twist, radius: float) -> float:
        """The part [m/s] of the mean motion of feet at `radius` [m] from the center that is along a course."""
        size = course.foot_speed(radius)
        if size <= 0.0:
            return 0.0
        return (self.vx * course.vx + self.vy * course.vy + radius * radius * self.wz * course.wz) / size

    @property
    def is_zero(self) -> bool:
        """True if all components are zero."""
        return self.vx == 0.0 and self.vy == 0.0 and self.wz == 0.0


ZERO = Twist(0.0, 0.0, 0.0)


class Pose(NamedTuple):
    """A planar pose; `apply` maps points of its frame into the parent, `@` composes."""

    x: float  # [m]
    y: float  # [m]
    yaw: float  # [rad]

    def apply(self, x: float, y: float) -> tuple[float, float]:
        """A point (x, y) [m] of this frame, in the parent frame [m]."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return self.x + c * x - s * y, self.y + s * x + c * y

    def __matmul__(self, other: Pose) -> Pose:
        x, y = self.apply(other.x, other.y)
        return Pose(x, y, wrap(self.yaw + other.yaw))

    def inverse(self) -> Pose:
        """The pose of the parent in this frame."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return Pose(-c * self.x - s * self.y, s * self.x - c * self.y, -self.yaw)


def wrap(angle: float) -> float:
    """An angle [rad] in [-pi, pi]."""
    return math.remainder(angle, math.tau)


def exp(twist: Twist, time: float) -> Pose:
    """Pose reached after moving with a constant twist for a time [s].

    Near zero angle the Taylor series of sin(a)/a and (1 - cos(a))/a is used: their closed forms lose all
    digits there. Source: Sola et al., "A micro Lie theory for state estimation in robotics", eq. 158.
    """
    angle = twist.wz * time
    if abs(angle) < 1e-4:
        s = 1.0 - angle * angle / 6.0
        c = angle * (0.5 - angle * angle / 24.0)
    else:
        s = math.sin(angle) / angle
        c = (1.0 - math.cos(angle)) / angle
    dx, dy = twist.vx * time, twist.vy * time
    return Pose(s * dx - c * dy, c * dx + s * dy, angle)


def moved_point(twist: Twist, time: float, x: float, y: float) -> tuple[float, float]:
    """`exp(twist, time).apply(x, y)`, computed with half as many sines and cosines."""
    vx, vy, wz = twist
    angle = wz * time
    cosine, sine = math.cos(angle), math.sin(angle)
    if abs(angle) < 1e-4:
        s = 1.0 - angle * angle / 6.0
        c = angle * (0.5 - angle * angle / 24.0)
    else:
        s = sine / angle
        c = (1.0 - cosine) / angle
    dx, dy = vx * time, vy * time
    return s * dx - c * dy + cosine * x - sine * y, c * dx + s * dy + sine * x + cosine * y


def log(pose: Pose, time: float) -> Twist:
    """The constant twist that reaches a pose (|yaw| < pi) in a time [s]; inverse of exp."""
    half = pose.yaw / 2.0
    factor = 1.0 - half * half / 3.0 if abs(half) < 1e-4 else half / math.tan(half)
    return Twist((factor * pose.x + half * pose.y) / time, (factor * pose.y - half * pose.x) / time, pose.yaw / time)


MAX_CURVATURE = 1.999  # a turn on the spot
MIN_CURVATURE = 0.001  # almost straight


def turn_radius(distance: float, curvature: float) -> float:
    """Returns the turn radius of the body [m] for the travel [m] of the outermost foot per stance; + is to the right.

    The absolute curvature is clamped to MIN_CURVATURE and MAX_CURVATURE.
    """
    size = min(max(abs(curvature), MIN_CURVATURE), MAX_CURVATURE)
    return math.copysign(math.tan((2.0 - size) * math.pi / 4.0) * abs(distance), curvature)


def arc_angle(distance: float, radius: float, feet: Sequence[tuple[float, float]]) -> float:
    """Returns the angle [rad] of the arc in one stance on which the outermost foot travels `distance` [m].

    `radius` [m] as from `turn_radius`, `feet` are the neutral footholds (x, y) [m] in base_footprint.
    """
    outermost = max(math.hypot(radius + y, x) for x, y in feet)
    return math.copysign(distance / outermost, distance * radius)


def twist(distance: float, curvature: float, feet: Sequence[tuple[float, float]], stance_time: float) -> Twist:
    """Returns the twist for a curvature and a `distance` [m] of the outermost foot per stance (< 0: backwards)."""
    radius = turn_radius(distance, curvature)
    rate = arc_angle(distance, radius, feet) / stance_time
    return Twist(rate * radius, 0.0, -rate)
