"""The newest message of a topic, decoded only when it is read."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from rclpy.qos import QoSProfile
from rclpy.subscription import Subscription

from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import DISPLAY
from hexapod_control.ros.row_messages import MessageError


class NewestMessage:
    """The newest message of a topic whose rate is higher than that of the page: decoded only when read.

    `Any`: message classes have no common base.
    """

    def __init__(
        self,
        node: GuardedNode,
        kind: Any,
        topic: str,
        convert: Callable[[Any], Any],
        qos: QoSProfile = DISPLAY,
        **options: Any,
    ) -> None:
        """Call `watch` to subscribe; `options` of the subscription: see GuardedNode.

        `convert` is called once per message that is read; it raises MessageError for one that cannot be used.
        """
        self._qos = qos
        self._options = options
        self._node = node
        self._kind = kind
        self._topic = topic
        self._convert = convert
        self._subscription: Subscription | None = None
        self._decode = messages.decoder(kind)
        self._value: Any = None
        self._bytes: bytes | None = None  # of the newest message
        self._decoded: bytes | None = None  # of self._value
        self._at = -math.inf  # [s] steady time

    def watch(self, *, wanted: bool) -> None:
        """Subscribes while the messages are wanted."""
        if wanted and self._subscription is None:
            self._subscription = self._node.create_subscription(
                self._kind, self._topic, self._take, self._qos, raw=True, **self._options
            )
        elif not wanted and self._subscription is not None:
            self._node.destroy_subscription(self._subscription)
            self._subscription = self._bytes = self._value = None
            self._at = -math.inf

    def _take(self, data: bytes) -> None:
        self._bytes = messages.bounded(data)
        self._at = time.monotonic()

    @property
    def age(self) -> float:
        """Seconds since the newest message arrived."""
        return time.monotonic() - self._at

    def read(self, within: float) -> Any:
        """Returns the value of the newest message; None if it is older than `within` [s] or was refused.

        Only one thread may call it.
        """
        if self.age > within:
            return None
        data = self._bytes
        if data is not None and data is not self._decoded:
            self._value = None
            self._decoded = data
            try:
                self._value = self._convert(self._decode(data))
            except MessageError as error:
                self._node.refused(self._topic, error)
        return self._value
