"""Speed derating by the topic `speed_share`, the share of the full speed that hot servos allow."""

from __future__ import annotations

import math

from std_msgs.msg import Float64

from hexapod_control.core.planner.planner import Planner
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import MessageError

MIN_SHARE = 0.01  # below it, a share counts as zero


class SpeedDerating:
    """Passes the share to the planner, which slows the walk and reduces `velocity_limits`."""

    def __init__(self, node: GuardedNode, planner: Planner) -> None:
        """The share is 1 until a message arrives."""
        self.value = 1.0
        self._node, self._planner = node, planner
        node.create_subscription(Float64, "speed_share", self.on_speed_share, LATCHED)

    def on_speed_share(self, message: Float64) -> None:
        """Applies a new share, clamped to 0 to 1. Raises MessageError if it is not finite."""
        if not math.isfinite(message.data):
            raise MessageError(f"must be a number from 0 to 1, is {message.data}")
        share = min(message.data, 1.0) if message.data >= MIN_SHARE else 0.0
        if share != self.value:
            level = ReportLevel.WARNING if share < 1.0 else ReportLevel.OK
            self._node.report("speed_share", level, f"the servos allow {100 * share:.0f} % of the speed")
        self.value = share
        self._planner.change_settings(speed_share=share)
