# SPDX-License-Identifier: Apache-2.0
"""QoS of topics from parameters, on real DDS."""

import pytest
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from support.real_time.wires import start

from hexapod_control.nodes.odometry.odometry import OdometryNode
from hexapod_control.ros import qos
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.parameters import ParameterError

ODOM = "qos_overrides./left/odom.publisher"


def odometry(bench, **given):
    """A node in the namespace `left` with QoS overrides of its topics."""
    values = [Parameter(name, value=value) for name, value in given.items()]
    return bench.add(OdometryNode(namespace="left", parameter_overrides=values))


def offered(bench, topic):
    """The QoS with which the only publisher of a topic offers it."""
    bench.until(lambda: bench.probe.get_publishers_info_by_topic(topic), what=f"publisher of {topic}")
    (info,) = bench.probe.get_publishers_info_by_topic(topic)
    return info.qos_profile


def test_a_topic_has_the_qos_that_its_user_wants_and_all_others_keep_theirs(bench):
    given = {"reliability": "best_effort", "depth": 7, "deadline": 300_000_000}
    feet = "qos_overrides./left/joint_states.subscription.durability"
    node = odometry(bench, **{f"{ODOM}.{name}": value for name, value in given.items()}, **{feet: "volatile"})
    assert offered(bench, "/left/odom").reliability == ReliabilityPolicy.BEST_EFFORT
    assert offered(bench, "/left/odom").deadline.nanoseconds == 300_000_000
    assert offered(bench, "/diagnostics").reliability == ReliabilityPolicy.RELIABLE
    (publisher,) = (each for each in node.publishers if each.topic_name == "/left/odom")
    assert publisher.qos_profile.depth == 7
    assert (qos.COMMAND.depth, qos.COMMAND.reliability) == (1, ReliabilityPolicy.RELIABLE)
    assert node.get_parameter(f"{ODOM}.depth").value == 7
    assert node.describe_parameter(f"{ODOM}.depth").read_only
    assert [name for name in node.list_parameters([], 0).names if name.startswith("qos_overrides.")]


def test_a_latched_odometry_reaches_a_late_subscriber(bench):
    node = odometry(bench, **{f"{ODOM}.durability": "transient_local"})
    (publisher,) = (each for each in node.publishers if each.topic_name == "/left/odom")
    publisher.publish(Odometry(child_frame_id="late"))
    late = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    received = bench.listen(Odometry, "left/odom", late)
    bench.until(lambda: received and received[0].child_frame_id == "late", what="the last odometry")


@pytest.mark.parametrize(
    ("policy", "value", "text"),
    [
        ("reliability", "fast", "must be one of best_available, best_effort, reliable"),
        ("reliability", 1, "is 1"),
        ("depth", 0, "must be a whole number of messages in [1, 10000], is 0"),
        ("depth", 2.0, "is 2.0"),
        ("deadline", "1 s", "must be a whole number of nanoseconds, is '1 s'; 1000000000 is a second"),
        ("lifespan", -1, "must be a whole number of nanoseconds, is -1"),
        ("reliabilty", "reliable", "a publisher has no policy 'reliabilty'; did you mean reliability?"),
    ],
)
def test_what_is_no_qos_is_refused(bench, policy, value, text):
    with pytest.raises(ParameterError) as refused:
        odometry(bench, **{f"{ODOM}.{policy}": value})
    assert str(refused.value).startswith(f"{ODOM}.{policy}")
    assert text in str(refused.value)


def test_an_override_for_a_topic_that_the_node_does_not_have_is_named(bench):
    words = ["--ros-args", "-p", "qos_overrides./odm.publisher.depth:=7"]
    node = bench.add(GuardedNode("any", cli_args=words, use_global_arguments=False))
    text = "any has no topic for 'qos_overrides./odm.publisher.depth', which has no effect; give its full name"
    bench.until(lambda: text in node.recent_reports(), what="the report")


@pytest.mark.process
def test_a_program_with_a_qos_that_does_not_exist_ends_with_one_line():
    process = start("odometry", **{"qos_overrides./odom.publisher.reliability": "fast"})
    _, text = process.communicate(timeout=30.0)
    assert process.returncode == 2
    assert text.startswith("qos_overrides./odom.publisher.reliability must be one of") and text.count("\n") == 1
