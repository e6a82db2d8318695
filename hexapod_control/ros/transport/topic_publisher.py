# SPDX-License-Identifier: Apache-2.0
"""The publisher of all nodes: fast encoding of large messages, and no work without subscribers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import serialize_message

from hexapod_control.ros.transport.encoding import encode
from hexapod_control.ros.transport.handover import Handover, LocalSubscription


class TopicPublisher(Publisher):
    """As in rclpy; a message on a volatile topic without subscribers is dropped, and any message of a silent node."""

    def __init__(
        self, *args: Any, silent: Callable[[], bool] = lambda: False, handover: Handover | None = None, **options: Any
    ) -> None:
        """`silent` returns whether nothing may be published; `handover` is that of a process with several nodes.

        All else is passed to rclpy's Publisher.
        """
        super().__init__(*args, **options)
        self._silent = silent
        self._withheld: bytes | None = None  # the newest latched state that was not published
        self._latched = self.qos_profile.durability != DurabilityPolicy.VOLATILE
        self._handover = None if self._latched else handover
        self._receivers: list[LocalSubscription] = []
        self._changes = 0  # `handover.changes` when the receivers were looked up

    @property
    def is_received(self) -> bool:
        """Whether a message would be received, now or by a later subscriber; if not, it need not be built."""
        return self._latched or (not self._silent() and self.get_subscription_count() > 0)

    def publish_withheld(self) -> None:
        """Publishes the newest latched state of a node that was silent."""
        state = self._withheld
        self._withheld = None
        if state is not None:
            self.publish(state)

    def publish(self, msg: Any) -> None:
        """Publishes a message, or its bytes."""
        if self._silent():
            if self._latched:
                self._withheld = msg if isinstance(msg, bytes) else encode(msg) or serialize_message(msg)
            return
        count = 1 if self._latched else self.get_subscription_count()
        if not count:
            return
        if self._handover is None or isinstance(msg, bytes) or not self._handover.in_spinning_thread:
            super().publish(encode(msg) or msg)
        else:
            self._hand_over(self._handover, msg, count)

    def _hand_over(self, handover: Handover, msg: Any, count: int) -> None:
        """Delivers a message in this process; also publishes it if some of the `count` subscriptions are elsewhere."""
        if self._changes != handover.changes:
            self._changes = handover.changes
            self._receivers = handover.receivers(self.topic_name, self.msg_type, self.qos_profile)
        receivers = self._receivers
        others = count > len(receivers)
        data = None
        if others or any(each.raw for each in receivers):
            data = encode(msg) or serialize_message(msg)
        if others and data is not None:
            for each in receivers:
                each.expect(data)
            super().publish(data)
        if receivers:
            handover.deliver(receivers, msg, data)
