"""Subscriptions that are polled, on real DDS."""

import pytest
from sensor_msgs.msg import JointState
from support.real_time.ros_bench import Bench

from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import SAMPLES

SECOND = 1_000_000_000  # [ns]


@pytest.fixture(scope="module")
def bench():
    made = Bench()
    yield made
    made.close()


def test_messages_wait_until_they_are_taken_and_those_of_a_later_stamp_wait_on(bench):
    node, received, woken = bench.add(GuardedNode("polling")), [], []
    polled = node.create_subscription(
        JointState, "polled", lambda message: received.append(message.header.stamp.sec), SAMPLES, polled=True
    )
    usual = node.create_subscription(JointState, "polled", woken.append, SAMPLES)
    publisher = bench.publisher(JointState, "polled", SAMPLES, matched=2)
    for number in range(1, 6):
        message = JointState()
        message.header.stamp = messages.time(number * SECOND)
        publisher.publish(message)
    bench.until(lambda: len(woken) == 5)
    assert received == []
    bench.until(lambda: node.take_polled(until=2 * SECOND) or received == [1, 2])
    node.take_polled(until=3 * SECOND - 1)
    assert received == [1, 2]
    node.take_polled(until=4 * SECOND)
    assert received == [1, 2, 3, 4]
    bench.until(lambda: node.take_polled() or received == [1, 2, 3, 4, 5])
    assert list(node.all_subscriptions)[-2:] == [polled, usual] and polled not in node.subscriptions
    publisher.publish(message)
    bench.until(lambda: len(woken) == 6)
    node.destroy_subscription(polled)
    node.take_polled()
    assert len(received) == 5
