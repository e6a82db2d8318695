# SPDX-License-Identifier: Apache-2.0
"""The publisher of all nodes of the package, with and without subscribers."""

import time
from functools import partial

import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Int32

from hexapod_control.ros.qos import COMMAND, LATCHED
from hexapod_control.ros.transport.topic_publisher import TopicPublisher

WAIT_S = 20.0


@pytest.fixture
def nodes():
    context = Context()
    rclpy.init(context=context)
    made = [rclpy.create_node(name, context=context) for name in ("sender", "listener")]
    executor = SingleThreadedExecutor(context=context)
    for node in made:
        executor.add_node(node)
    yield *made, executor
    executor.shutdown()
    for node in made:
        node.destroy_node()
    rclpy.shutdown(context=context)


def until(executor, condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline
        executor.spin_once(timeout_sec=0.05)


def test_messages_are_published_only_on_latched_topics_and_those_with_subscribers(nodes):
    sender, listener, executor = nodes
    plain, latched = (
        sender.create_publisher(Int32, topic, qos, publisher_class=TopicPublisher)
        for topic, qos in (("plain", COMMAND), ("latched", LATCHED))
    )
    assert not plain.is_received
    assert latched.is_received
    plain.publish("no message: is not even looked at")
    latched.publish(Int32(data=1))
    found = {"plain": [], "latched": []}
    for topic, qos in (("plain", COMMAND), ("latched", LATCHED)):
        listener.create_subscription(Int32, topic, lambda message, kept=found[topic]: kept.append(message.data), qos)
    until(executor, lambda: found["latched"] and plain.is_received)
    plain.publish(Int32(data=2))
    until(executor, lambda: found["plain"])
    assert found == {"plain": [2], "latched": [1]}


def test_while_a_node_is_silent_nothing_is_published_and_the_newest_latched_state_is_published_afterwards(nodes):
    sender, listener, executor = nodes
    silence = [True]
    made = {
        topic: sender.create_publisher(
            Int32, topic, qos, publisher_class=partial(TopicPublisher, silent=lambda: silence[0])
        )
        for topic, qos in (("plain", COMMAND), ("latched", LATCHED))
    }
    found = {"plain": [], "latched": []}
    for topic, qos in (("plain", COMMAND), ("latched", LATCHED)):
        listener.create_subscription(Int32, topic, lambda message, kept=found[topic]: kept.append(message.data), qos)
    until(executor, lambda: all(publisher.get_subscription_count() for publisher in made.values()))
    assert not made["plain"].is_received
    for number in (1, 2):
        for publisher in made.values():
            publisher.publish(Int32(data=number))
    silence[0] = False
    for publisher in made.values():
        publisher.publish_withheld()
    made["plain"].publish(Int32(data=3))
    until(executor, lambda: found["plain"] and found["latched"])
    assert found == {"plain": [3], "latched": [2]}
