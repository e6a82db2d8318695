# SPDX-License-Identifier: Apache-2.0
"""Polled subscriptions: messages are queued until their node takes them, instead of waking its process one by one.

A node that uses a topic only at certain times, as in a tick, polls it then. The depth of the queue is that of the QoS.
Messages whose sender matters are polled, too, as the executor of rclpy does not tell it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from hexapod_control.ros.transport.encoding import ENCAPSULATION, STAMP, START
from hexapod_control.ros.transport.senders import SenderTaker, sender_taker

POLL_PERIOD_S = 0.01  # of subscriptions with senders that their node does not poll
FOREIGN_POLL_PERIOD_S = 0.1  # the same in one process, whose own messages do not arrive there
MAX_LEAD_NS = 500_000_000  # of a stamp before the present time; later stamps are wrong


class PollingNode(Node):
    """A node with polled subscriptions in addition to ordinary ones."""

    def __init__(self, name: str, *, poll_period: float = POLL_PERIOD_S, **options: Any) -> None:
        """`poll_period` [s] of subscriptions with senders; `options` are those of rclpy's Node."""
        self._poll_period = poll_period
        self._polled: dict[Any, Callable[..., None]] = {}  # by subscription
        self._timers_of: dict[Any, Any] = {}  # by polled subscription that its node does not poll
        self._with_sender: set[Any] = set()
        self._early: dict[Any, tuple[Any, ...]] = {}  # arguments for messages with a later stamp, by subscription
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
        self,
        msg_type: Any,
        topic: str,
        callback: Any,
        qos_profile: Any,
        *args: Any,
        polled: bool = False,
        with_sender: bool = False,
        **options: Any,
    ) -> Any:
        """As in rclpy; `polled`: the callback is called by `take_polled`.

        `with_sender`: the callback of a raw subscription also gets the GID of the publisher, where it can be known.
        """
        subscription = super().create_subscription(msg_type, topic, callback, qos_profile, *args, **options)
        with_sender = with_sender and self._taker is not None
        if polled or with_sender:
            self._polled[subscription] = callback
        if with_sender:
            self._with_sender.add(subscription)
        if with_sender and not polled:
            clock = Clock(clock_type=ClockType.STEADY_TIME)

            def poll() -> None:
                # The executor may have found the timer due before the subscription was destroyed.
                while subscription in self._timers_of and (taken := self._next(subscription)):
                    callback(*taken)

            self._timers_of[subscription] = self.create_timer(self._poll_period, poll, clock=clock)
        return subscription

    @cached_property
    def _taker(self) -> SenderTaker | None:
        return sender_taker()

    def destroy_subscription(self, subscription: Any) -> bool:
        """As in rclpy."""
        self._polled.pop(subscription, None)
        self._early.pop(subscription, None)
        self._with_sender.discard(subscription)
        timer = self._timers_of.pop(subscription, None)
        if timer is not None:
            self.destroy_timer(timer)
        return bool(super().destroy_subscription(subscription))

    def take_polled(self, until: int = 0) -> None:
        """Calls the callbacks of the polled subscriptions, in the order of their creation, for all arrived messages.

        `until` [ns]: messages with a later stamp wait (they must be raw and begin with a header); 0: all are taken.
        A message whose stamp is far ahead does not wait, as it would block all later ones.
        """
        for subscription, callback in list(self._polled.items()):
            if subscription in self._timers_of:
                continue
            while taken := self._next(subscription):
                if until and until < _stamp(taken[0]) <= until + MAX_LEAD_NS:
                    self._early[subscription] = taken
                    break
                callback(*taken)

    def _next(self, subscription: Any) -> tuple[Any, ...]:
        """The next message, and its sender if the callback gets it; empty if there is none."""
        if subscription in self._early:
            return self._early.pop(subscription)
        if subscription in self._with_sender and self._taker is not None:
            return self._taker.take(subscription) or ()
        with subscription.handle:
            taken = subscription.handle.take_message(subscription.msg_type, subscription.raw)
        return () if taken is None else taken[:1]


def _stamp(data: bytes) -> int:
    """The stamp [ns] of a message; 0 if its bytes are too few or not little-endian."""
    if len(data) < START or not data.startswith(ENCAPSULATION):
        return 0
    seconds, nanoseconds = STAMP.unpack_from(data, len(ENCAPSULATION))
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
