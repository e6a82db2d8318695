"""Polled subscriptions: messages are queued until their node takes them, instead of waking its process one by one.

A node that uses a topic only at certain times, as in a tick, polls it then. The depth of the queue is that of the QoS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rclpy.node import Node

from hexapod_control.ros.transport.encoding import ENCAPSULATION, STAMP, START

MAX_LEAD_NS = 500_000_000  # of a stamp before the present time; later stamps are wrong


class PollingNode(Node):
    """A node with polled subscriptions in addition to ordinary ones."""

    def __init__(self, name: str, **options: Any) -> None:
        """`options` are those of rclpy's Node."""
        self._polled: dict[Any, Callable[[bytes], None]] = {}  # by subscription
        self._early: dict[Any, bytes] = {}  # taken messages with a later stamp, by subscription
        super().__init__(name, **options)

    @property
    def subscriptions(self) -> Iterator[Any]:
        """The subscriptions whose callbacks the executor calls."""
        return (each for each in self.all_subscriptions if each not in self._polled)

    @property
    def all_subscriptions(self) -> Iterator[Any]:
        """All subscriptions, including polled ones."""
        return super().subscriptions

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Any, *args: Any, polled: bool = False, **options: Any
    ) -> Any:
        """As in rclpy; `polled`: the callback is called by `take_polled`."""
        subscription = super().create_subscription(msg_type, topic, callback, *args, **options)
        if polled:
            self._polled[subscription] = callback
        return subscription

    def destroy_subscription(self, subscription: Any) -> bool:
        """As in rclpy."""
        self._polled.pop(subscription, None)
        self._early.pop(subscription, None)
        return bool(super().destroy_subscription(subscription))

    def take_polled(self, until: int = 0) -> None:
        """Calls the callbacks of the polled subscriptions, in the order of their creation, for all arrived messages.

        `until` [ns]: messages with a later stamp wait (they must be raw and begin with a header); 0: all are taken.
        A message whose stamp is far ahead does not wait, as it would block all later ones.
        """
        for subscription, callback in list(self._polled.items()):
            while (data := self._next(subscription)) is not None:
                if until and until < _stamp(data) <= until + MAX_LEAD_NS:
                    self._early[subscription] = data
                    break
                callback(data)

    def _next(self, subscription: Any) -> Any:
        """The next message; None if there is none."""
        if subscription in self._early:
            return self._early.pop(subscription)
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        return None if taken is None else taken[0]


def _stamp(data: bytes) -> int:
    """The stamp [ns] of a message; 0 if its bytes are too few or not little-endian."""
    if len(data) < START or not data.startswith(ENCAPSULATION):
        return 0
    seconds, nanoseconds = STAMP.unpack_from(data, len(ENCAPSULATION))
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
