# SPDX-License-Identifier: Apache-2.0
"""Messages between nodes of one process, and their delivery to other processes, on real DDS."""

import threading

import pytest
import rclpy
from geometry_msgs.msg import Vector3
from rclpy.context import Context
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from support.real_time.ros_bench import Bench

from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, LATCHED, SAMPLES
from hexapod_control.ros.transport.executor import Spinner
from hexapod_control.ros.transport.handover import Handover

COUNT = 200
BEST_EFFORT = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


@pytest.fixture(scope="module")
def nodes():
    """The bench, and two nodes that share a process."""
    bench, handover = Bench(), Handover()
    yield bench, *(bench.add(GuardedNode(name, handover=handover)) for name in ("sender", "receiver"))
    bench.close()


@pytest.fixture
def outside():
    """A node of another participant, as of another process, and its executor."""
    context = Context()
    rclpy.init(context=context)
    node, spinner = rclpy.create_node("outside", context=context), Spinner(context)
    spinner.add_node(node)
    yield node, spinner
    spinner.shutdown(timeout_sec=1.0)
    node.destroy_node()
    rclpy.shutdown(context=context)


def numbers(received):
    return [message.x for message in received]


def test_a_message_is_handed_over_as_the_same_object_before_publish_returns(nodes):
    _, sender, receiver = nodes
    received = []
    receiver.create_subscription(Vector3, "same", received.append, COMMAND)
    message = Vector3(x=1.0)
    sender.create_publisher(Vector3, "same", COMMAND).publish(message)
    assert received[0] is message


@pytest.mark.parametrize("qos", [COMMAND, SAMPLES], ids=["depth 1", "depth 100"])
def test_with_programs_outside_every_message_arrives_once_and_in_order_here_and_there(nodes, outside, qos):
    bench, sender, receiver = nodes
    stranger, spinner = outside
    topic = f"watched{qos.depth}"
    inside, seen = [], []
    receiver.create_subscription(Vector3, topic, lambda message: inside.append(message.x), qos)
    stranger.create_subscription(Vector3, topic, lambda message: seen.append(message.x), SAMPLES)
    publisher, other = sender.create_publisher(Vector3, topic, qos), stranger.create_publisher(Vector3, topic, qos)
    bench.until(lambda: publisher.get_subscription_count() == 2 and other.get_subscription_count() == 2)
    for number in range(COUNT):
        publisher.publish(Vector3(x=float(number)))
        assert inside[-1] == number
        bench.until(lambda least=number: spinner.spin_once(timeout_sec=0.0) or len(seen) > least)
    for number in (-1.0, -2.0):
        other.publish(Vector3(x=number))
        bench.until(lambda last=number: inside[-1] == last)
    assert inside == [*map(float, range(COUNT)), -1.0, -2.0]
    assert seen[:COUNT] == [*map(float, range(COUNT))]


def test_a_program_that_starts_late_gets_the_last_message_of_a_latched_topic(nodes, outside):
    bench, sender, receiver = nodes
    stranger, spinner = outside
    inside, seen = [], []
    receiver.create_subscription(Vector3, "latched", inside.append, LATCHED)
    publisher = sender.create_publisher(Vector3, "latched", LATCHED)
    publisher.publish(Vector3(x=1.0))
    publisher.publish(Vector3(x=2.0))
    bench.until(lambda: inside and inside[-1].x == 2.0)
    stranger.create_subscription(Vector3, "latched", seen.append, LATCHED)
    bench.until(lambda: spinner.spin_once(timeout_sec=0.0) or seen)
    assert numbers(seen) == [2.0]


def test_a_message_published_by_a_receiver_comes_after_the_other_receivers_and_reused_messages_are_not_mixed_up(nodes):
    _, sender, receiver = nodes
    received, reused = [], Vector3()
    second = receiver.create_publisher(Vector3, "second", COMMAND)

    def answer(message):
        for number in (10.0, 20.0):
            reused.x = message.x + number
            second.publish(reused)

    receiver.create_subscription(Vector3, "first", answer, COMMAND)
    receiver.create_subscription(Vector3, "first", lambda message: received.append(message.x), COMMAND)
    receiver.create_subscription(Vector3, "second", lambda message: received.append(message.x), COMMAND)
    sender.create_publisher(Vector3, "first", COMMAND).publish(Vector3(x=1.0))
    assert received == [1.0, 11.0, 21.0]


def test_incompatible_publishers_and_subscriptions_are_not_handed_over(nodes):
    _, sender, receiver = nodes
    received = []
    receiver.create_subscription(Vector3, "strict", received.append, COMMAND)
    sender.create_publisher(Vector3, "strict", BEST_EFFORT).publish(Vector3())
    assert not received


def test_a_raw_subscription_gets_bytes_and_a_destroyed_one_nothing(nodes):
    _, sender, receiver = nodes
    received = []
    subscription = receiver.create_subscription(Vector3, "raw", received.append, COMMAND, raw=True)
    publisher = sender.create_publisher(Vector3, "raw", COMMAND)
    publisher.publish(Vector3(x=3.0))
    assert deserialize_message(received[0], Vector3).x == 3.0
    receiver.destroy_subscription(subscription)
    publisher.publish(Vector3(x=4.0))
    assert len(received) == 1


def test_a_message_of_another_thread_arrives_in_the_thread_of_the_executor(nodes):
    bench, sender, receiver = nodes
    threads = []
    receiver.create_subscription(Vector3, "thread", lambda message: threads.append(threading.get_ident()), COMMAND)
    publisher = sender.create_publisher(Vector3, "thread", COMMAND)
    worker = threading.Thread(target=lambda: publisher.publish(Vector3()))
    worker.start()
    worker.join()
    assert not threads
    bench.until(lambda: threads)
    assert threads == [threading.get_ident()]


def test_a_callback_that_fails_stops_the_partners_and_not_the_publisher(nodes):
    bench, sender, receiver = nodes
    stopped = []

    class Partner(GuardedNode):
        def safe_stop(self, callback):
            stopped.append(callback)

    receiver.partners = (bench.add(Partner("partner")),)
    receiver.create_subscription(Vector3, "fault", lambda message: 1 / 0, COMMAND)
    sender.create_publisher(Vector3, "fault", COMMAND).publish(Vector3())
    bench.until(lambda: stopped)
    assert stopped == ["<lambda> of receiver"]
    assert "/receiver: callback <lambda> failed with ZeroDivisionError" in receiver.last_report("failed <lambda>")
