# SPDX-License-Identifier: Apache-2.0
"""Messages of whole nodes without middleware: what they publish is kept, and messages are handed to their callbacks."""

from collections import defaultdict
from copy import deepcopy

from rclpy.serialization import serialize_message

from hexapod_control.ros.transport.polling import PollingNode
from hexapod_control.ros.transport.topic_publisher import TopicPublisher


class DirectTopics:
    """The topics of all nodes created from now on, by name without namespace."""

    def __init__(self, monkeypatch):
        self.sent, self._callbacks = defaultdict(list), defaultdict(list)
        create = PollingNode.create_subscription

        def create_subscription(node, kind, topic, callback, *args, **options):
            self._callbacks[topic].append(callback)
            return create(node, kind, topic, callback, *args, **options)

        def publish(publisher, message):
            self.sent[publisher.topic_name.strip("/")].append(deepcopy(message))

        monkeypatch.setattr(PollingNode, "create_subscription", create_subscription)
        monkeypatch.setattr(TopicPublisher, "publish", publish)
        monkeypatch.setattr(TopicPublisher, "is_received", True)

    def deliver(self, topic, message):
        """Hands a message to all subscriptions of a topic."""
        assert self._callbacks[topic], f"nobody subscribes to {topic}"
        for callback in self._callbacks[topic]:
            callback(serialize_message(message))

    def subscribed(self):
        """The topics with a subscription."""
        return set(self._callbacks)
