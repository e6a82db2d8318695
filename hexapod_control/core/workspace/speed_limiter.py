"""How fast a walk may go and how quickly it may change its speed, by what legs, servos and its style allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.speed_envelope import SpeedLimit
from hexapod_control.core.workspace.twist_limits import TwistLimits, clamp_to_limits


class SpeedConditions(NamedTuple):
    """What the speed of a walk depends on, besides the command."""

    gait: Gait
    height: float  # [m] of base_link above the ground
    room: float  # share (0 to 1) of the stance regions that the body leaves for walking


class _LimitLookup(NamedTuple):
    """The limit of one command."""

    key: tuple[Twist, SpeedConditions, tuple[Gait, ...], TwistLimits, float]
    limit: SpeedLimit


class _MaximaLookup(NamedTuple):
    """The greatest speeds under one set of conditions."""

    under: SpeedConditions
    maxima: Twist


class SpeedLimiter:
    """Looks up the speed envelope of one robot, again only when something has changed."""

    __slots__ = ("_capabilities", "_last_limit", "_last_maxima")

    def __init__(self, capabilities: Capabilities) -> None:
        """Nothing is looked up yet."""
        self._capabilities = capabilities
        self._last_limit: _LimitLookup | None = None
        self._last_maxima: _MaximaLookup | None = None

    def limit(
        self, command: Twist, under: SpeedConditions, coming: Sequence[Gait], limits: TwistLimits, tempo: float
    ) -> SpeedLimit:
        """What is possible of a command in the gait and those to come; `tempo` is a share of the robot's."""
        key = (command, under, tuple(coming), limits, tempo)
        if self._last_limit is None or self._last_limit.key != key:
            found = self._capabilities.envelope.limit(*under, clamp_to_limits(command, limits), tempo, coming)
            self._last_limit = _LimitLookup(key, found)
        return self._last_limit.limit

    def maxima(self, under: SpeedConditions, limits: TwistLimits) -> Twist:
        """Greatest speed along each axis alone, within the limits of the settings."""
        bounds = (axis.max_velocity for axis in limits.axes)
        pairs = zip(self._robot_maxima(under), bounds, strict=True)
        return Twist(*(v if math.isnan(bound) else min(v, bound) for v, bound in pairs))

    def _robot_maxima(self, under: SpeedConditions) -> Twist:
        """Greatest speed along each axis alone that legs and servos allow."""
        if self._last_maxima is None or self._last_maxima.under != under:
            self._last_maxima = _MaximaLookup(under, self._capabilities.envelope.maxima(*under))
        return self._last_maxima.maxima

    def accelerations(
        self, under: SpeedConditions, swing_time: float, limits: TwistLimits, acceleration_scale: float
    ) -> tuple[Twist, Twist]:
        """(acceleration, deceleration) per axis: from the settings, else from the robot.

        Deceleration: from full speed in one swing. Acceleration: from rest such that the leg which lifts off last
        is then no farther from neutral than at the end of a full stride, half a stance at full speed. It is
        multiplied by `acceleration_scale`, for feet that stand for full strides already.
        """
        gait = under.gait
        last = max(gait.until_lift_off(leg, gait.start_phase) for leg in range(len(gait.lift_off)))
        time = max(gait.stance, last * last / gait.stance) * swing_time / acceleration_scale
        up, down = [], []
        for v, axis in zip(self._robot_maxima(under), limits.axes, strict=True):
            up.append(v / time if math.isnan(axis.max_acceleration) else axis.max_acceleration)
            down.append(v / swing_time if math.isnan(axis.max_deceleration) else axis.max_deceleration)
        return Twist(*up), Twist(*down)
