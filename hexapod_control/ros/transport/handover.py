# SPDX-License-Identifier: Apache-2.0
"""Intra-process communication: messages between the nodes of one process are passed as objects.

Publishers and subscriptions exist in the middleware as usual. A message of a volatile topic is handed to the
subscriptions of this process before `publish` returns; it is encoded and sent only if others subscribe too. A message
that was sent also returns to the subscriptions of this process, which drop it: they recognise it by its bytes, as rclpy
does not name the publisher. Latched topics, and messages from threads other than the executor's, use the middleware.

Receivers must neither change nor store a message: all of them get the same object, and its publisher may reuse it.
"""

from __future__ import annotations

import copy
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.qos import QoSCompatibility, QoSProfile, qos_check_compatible
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

RETURN_RESERVE = 8  # messages on their way back, in addition to the queue of the subscription


class LocalSubscription:
    """A subscription of a node of this process, and the messages expected to return to it."""

    def __init__(self, kind: Any, receive: Callable[[Any], None], *, raw: bool) -> None:
        """`receive` takes a message, or its bytes if `raw` (`Any`: messages have no common base)."""
        self.kind = kind
        self.receive = receive
        self.raw = raw
        self.qos = QoSProfile(depth=1)
        self._sent: deque[bytes] = deque(maxlen=RETURN_RESERVE)  # by this process, in the order in which they come back

    def follow(self, qos: QoSProfile) -> None:
        """Adopts the QoS of the subscription in the middleware."""
        self.qos = qos
        self._sent = deque(maxlen=qos.depth + RETURN_RESERVE)

    def fits(self, kind: Any, qos: QoSProfile) -> bool:
        """Whether the middleware would connect it to a publisher of this type and QoS."""
        return kind is self.kind and qos_check_compatible(qos, self.qos)[0] is not QoSCompatibility.ERROR

    def expect(self, data: bytes) -> None:
        """Records a message that is handed over and also sent."""
        self._sent.append(data)

    def returned(self, data: bytes) -> bool:
        """Whether an arriving message was handed over before; older expected messages are dropped."""
        if data not in self._sent:
            return False
        while self._sent.popleft() != data:
            pass
        return True


class Handover:
    """The subscriptions of the nodes of one process, by topic. The thread that creates it has to spin the nodes."""

    def __init__(self) -> None:
        self._subscriptions: dict[str, list[LocalSubscription]] = {}
        self._waiting: deque[tuple[LocalSubscription, Any]] = deque()
        self._busy = False
        self.changes = 0  # number of changes of the subscriptions
        self._thread = threading.get_ident()

    @property
    def in_spinning_thread(self) -> bool:
        """Whether the calling thread is the one that spins the nodes."""
        return threading.get_ident() == self._thread

    def add(self, topic: str, subscription: LocalSubscription, qos: QoSProfile) -> None:
        """Adds a subscription; `topic` is fully qualified."""
        subscription.follow(qos)
        self.changes += 1
        self._subscriptions.setdefault(topic, []).append(subscription)

    def remove(self, topic: str, subscription: LocalSubscription) -> None:
        """Removes a subscription; messages waiting for it are dropped."""
        self._subscriptions[topic].remove(subscription)
        self.changes += 1
        self._waiting = deque(entry for entry in self._waiting if entry[0] is not subscription)

    def receivers(self, topic: str, kind: Any, qos: QoSProfile) -> list[LocalSubscription]:
        """Returns the subscriptions that a publisher reaches."""
        return [each for each in self._subscriptions.get(topic, ()) if each.fits(kind, qos)]

    def deliver(self, receivers: list[LocalSubscription], message: Any, data: bytes | None) -> None:
        """Calls the receivers; raw ones with `data`.

        A message that one of them publishes is delivered afterwards, as a copy, since its publisher may reuse it.
        """
        if self._busy and not all(each.raw for each in receivers):
            message = _copied(message)
        self._waiting.extend((each, data if each.raw else message) for each in receivers)
        if self._busy:
            return
        self._busy = True
        try:
            while self._waiting:
                subscription, content = self._waiting.popleft()
                subscription.receive(content)
        finally:
            self._busy = False


def _copied(message: Any) -> Any:
    if not isinstance(message, JointState):
        return copy.deepcopy(message)
    header = Header(stamp=message.header.stamp, frame_id=message.header.frame_id)
    values = {"position": message.position, "velocity": message.velocity, "effort": message.effort}
    return JointState(header=header, name=message.name, **values)  # in a tenth of the time of deepcopy
