"""The publisher of all nodes of the package: encodes large messages fast, and does nothing for a topic nobody reads."""

from __future__ import annotations

from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy
from sensor_msgs.msg import MultiDOFJointState

from hexapod_control.ros.transport.foot_encoding import encode


class TopicPublisher(Publisher):
    """As in rclpy; a message of a volatile topic without subscribers, which nobody would ever receive, is dropped."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """`args` and `options` are those of rclpy's Publisher."""
        super().__init__(*args, **options)
        self._latched = self.qos_profile.durability != DurabilityPolicy.VOLATILE

    @property
    def heard(self) -> bool:
        """Whether a message would be received, now or by a later subscriber; else it need not be made."""
        return self._latched or self.get_subscription_count() > 0

    def publish(self, msg: Any) -> None:
        """Publishes a message, or its bytes."""
        if self.heard:
            super().publish(encode(msg) if isinstance(msg, MultiDOFJointState) else msg)
