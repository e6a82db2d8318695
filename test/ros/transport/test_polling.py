# SPDX-License-Identifier: Apache-2.0
"""Subscriptions that are polled, on real DDS."""

import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Header
from support.real_time.ros_bench import Bench

from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import SAMPLES
from hexapod_control.ros.transport.polling import PollingNode

PERIOD_NS = 100_000_000  # between two messages


@pytest.fixture(scope="module")
def bench():
    made = Bench()
    yield made
    made.close()


def stamped(number):
    return JointState(header=Header(stamp=messages.time(number * PERIOD_NS)))


def number_of(message):
    return messages.nanoseconds(message.header.stamp) // PERIOD_NS


def test_messages_wait_until_they_are_taken_and_those_of_a_later_stamp_wait_on(bench):
    node, received, woken = bench.add(GuardedNode("polling")), [], []
    polled = node.create_subscription(
        JointState, "polled", lambda message: received.append(number_of(message)), SAMPLES, polled=True
    )
    usual = node.create_subscription(JointState, "polled", woken.append, SAMPLES)
    publisher = bench.publisher(JointState, "polled", SAMPLES, matched=2)
    for number in range(1, 6):
        publisher.publish(stamped(number))
    bench.until(lambda: len(woken) == 5)
    assert received == []
    bench.until(lambda: node.take_polled(until=2 * PERIOD_NS) or received == [1, 2])
    node.take_polled(until=3 * PERIOD_NS - 1)
    assert received == [1, 2]
    node.take_polled(until=4 * PERIOD_NS)
    assert received == [1, 2, 3, 4]
    bench.until(lambda: node.take_polled() or received == [1, 2, 3, 4, 5])
    assert list(node.all_subscriptions)[-2:] == [polled, usual] and polled not in node.subscriptions
    publisher.publish(stamped(6))
    bench.until(lambda: len(woken) == 6)
    node.destroy_subscription(polled)
    node.take_polled()
    assert len(received) == 5


def test_a_message_whose_stamp_is_far_ahead_holds_up_no_other(bench):
    node, received, woken = bench.add(GuardedNode("waiting")), [], []
    node.create_subscription(
        JointState, "late", lambda message: received.append(number_of(message)), SAMPLES, polled=True
    )
    node.create_subscription(JointState, "late", woken.append, SAMPLES)
    publisher = bench.publisher(JointState, "late", SAMPLES, matched=2)
    for number in (1, 900_000_000, 2):
        publisher.publish(stamped(number))
    bench.until(lambda: len(woken) == 3)
    bench.until(lambda: node.take_polled(until=2 * PERIOD_NS) or len(received) == 3)
    assert received == [1, 900_000_000, 2]


def test_a_subscription_that_tells_the_sender_may_be_destroyed_while_its_messages_are_taken(bench):
    node, received = bench.add(PollingNode("destroying")), []

    def take(data, sender=None):
        received.append(data)
        node.destroy_subscription(subscription)

    subscription = node.create_subscription(JointState, "ending", take, SAMPLES, with_sender=True, raw=True)
    publisher = bench.publisher(JointState, "ending", SAMPLES)
    for number in (1, 2):
        publisher.publish(stamped(number))
    bench.until(lambda: received, what="a message")
    bench.spin(0.05)
    assert len(received) == 1
