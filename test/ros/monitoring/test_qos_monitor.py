# SPDX-License-Identifier: Apache-2.0
"""Incompatible QoS is reported on real DDS: which node, which topic, which policy, and the remedy."""

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String

from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, LATCHED, SENSOR

VOLATILE = QoSProfile(depth=1, durability=DurabilityPolicy.VOLATILE, reliability=ReliabilityPolicy.RELIABLE)


@pytest.mark.parametrize(
    ("offered", "needed", "sentence"),
    [
        (SENSOR, COMMAND, "with reliability best effort, this node needs reliable: nothing of it is received; "),
        (VOLATILE, LATCHED, "with durability volatile, this node needs transient local: nothing of it is received; "),
    ],
)
def test_a_publisher_that_cannot_be_received_is_named_with_the_policy_and_the_remedy(bench, offered, needed, sentence):
    node = bench.add(GuardedNode("reader"))
    node.create_subscription(String, "words", print, needed)
    publisher = bench.probe.create_publisher(String, "words", offered)
    took = bench.until(lambda: node.last_report("QoS of /probe on /words"))
    assert took < 2.0
    assert f"/probe publishes /words {sentence}make that publisher" in node.last_report("QoS of /probe on /words")
    since = node.sent_reports["QoS of /probe on /words"].when
    bench.until(lambda: node.sent_reports["QoS of /probe on /words"].when > since + 0.5)  # as long as it lasts
    bench.probe.destroy_publisher(publisher)
    bench.until(lambda: not node.get_publishers_info_by_topic("words"))
    ended = node.sent_reports["QoS of /probe on /words"].when
    runs = node.housekeeping_runs
    bench.until(lambda: node.housekeeping_runs >= runs + 4)
    assert node.sent_reports["QoS of /probe on /words"].when == ended


def test_a_subscriber_that_cannot_be_served_is_named_too(bench):
    node = bench.add(GuardedNode("writer"))
    node.create_publisher(String, "words", SENSOR)
    bench.probe.create_subscription(String, "words", print, COMMAND)
    took = bench.until(lambda: node.last_report("QoS of /probe on /words"))
    assert took < 2.0
    text = "/probe subscribes to /words with reliability reliable, this node publishes best effort: it receives nothing"
    assert text in node.last_report("QoS of /probe on /words")


def test_compatible_pairs_are_not_reported(bench):
    node = bench.add(GuardedNode("reader"))
    got = []
    node.create_subscription(String, "words", got.append, SENSOR)
    for qos in (COMMAND, SENSOR, LATCHED):
        bench.publisher(String, "words", qos).publish(String(data="word"))
    bench.until(lambda: len(got) == 3)
    runs = node.housekeeping_runs
    bench.until(lambda: node.housekeeping_runs >= runs + 2)
    assert not node.sent_reports
