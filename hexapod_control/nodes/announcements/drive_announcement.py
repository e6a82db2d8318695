# SPDX-License-Identifier: Apache-2.0
"""Announces on `driving` that a source of velocity commands is in use; gait_planner publishes the active one."""

from __future__ import annotations

import math
import time

from rclpy.node import Node
from std_msgs.msg import String

from hexapod_control.core.steering.command_priorities import ANNOUNCEMENT_PERIOD_S
from hexapod_control.ros.qos import EVENTS


class DriveAnnouncement:
    """Announces one source by name. Call `announce` with every command of the operator."""

    def __init__(self, node: Node, name: str) -> None:
        """`name` is a row of core.steering.command_priorities.SOURCES."""
        self._publisher = node.create_publisher(String, "driving", EVENTS)
        self._message = String(data=name)
        self._announced = -math.inf  # [s] steady time

    def announce(self) -> None:
        """Publishes the name, at most every ANNOUNCEMENT_PERIOD_S seconds."""
        now = time.monotonic()
        if now - self._announced >= ANNOUNCEMENT_PERIOD_S:
            self._announced = now
            self._publisher.publish(self._message)
