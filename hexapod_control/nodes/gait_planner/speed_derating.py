"""`speed_share`: what tired servos leave a robot of its speed, as velocity limits of the planner."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from std_msgs.msg import Float64

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.workspace.twist_limits import AxisLimits, TwistLimits
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import LATCHED


def slowed(limits: TwistLimits, most: Twist, share: float) -> TwistLimits:
    """These limits, or what the robot can do (`most`) where that is less, times a share (0 to 1)."""
    return TwistLimits(*(_slowed(axis, value, share) for axis, value in zip(limits.axes, most, strict=True)))


def _slowed(axis: AxisLimits, most: float, share: float) -> AxisLimits:
    upper = most if math.isnan(axis.max_velocity) else min(most, axis.max_velocity)
    lower = -upper if math.isnan(axis.min_velocity) else max(-most, axis.min_velocity)
    return replace(axis, max_velocity=share * upper, min_velocity=share * lower)


class SpeedDerating:
    """Listens, and keeps the planner's limits at that share of what they would be."""

    def __init__(self, node: GuardedNode, planner: Planner, limits: Callable[[], TwistLimits]) -> None:
        """`limits` are those without any share."""
        self.value = 1.0
        self._node, self._planner, self._limits = node, planner, limits
        node.create_subscription(Float64, "speed_share", self.on_speed_share, LATCHED)

    def on_speed_share(self, message: Any) -> None:
        """Another share; not a number is refused, what is outside of 0 to 1 is clamped."""
        if not math.isfinite(message.data):
            raise messages.MessageError(f"must be a number from 0 to 1, is {message.data}")
        share = min(max(message.data, 0.0), 1.0)
        if share != self.value:
            level = ReportLevel.WARNING if share < 1.0 else ReportLevel.OK
            self._node.report("speed_share", level, f"the servos leave {100 * share:.0f} % of the speed")
        self.value = share
        if share == 1.0:
            self._planner.restyle(limits=self._limits())

    def apply(self) -> None:
        """Called before every tick: what the robot can do changes with gait and height."""
        if self.value == 1.0:
            return
        self._planner.restyle(limits=TwistLimits())
        most = self._planner.maxima()
        self._planner.restyle(limits=slowed(self._limits(), most, self.value))
