# SPDX-License-Identifier: Apache-2.0
"""Reports publishers and subscribers that cannot be connected to a node because their QoS is incompatible.

The middleware raises an event when it discovers one. From then on the topic is checked regularly, and the report is
repeated as long as its cause exists.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.qos import DurabilityPolicy, QoSCompatibility, QoSProfile, ReliabilityPolicy, qos_check_compatible

from hexapod_control.ros.monitoring.endpoints import node_name
from hexapod_control.ros.transport.polling import PollingNode


class StrictPolicy(NamedTuple):
    """A QoS policy; a subscription that requests the strict value needs a publisher that offers it."""

    name: str
    weak: Any
    strict: Any


POLICIES = (
    StrictPolicy("reliability", ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE),
    StrictPolicy("durability", DurabilityPolicy.VOLATILE, DurabilityPolicy.TRANSIENT_LOCAL),
)


class QosMonitor:
    """Reports incompatible publishers and subscribers on the topics of one node."""

    def __init__(
        self,
        node: PollingNode,
        guard: Callable[[Callable[[], None]], Callable[[Any], None]],
        report: Callable[[str, str], None],
    ) -> None:
        """`guard` turns a function into an event callback; `report` is called with the kind and text of a report."""
        self._node = node
        self._guard = guard
        self._report = report
        self._suspects: set[str] = set()  # names of topics

    @property
    def suspects(self) -> Collection[str]:
        """Topics on which the middleware has found an incompatible pair that the last check has still seen."""
        return frozenset(self._suspects)

    def of_subscription(self, topic: str) -> SubscriptionEventCallbacks:
        """Returns the event callbacks for a subscription."""
        return SubscriptionEventCallbacks(incompatible_qos=self._suspect_on_event(topic))

    def of_publisher(self, topic: str) -> PublisherEventCallbacks:
        """Returns the event callbacks for a publisher."""
        return PublisherEventCallbacks(incompatible_qos=self._suspect_on_event(topic))

    def _suspect_on_event(self, topic: str) -> Callable[[Any], None]:
        def on_incompatible_qos() -> None:
            self._suspects.add(self._node.resolve_topic_name(topic))
            self.check()

        return self._guard(on_incompatible_qos)

    def check(self) -> None:
        """Reports every incompatible pair; call it regularly."""
        for topic in sorted(self._suspects):
            found = [*self._incompatible_publishers(topic), *self._incompatible_subscribers(topic)]
            for name, text in found:
                self._report(f"QoS of {name} on {topic}", text)
            if not found:
                self._suspects.discard(topic)

    def _incompatible_publishers(self, topic: str) -> Iterator[tuple[str, str]]:
        own = [each.qos_profile for each in self._node.all_subscriptions if each.topic_name == topic]
        for info in self._node.get_publishers_info_by_topic(topic) if own else ():
            name = node_name(info)
            for strict in filter(None, (_violated(info.qos_profile, profile) for profile in own)):
                weak, needed = _word(strict.weak), _word(strict.strict)
                yield (
                    name,
                    f"{name} publishes {topic} with {strict.name} {weak}, this node needs {needed}: nothing of it is "
                    f"received; make that publisher {needed}",
                )

    def _incompatible_subscribers(self, topic: str) -> Iterator[tuple[str, str]]:
        own = [each.qos_profile for each in self._node.publishers if each.topic_name == topic]
        for info in self._node.get_subscriptions_info_by_topic(topic) if own else ():
            name = node_name(info)
            for strict in filter(None, (_violated(profile, info.qos_profile) for profile in own)):
                weak, needed = _word(strict.weak), _word(strict.strict)
                yield (
                    name,
                    f"{name} subscribes to {topic} with {strict.name} {needed}, this node publishes {weak}: it "
                    f"receives nothing; make that subscription {weak}",
                )


def _violated(publisher: QoSProfile, subscription: QoSProfile) -> StrictPolicy | None:
    """Returns the policy in which a publisher and a subscription are incompatible; None if they are compatible."""
    for policy in POLICIES:
        offered, requested = getattr(publisher, policy.name), getattr(subscription, policy.name)
        if offered == policy.weak and requested == policy.strict:
            return policy
    if qos_check_compatible(publisher, subscription)[0] is QoSCompatibility.ERROR:
        return StrictPolicy("deadline or liveliness", "default", "stricter")
    return None


def _word(value: Any) -> str:
    return str(getattr(value, "name", value)).lower().replace("_", " ")
