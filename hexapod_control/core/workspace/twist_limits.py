# SPDX-License-Identifier: Apache-2.0
"""Velocity and acceleration limits per axis, which do not change the direction of the motion."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from hexapod_control.core.kinematics.se2 import Twist

MIN_COMMAND = Twist(1e-3, 1e-3, 1e-3)
"""[m/s, rad/s] Axes of an operator's command below this count as zero, so that noise does not make the robot step."""

MIN_TWIST = Twist(1e-7, 1e-7, 1e-7)
"""[m/s, rad/s] Axes of any twist below this count as zero, as their inverse could overflow. Motions that step on the
spot command slightly more."""


@dataclass(frozen=True, slots=True)
class AxisLimits:
    """Limits of one axis, [m/s, m/s^2] or [rad/s, rad/s^2]; NaN: the limit of the robot."""

    max_velocity: float = math.nan
    min_velocity: float = math.nan  # NaN: -max_velocity
    max_acceleration: float = math.nan
    max_deceleration: float = math.nan

    def __post_init__(self) -> None:
        for name in ("max_velocity", "max_acceleration", "max_deceleration"):
            if getattr(self, name) < 0.0 or math.isinf(getattr(self, name)):
                raise ValueError(f"{name} must be finite and >= 0 (or NaN), is {getattr(self, name)}")
        if self.min_velocity > 0.0 or math.isinf(self.min_velocity):
            raise ValueError(f"min_velocity must be finite and <= 0 (or NaN), is {self.min_velocity}")


@dataclass(frozen=True, slots=True)
class TwistLimits:
    """Limits of all three axes."""

    linear_x: AxisLimits = field(default_factory=AxisLimits)
    linear_y: AxisLimits = field(default_factory=AxisLimits)
    angular_z: AxisLimits = field(default_factory=AxisLimits)

    @property
    def axes(self) -> tuple[AxisLimits, AxisLimits, AxisLimits]:
        """Limits in the order of a twist."""
        return (self.linear_x, self.linear_y, self.angular_z)


def zero_small_axes(twist: Twist, thresholds: Twist) -> Twist:
    """The twist with axes below their thresholds set to zero."""
    return Twist(*(value if abs(value) >= bound else 0.0 for value, bound in zip(twist, thresholds, strict=True)))


def clamp_to_limits(twist: Twist, limits: TwistLimits) -> Twist:
    """The twist, scaled as a whole until every axis is within its velocity limits; then axes below MIN_TWIST are 0.

    An axis with the limit 0, such as the speed backwards of a robot that must not reverse, is left out: a turn with a
    trace of it would otherwise not begin.
    """
    factor = 1.0
    for row, (value, axis) in enumerate(zip(twist, limits.axes, strict=True)):
        bound = axis.max_velocity if value > 0.0 or math.isnan(axis.min_velocity) else -axis.min_velocity
        if abs(value) <= bound or math.isnan(bound):
            continue
        if bound == 0.0:
            twist = Twist(*(0.0 if other == row else kept for other, kept in enumerate(twist)))
        else:
            factor = min(factor, bound / abs(value))
    return twist if factor == 1.0 else zero_small_axes(twist.scaled(factor), MIN_TWIST)


def derate_limits(limits: TwistLimits, maxima: Twist, share: float) -> TwistLimits:
    """The velocity limits, or the maximum speeds of the robot where these are smaller, times a share (0 to 1)."""
    return TwistLimits(*(_derated(axis, maximum, share) for axis, maximum in zip(limits.axes, maxima, strict=True)))


def _derated(axis: AxisLimits, maximum: float, share: float) -> AxisLimits:
    upper = maximum if math.isnan(axis.max_velocity) else min(maximum, axis.max_velocity)
    lower = -upper if math.isnan(axis.min_velocity) else max(-maximum, axis.min_velocity)
    return replace(axis, max_velocity=share * upper, min_velocity=share * lower)


def change_towards(now: float, goal: float, max_change: float) -> float:
    """The value after a change of at most `max_change` towards the goal."""
    return now + min(max(goal - now, -max_change), max_change)


def ramp_towards(now: Twist, goal: Twist, acceleration: Twist, deceleration: Twist, dt: float) -> Twist:
    """The twist `dt` [s] later, on a straight line to the goal; no axis exceeds its limit [m/s^2, m/s^2, rad/s^2]."""
    factor = 1.0
    for a, b, speed_up, slow_down in zip(now, goal, acceleration, deceleration, strict=True):
        change = abs(b - a)
        max_change = (slow_down if abs(b) < abs(a) or a * b < 0.0 else speed_up) * dt
        if change > max_change:
            factor = min(factor, max_change / change)
    if factor == 1.0:
        return goal
    return Twist(*(a + factor * (b - a) for a, b in zip(now, goal, strict=True)))
