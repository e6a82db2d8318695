# SPDX-License-Identifier: Apache-2.0
"""Announcements of nodes: which of two graphs drives, and what the other one does."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from support.phantomx import standing_joints
from support.real_time.ros_bench import LATE, assert_sound, overrides, wait_for_stop, walking

from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.announcements.graph_presence import ANNOUNCED_S, GraphPresence, create_exclusive_node
from hexapod_control.nodes.announcements.node_presence import MAX_LENGTH, NodePresence
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.ros.monitoring.graph_identity import VARIABLE, Phase, machine, new_graph
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import EVENTS, LATCHED

HOUR = 3600.0
OTHER = NodePresence("/mujoco_sim", "other", "elsewhere", "m", 7, 0.0, HOUR)
words = st.sampled_from(["", "a", "b"])
times = st.sampled_from([0.0, 0.05, 5.0, 9.0])
presences = st.builds(NodePresence, words, words, words, words, st.integers(1, 3), times, times)


@given(presences, presences)
def test_of_two_nodes_that_exclude_each_other_exactly_one_is_older(a, b):
    assert a.excludes(b) == b.excludes(a)
    if a.excludes(b):
        assert a.older_than(b) != b.older_than(a)


@given(presences, presences, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_on_one_machine_late_announcements_do_not_change_which_graph_is_older(a, b, delay, other_delay):
    b = b._replace(machine=a.machine)
    seen, other_seen = (each._replace(age=each.age - late) for each, late in ((a, delay), (b, other_delay)))
    if a.excludes(b):
        assert a.older_than(other_seen) != b.older_than(seen)


@given(presences)
def test_an_announcement_is_read_as_it_was_written(presence):
    assert NodePresence.parsed(presence.text) == presence


@given(st.one_of(st.text(), st.builds(json.dumps, st.dictionaries(st.sampled_from(NodePresence._fields), words))))
def test_a_text_that_is_no_announcement_is_ignored(text):
    assert NodePresence.parsed(text) is None


@pytest.mark.parametrize(("earlier", "by_age"), [(1.9, False), (2.1, True)])
def test_between_machines_the_longer_age_counts_unless_both_started_nearly_at_once(earlier, by_age):
    ours = OTHER._replace(graph="a", machine="a")
    theirs = OTHER._replace(graph="z", machine="z", age=HOUR + earlier)
    assert theirs.older_than(ours) is by_age
    assert ours.older_than(theirs) is not by_age  # else the order of their names decides


def test_next_to_an_older_robot_no_node_is_created(bench):
    bench.probe.create_publisher(String, "robot_nodes", LATCHED).publish(String(data=OTHER.text))
    made = []
    with pytest.raises(ParameterError, match="mujoco_sim refuses to drive: /mujoco_sim of another robot"):
        create_exclusive_node("mujoco_sim", lambda: made.append("node"))
    assert not made


def test_a_node_without_others_announces_itself_under_its_name_once(bench):
    received = bench.listen(String, "robot_nodes", LATCHED)
    node = bench.add(create_exclusive_node("inverse_kinematics", InverseKinematicsNode))
    bench.until(lambda: received)
    assert NodePresence.parsed(received[-1].data).node == node.get_fully_qualified_name()
    bench.until(lambda: bench.probe.get_node_names().count("inverse_kinematics") == 1)


@pytest.fixture
def announce(bench):
    """Publishes the announcement of another node several times."""

    def publish(presence):
        publisher = bench.publisher(String, "robot_nodes", LATCHED)
        for _ in range(3):
            publisher.publish(String(data=presence.text))

    return publish


def test_next_to_an_older_graph_a_node_is_silent_but_keeps_its_torque_and_obeys_the_emergency_stop(bench, announce):
    node = bench.add(MujocoSimNode(parameter_overrides=overrides(headless=True)))
    GraphPresence(node)
    states, armed = bench.listen(JointState, "joint_states"), bench.listen(Bool, "armed", LATCHED)
    bench.until(lambda: states and armed)
    announce(OTHER)
    bench.until(lambda: node.phase is Phase.SILENT, 2.0, "silence")
    assert "makes way for /mujoco_sim of another robot, which has run for longer" in node.last_report("conflict")
    assert "on host 'elsewhere', process 7: the feet go down, then the robot holds" in node.last_report("conflict")
    runs = node.housekeeping_runs
    assert bench.call(Trigger, "arm").success
    bench.until(lambda: node.housekeeping_runs > runs)
    last = states[-1]  # what was sent before the silence has arrived
    bench.until(lambda: node.housekeeping_runs > runs + 1)
    assert bench.call(SetBool, "estop", SetBool.Request(data=True)).success and not node.world.armed
    assert states[-1] is last and armed[-1].data
    bench.until(lambda: states[-1] is not last and not armed[-1].data, ANNOUNCED_S + 1.0, "the end of the silence")
    assert node.phase is Phase.DRIVING and node.last_report("drives again").endswith("can be driven again")


def test_a_walking_robot_beside_an_older_graph_sets_its_feet_down_and_sits_on_request_until_it_is_alone(
    bench, monkeypatch
):
    monkeypatch.setenv(VARIABLE, new_graph())
    nodes = [bench.driver(standing_joints()), bench.add(InverseKinematicsNode()), bench.planner()]
    planner = nodes[-1]
    for node in nodes:
        GraphPresence(node)
    targets, stream = bench.listen(JointState, "joint_targets", EVENTS), walking(bench, planner)
    other = bench.publisher(String, "robot_nodes", LATCHED, matched=3)
    bench.until(lambda: not all(planner.output.last.planted), what="a foot in the air")
    for _ in range(3):
        other.publish(String(data=OTHER.text))
    heard = time.monotonic()
    bench.until(lambda: all(node.phase is Phase.SILENT for node in nodes), ANNOUNCED_S, "silence")
    assert all(planner.output.last.planted) and planner.output.last.twist.is_zero
    bench.spin(0.2)  # a target may be on its way, and the first one after the silence comes with its end
    counts = set()

    def drives():
        if all(node.phase is Phase.SILENT for node in nodes):
            counts.add(len(targets))
        return planner.phase is Phase.DRIVING

    bench.until(drives, ANNOUNCED_S + LATE)
    assert time.monotonic() - heard >= ANNOUNCED_S and len(counts) == 1
    bench.until(lambda: not planner.output.last.twist.is_zero, what="walking again")  # its commands never paused
    stream.stop()
    wait_for_stop(bench, planner)
    repeat = bench.probe.create_timer(0.2, lambda: other.publish(String(data=OTHER.text)))
    bench.until(lambda: all(node.phase is Phase.SILENT for node in nodes), 2.0, "silence")
    for refused in ("stand", "recover"):
        answer = bench.call(Trigger, refused)
        assert not answer.success and answer.message == planner.last_report("conflict")
    assert bench.call(Trigger, "stop").success and bench.call(Trigger, "sit").success
    count = len(targets)
    bench.until(lambda: planner.planner.state is RobotState.SITTING, 10.0, "sitting")
    bench.until(lambda: all(node.phase is Phase.SILENT for node in nodes), 2.0, "silence again")
    assert len(targets) > count + 20
    assert_sound(targets)
    bench.probe.destroy_timer(repeat)
    bench.until(lambda: planner.phase is Phase.DRIVING, ANNOUNCED_S + LATE)
    assert bench.call(Trigger, "stand").success


@pytest.mark.parametrize(
    "change",
    [
        {"age": 1e9},
        {"age": -1.0},
        {"started": -1.0},
        {"age": float("nan")},
        {"machine": machine(), "age": HOUR},  # its steady clock is this one
        {"host": "h" * MAX_LENGTH},
    ],
)
def test_an_implausible_announcement_has_no_effect(change):
    assert NodePresence.parsed(OTHER._replace(**change).text) is None
