"""Speed and acceleration limits of a walk: those of legs and servos, and those of the settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import SpeedLimit
from hexapod_control.core.workspace.twist_limits import TwistLimits, clamp_to_limits


class SpeedConditions(NamedTuple):
    """The conditions on which the speed limits of a walk depend."""

    gait: Gait
    height: float  # [m] of base_link above the ground
    region_share: float  # that the body pose leaves for walking, see REGION_SHARES


class _LimitLookup(NamedTuple):
    """The last result of `SpeedLimiter.limit`, and its arguments."""

    key: tuple[Twist, SpeedConditions, tuple[Gait, ...], TwistLimits, float]
    limit: SpeedLimit


class _MaximaLookup(NamedTuple):
    """The last maximum speeds, and the conditions for which they were computed."""

    conditions: SpeedConditions
    maxima: Twist


class SpeedLimiter(Copyable):
    """Speed and acceleration limits of one robot; computed again only when an argument has changed."""

    def __init__(self, capabilities: Capabilities) -> None:
        """Starts without any lookup."""
        self._capabilities = capabilities
        self._last_limit: _LimitLookup | None = None
        self._last_maxima: _MaximaLookup | None = None

    def limit(
        self, command: Twist, conditions: SpeedConditions, next_gaits: Sequence[Gait], limits: TwistLimits, tempo: float
    ) -> SpeedLimit:
        """Limits a command to what settings, the present gait and `next_gaits` allow, see `SpeedEnvelope.limit`."""
        key = (command, conditions, tuple(next_gaits), limits, tempo)
        if self._last_limit is None or self._last_limit.key != key:
            limit = self._capabilities.envelope.limit(*conditions, clamp_to_limits(command, limits), tempo, next_gaits)
            self._last_limit = _LimitLookup(key, limit)
        return self._last_limit.limit

    def maxima(self, conditions: SpeedConditions, limits: TwistLimits) -> Twist:
        """Highest speed along each axis alone, within the limits of the settings."""
        bounds = (axis.max_velocity for axis in limits.axes)
        pairs = zip(self._robot_maxima(conditions), bounds, strict=True)
        return Twist(*(v if math.isnan(bound) else min(v, bound) for v, bound in pairs))

    def _robot_maxima(self, conditions: SpeedConditions) -> Twist:
        """Highest speed along each axis alone that legs and servos allow."""
        if self._last_maxima is None or self._last_maxima.conditions != conditions:
            self._last_maxima = _MaximaLookup(conditions, self._capabilities.envelope.maxima(*conditions))
        return self._last_maxima.maxima

    def accelerations(
        self, conditions: SpeedConditions, swing_time: float, limits: TwistLimits, acceleration_scale: float
    ) -> tuple[Twist, Twist]:
        """(acceleration, deceleration) per axis [m/s^2, m/s^2, rad/s^2]: from the settings, else from the robot.

        Deceleration: from full speed to rest in one swing time [s]. Acceleration: such that, started from rest, the
        leg that lifts off last is no farther from its neutral foothold than after half a stance at full speed.
        `acceleration_scale` is a factor on it, for feet that are already placed for full strides.
        """
        gait = conditions.gait
        last = max(gait.until_lift_off(leg, gait.start_phase) for leg in range(len(gait.lift_off)))
        time = max(gait.stance, last * last / gait.stance) * swing_time / acceleration_scale
        up, down = [], []
        for v, axis in zip(self._robot_maxima(conditions), limits.axes, strict=True):
            up.append(v / time if math.isnan(axis.max_acceleration) else axis.max_acceleration)
            down.append(v / swing_time if math.isnan(axis.max_deceleration) else axis.max_deceleration)
        return Twist(*up), Twist(*down)
