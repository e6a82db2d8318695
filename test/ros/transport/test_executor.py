# SPDX-License-Identifier: Apache-2.0
"""The executor of every process under messages that arrive faster than they are handled."""

import itertools
import re

import pytest
import rclpy
from rclpy.context import Context
from std_msgs.msg import Int32
from std_srvs.srv import Trigger

from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.transport.executor import MAX_QUEUED_EVENTS, Spinner, queue_report

FLOOD = 20  # messages for each one that is handled


@pytest.fixture
def channel():
    """A publisher, the executor of a node that listens to it, what that has received, and a client of its service."""
    context, received = Context(), []
    rclpy.init(context=context)
    nodes, spinner = [rclpy.create_node(name, context=context) for name in ("sender", "listener")], Spinner(context)
    nodes[1].create_subscription(Int32, "numbers", lambda message: received.append(message.data), COMMAND)
    nodes[1].create_service(Trigger, "trigger", lambda request, answer: received.append(request) or answer)
    publisher = nodes[0].create_publisher(Int32, "numbers", COMMAND)
    client = nodes[0].create_client(Trigger, "trigger")
    spinner.add_node(nodes[1])
    while not (publisher.get_subscription_count() and client.service_is_ready()):
        spinner.spin_once(timeout_sec=0.01)
    yield publisher, spinner, received, client
    spinner.shutdown(timeout_sec=1.0)
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown(context=context)


def flooded(publisher, spinner, capfd):
    """Floods the topic until the executor reports it. Returns the report and the last number."""
    last = -1
    for _ in range(20 * MAX_QUEUED_EVENTS):
        for _ in range(FLOOD):
            last += 1
            publisher.publish(Int32(data=last))
        spinner.spin_once(timeout_sec=0.0)
        if report := capfd.readouterr().err:
            return report, last
    raise AssertionError("no report")


def test_a_flood_is_reported_and_only_its_newest_message_counts(channel, capfd):
    publisher, spinner, received, _ = channel
    report, last = flooded(publisher, spinner, capfd)
    assert re.search(
        "messages arrive faster than they are handled, [0-9]+ per second; only the newest count now", report
    )
    for _ in range(100):
        spinner.spin_once(timeout_sec=0.05)
        if received[-1] == last:
            return
    raise AssertionError(f"received up to {received[-1]} of {last}")


def test_a_service_is_answered_during_a_flood_whatever_the_timeouts(channel, capfd):
    publisher, spinner, received, client = channel
    flooded(publisher, spinner, capfd)
    client.call_async(Trigger.Request())
    for left in itertools.count(50.0, -0.007):
        publisher.publish(Int32(data=0))
        spinner.spin_once(timeout_sec=left)
        if any(isinstance(each, Trigger.Request) for each in received):
            return
        assert left > 45.0, "the service was not called"


@pytest.mark.parametrize(
    ("seconds", "cause"),
    [(0.05, "3000 per second; only the newest count now: does a node flood a topic?"), (0.75, "200 per second")],
)
def test_few_messages_that_wait_long_are_no_flood(seconds, cause):
    report = queue_report(MAX_QUEUED_EVENTS, seconds)
    assert cause in report
    assert report.endswith("is this computer overloaded?" if seconds > 0.5 else "flood a topic?")
