# SPDX-License-Identifier: Apache-2.0
"""Raw subscriptions to all topics of a robot as they appear, for recording."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType

from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from rclpy.subscription import Subscription

from hexapod_control.bags import bag_file
from hexapod_control.bags.bag_file import BagChannel
from hexapod_control.bags.ring_buffer import RecordedMessage
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import message_class
from hexapod_control.ros.qos import recording

GLOBAL = ("/tf", "/tf_static", "/diagnostics", "/clock", "/rosout")  # topics that all robots share
SKIPPED_TOPICS = ("/parameter_events",)
QUEUE_DEPTH = 50  # messages


class TopicTaps:
    """Subscribes to the topics in the namespace of a node, or to all topics if it has none."""

    def __init__(
        self,
        node: GuardedNode,
        take: Callable[[RecordedMessage], None],
        latch: Callable[[str], None],
        skipped_kinds: Collection[str] = (),
    ) -> None:
        """Calls `take` with every message and `latch` with every latched topic; call `discover` regularly."""
        self._node = node
        self._take = take
        self._latch = latch
        self._skipped_kinds = skipped_kinds
        self.namespace = node.get_namespace().rstrip("/") + "/"
        self._channels: dict[str, BagChannel] = {}
        self._subscriptions: dict[str, Subscription] = {}
        self._publishers: dict[str, int] = {}  # their number, by topic

    @property
    def channels(self) -> Mapping[str, BagChannel]:
        """Topics with a subscription, by name."""
        return MappingProxyType(self._channels)

    def discover(self) -> None:
        """Subscribes to new topics, and again to those whose publishers have changed, if their QoS has.

        One publisher may replace another: then only the event of the middleware tells of another QoS.
        """
        for topic, kinds in self._node.get_topic_names_and_types():
            if not self._wanted(topic, kinds):
                continue
            publishers = self._node.count_publishers(topic)  # in a tenth of the time of their QoS
            if self._publishers.get(topic) == publishers and topic not in self._node.qos_suspects:
                continue
            self._publishers[topic] = publishers
            reliable, latched = self._offered_qos(topic)
            channel = BagChannel(topic, kinds[0], reliable, latched)
            if self._channels.get(topic) != channel and self._usable(topic, kinds):
                self._subscribe(channel)

    def close(self) -> None:
        """Ends all subscriptions."""
        for subscription in self._subscriptions.values():
            self._node.destroy_subscription(subscription)
        self._subscriptions.clear()
        self._channels.clear()
        self._publishers.clear()

    def _wanted(self, topic: str, kinds: Collection[str]) -> bool:
        hidden = any(part.startswith("_") for part in topic.split("/"))
        in_scope = topic in GLOBAL or topic.startswith(self.namespace)
        return in_scope and not hidden and topic not in SKIPPED_TOPICS and not set(kinds) & set(self._skipped_kinds)

    def _usable(self, topic: str, kinds: list[str]) -> bool:
        if len(kinds) == 1 and bag_file.has_definition(kinds[0]) and message_class(kinds[0]) is not None:
            return True
        if f"unknown {topic}" not in self._node.sent_reports:
            why = "has several types" if len(kinds) > 1 else f"its type {kinds[0]} is not installed"
            self._node.report(f"unknown {topic}", ReportLevel.WARNING, f"{topic} is not recorded: {why}")
        return False

    def _offered_qos(self, topic: str) -> tuple[bool, bool]:
        """(reliable, latched) as all publishers of a topic offer it; without any: best effort, which matches all."""
        offered = [info.qos_profile for info in self._node.get_publishers_info_by_topic(topic)]
        reliable = bool(offered) and all(o.reliability == ReliabilityPolicy.RELIABLE for o in offered)
        latched = bool(offered) and all(o.durability == DurabilityPolicy.TRANSIENT_LOCAL for o in offered)
        before = self._channels.get(topic)
        if before and not offered:  # the publishers have gone
            return before.reliable, before.latched
        return reliable, latched

    def _subscribe(self, channel: BagChannel) -> None:
        topic = channel.topic
        old = self._subscriptions.pop(topic, None)
        if old is not None:
            self._node.destroy_subscription(old)
        if channel.latched:
            self._latch(topic)
        profile = recording(QUEUE_DEPTH, reliable=channel.reliable, latched=channel.latched)

        def take(data: bytes) -> None:
            self._take(RecordedMessage(time.monotonic_ns(), topic, data))

        self._channels[topic] = channel
        kind = message_class(channel.kind)
        self._subscriptions[topic] = self._node.create_subscription(kind, topic, take, profile, raw=True)
