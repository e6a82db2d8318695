"""The executor of every process under messages that arrive faster than they are handled."""

import re

import pytest
import rclpy
from rclpy.context import Context
from std_msgs.msg import Int32

from hexapod_control.ros.qos import COMMAND
from hexapod_control.ros.transport.executor import MAX_QUEUED_EVENTS, Spinner, queue_report

FLOOD = 20  # messages for each one that is handled


@pytest.fixture
def channel():
    """A publisher, the executor of a node that listens to it, and what that has received."""
    context, received = Context(), []
    rclpy.init(context=context)
    nodes, spinner = [rclpy.create_node(name, context=context) for name in ("sender", "listener")], Spinner(context)
    nodes[1].create_subscription(Int32, "numbers", lambda message: received.append(message.data), COMMAND)
    publisher = nodes[0].create_publisher(Int32, "numbers", COMMAND)
    spinner.add_node(nodes[1])
    while not publisher.get_subscription_count():
        spinner.spin_once(timeout_sec=0.01)
    yield publisher, spinner, received
    spinner.shutdown(timeout_sec=1.0)
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown(context=context)


def test_a_flood_is_reported_and_only_its_newest_message_counts(channel, capfd):
    publisher, spinner, received = channel
    report, last = "", -1
    for _ in range(20 * MAX_QUEUED_EVENTS):
        for _ in range(FLOOD):
            last += 1
            publisher.publish(Int32(data=last))
        spinner.spin_once(timeout_sec=0.0)
        report += capfd.readouterr().err
        if report:
            break
    assert re.search(
        "messages arrive faster than they are handled, [0-9]+ per second; only the newest count now", report
    )
    for _ in range(100):
        spinner.spin_once(timeout_sec=0.05)
        if received[-1] == last:
            return
    raise AssertionError(f"received up to {received[-1]} of {last}")


@pytest.mark.parametrize(
    ("seconds", "cause"),
    [(0.05, "3000 per second; only the newest count now: does a node flood a topic?"), (0.75, "200 per second")],
)
def test_few_messages_that_wait_long_are_no_flood(seconds, cause):
    report = queue_report(MAX_QUEUED_EVENTS, seconds)
    assert cause in report
    assert report.endswith("is this computer overloaded?" if seconds > 0.5 else "flood a topic?")
