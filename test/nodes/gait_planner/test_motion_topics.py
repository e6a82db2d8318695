# SPDX-License-Identifier: Apache-2.0
"""Motions over DDS: rehearsed between the ticks, played, refused, ended by an emergency stop."""

import os

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from support.phantomx import robot, standing_joints
from support.real_time.motion_bench import Motions
from support.real_time.ros_bench import assert_sound, walking

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.nodes.gait_planner import motion_input
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import FootLayout, JointLayout


@pytest.fixture
def motions(bench, tmp_path):
    return Motions(bench, tmp_path)


def test_a_shipped_motion_is_rehearsed_and_then_reaches_the_servos_from_start_to_end(bench, tmp_path):
    bench.driver(standing_joints())
    bench.add(InverseKinematicsNode())
    motions = Motions(bench, tmp_path, control_rate=50.0)
    rows = bench.listen(JointState, "joint_targets")
    bench.until(lambda: rows)
    motions.play("wave")
    motions.until("wave done 100", 20.0)
    bench.until(lambda: motions.gait_states[-1].data == "standing")
    words = [message.data.split() for message in motions.motion_states if message.data.startswith("wave ")]
    assert words[0] == ["wave", "rehearse", "0"]
    percents = [int(word[2]) for word in words if word[1] not in ("rehearse", "done")]
    assert percents == sorted(percents)
    assert percents[-1] > 90
    assert {"pose", "leg"} <= {word[1] for word in words}
    assert [state.data for state in motions.gait_states][-2:] == ["moving", "standing"]
    assert_sound(rows)
    layout, leg = JointLayout(robot()), robot().leg_names.index("left_front")
    heights = [forward(robot(), layout.joints(row))[leg, 2] for row in rows]
    assert max(heights) > heights[0] + 0.09, "the leg that waves is well above the ground"


def test_a_motion_that_the_robot_cannot_play_is_left_out_of_the_list_with_a_report(bench, monkeypatch):
    monkeypatch.setattr(motion_input, "known_motions", lambda: ("bow", "missing"))
    node, received = bench.planner(False), bench.listen(String, "motions", LATCHED)
    bench.until(lambda: received)
    assert received[-1].data == "bow"
    assert node.last_report("motion missing").startswith("motion missing is left out: ")


def test_a_rehearsal_runs_between_ticks_and_delays_none(bench, motions):
    rows = bench.listen(MultiDOFJointState, "foot_targets")
    bench.until(lambda: rows)
    shares = []
    original = motions.node.motions.rehearse
    motions.node.motions.rehearse = lambda seconds: shares.append(seconds) or original(seconds)
    motions.play(motions.write("long", "  - walk: {x: 0.05, duration: 30}\n"))
    bench.until(lambda: motions.node.motions.busy)
    start = len(rows)
    motions.until("long walk", 30.0)
    assert len(rows) - start > 10, "rows go out while a motion is rehearsed"
    period = 1.0 / motions.node.settings.control_rate
    assert 0.1 * period <= min(shares) and 0.1 * period < max(shares) <= 0.4 * period
    assert bench.call(Trigger, "cancel_motion").success


def test_an_infeasible_motion_is_refused_with_file_line_and_time_before_the_robot_moves(bench, motions):
    rows = bench.listen(MultiDOFJointState, "foot_targets")
    diagnostics = bench.listen(DiagnosticArray, "/diagnostics", QoSProfile(depth=50))
    bench.until(lambda: rows)
    steps = "  - wait: {duration: 0.5}\n  - leg: {name: left_front, x: 0.2, out: 0.3, z: 0.05}\n"
    motions.play(motions.write("reach", steps))
    motions.until("reach refused 0 ")
    reason = next(m.data for m in motions.motion_states if " refused " in m.data)
    assert "reach.yaml:5: leg: " in reason
    assert "s after the start)" in reason
    assert float(reason.rsplit("(", 1)[1].split()[0]) >= 0.5
    assert motions.node.last_report("motion") in [f"motion reach refused: {reason.split(' ', 3)[3]}"]
    bench.until(lambda: any("reach.yaml:5" in message.status[0].message for message in diagnostics))
    layout = FootLayout(robot())
    assert np.ptp([layout.feet(row).positions for row in rows], axis=0).max() < 1e-9


HOSTILE = {
    "a name of 1 MB": "a" * 1_000_000,
    "brackets": MotionRequest(file="a.yaml", text="[" * 60_000).data,
    "a long text": MotionRequest(file="a.yaml", text=f"name: a\nsteps: [{'wait, ' * 10_000}").data,
    "JSON without end": "{" * 100_000,
}


def test_no_request_delays_a_tick_and_stop_is_answered(bench, motions, tmp_path):
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    stream = walking(bench, motions.node)
    rows = bench.listen(MultiDOFJointState, "foot_targets")
    bench.until(lambda: rows)

    def reports():
        return [motions.node.last_report(kind) for kind in ("motion", "refused motion")]

    for text in (str(pipe), *HOSTILE.values()):
        before = reports()
        motions.topic.publish(String(data=text))
        bench.until(lambda old=before: reports() != old, 15.0, text[:20])
        assert all(len(report) < 1500 for report in reports())
        assert bench.call(Trigger, "stop").success
    assert " is not JSON: " in motions.node.last_report("motion")
    bench.until(lambda: motions.node.output.last.twist.is_zero)
    stamps = [messages.nanoseconds(row.header.stamp) * 1e-9 for row in rows]
    assert np.diff(stamps).max() < 0.5, "ticks go on"
    stream.stop()


def test_an_emergency_stop_ends_a_motion_for_good(bench, tmp_path):
    bench.add(InverseKinematicsNode())
    bench.driver(standing_joints())
    motions = Motions(bench, tmp_path)
    motions.play("wave")
    bench.until(lambda: not all(motions.node.output.last.planted), 10.0, "a leg in the air")
    assert bench.call(SetBool, "estop", SetBool.Request(data=True)).success
    motions.until("wave cancelled")
    assert motions.node.planner.state.value == "unknown"
    assert not motions.node.motions.busy
    motions.motion_states.clear()
    assert bench.call(SetBool, "estop", SetBool.Request(data=False)).success
    for service in ("reset_fault", "arm"):
        assert bench.call(Trigger, service).success
    bench.until(lambda: motions.node.planner.state.value not in ("unknown", "rising"), 8.0)
    assert bench.call(Trigger, "stand").success
    bench.until(lambda: motions.gait_states[-1].data == "standing", 8.0)
    assert not motions.reported("wave pose")
    assert not motions.reported("wave leg")
