# SPDX-License-Identifier: Apache-2.0
"""Motions over DDS: rehearsed between the ticks, played, replaced, cancelled, taken over."""

import os
import time

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger
from support.phantomx import robot, standing_joints
from support.real_time.motion_bench import BREATH, NOD, Motions
from support.real_time.ros_bench import Stream, assert_sound, twist, walking

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_topics import MotionRequest
from hexapod_control.nodes.gait_planner import motion_input
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import FootLayout, JointLayout


@pytest.fixture
def motions(bench, tmp_path):
    return Motions(bench, tmp_path)


def still(node):
    last = node.output.last
    return last.twist.is_zero and all(last.planted) and not last.joint_velocity.any()


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


def test_a_motion_is_rehearsed_once_and_again_only_after_a_change_of_its_file(bench, motions, monkeypatch):
    commands, rehearsed = motions.node.commands, []
    rehearse = commands.rehearse
    monkeypatch.setattr(commands, "rehearse", lambda motion: rehearsed.append(motion.name) or rehearse(motion))
    path = motions.write("nod", NOD)
    for steps, count in ((NOD, 1), (NOD, 1), (BREATH, 2)):
        motions.write("nod", steps)
        motions.motion_states.clear()
        motions.play(path)
        motions.until("nod done 100")
        bench.until(lambda: motions.motion_states[-1].data.startswith("none"))
        assert rehearsed == ["nod"] * count


def test_a_motion_of_a_file_is_refused_by_its_name_while_the_robot_does_not_stand(bench, tmp_path):
    motions = Motions(bench, tmp_path, on_its_feet=False)
    motions.play(motions.write("nod", NOD))
    motions.until("nod refused 0 ")
    assert motions.node.last_report("motion").startswith("motion nod refused: ") and not motions.node.motions.busy
    motions.play("{")
    motions.until("motion refused 0 '{' is not JSON: ")
    motions.play("wave")
    motions.until("wave refused 0 ")
    report = motions.node.sent_reports["motion"]
    assert report.text.startswith("motion wave refused: ") and report.logged == report.when


def test_an_empty_name_ends_a_loop_with_its_cycle(bench, motions):
    motions.play(motions.write("breathe", BREATH, loops=0))
    motions.until("breathe pose 9")
    bench.until(lambda: motions.motion_states[-1].data.startswith("breathe pose 1"), what="second pass")
    motions.play("")
    motions.until("breathe done 100")
    achieved = bench.listen(Pose, "body_pose_achieved", LATCHED)
    bench.until(lambda: achieved and messages.body_pose(achieved[-1]).z == pytest.approx(0.0, abs=1e-6))


def test_cancelling_brings_the_feet_down_and_is_reported(bench, motions):
    motions.play("wave")
    bench.until(lambda: motions.node.output.last.planted.count(False) == 1, 10.0, "a leg in the air")
    assert bench.call(Trigger, "cancel_motion").success
    motions.until("wave cancelled")
    bench.until(lambda: still(motions.node), 5.0)
    again = bench.call(Trigger, "cancel_motion")
    assert (again.success, again.message) == (False, "no motion is played")


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


@pytest.mark.parametrize("text", ["moonwalk", "/etc/passwd", "../wave.yaml", "wave.yaml", "~/wave"])
def test_only_names_of_the_list_are_played(motions, text):
    motions.play(text)
    motions.until(f"{text} refused 0 ")
    assert f"{text!r} is not a known motion, known: bow, " in motions.node.last_report("motion")


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


def test_a_velocity_takes_over_from_a_motion_and_a_zero_does_not(bench, motions):
    velocity = bench.velocity_publisher()
    motions.play(motions.write("breathe", BREATH, loops=0))
    motions.until("breathe pose")
    timer = bench.probe.create_timer(0.05, lambda: velocity.publish(twist()))
    motions.motion_states.clear()
    motions.until("breathe pose 9")
    bench.until(lambda: motions.motion_states[-1].data.startswith("breathe pose 1"), what="the next pass")
    bench.probe.destroy_timer(timer)
    stream = Stream(bench, lambda: twist(0.06))
    bench.until(lambda: motions.node.output.last.twist.vx > 0.05)
    assert motions.reported("breathe cancelled")
    assert not motions.node.motions.busy
    stream.stop()


def test_a_velocity_that_runs_out_does_not_disturb_a_motion(bench, tmp_path):
    motions = Motions(bench, tmp_path, cmd_vel_timeout=10.0)
    velocity = motions.node.velocity
    steps = "  - leg: {name: left_front, z: 0.06}\n  - wait: {duration: 3}\n  - leg: {name: left_front, z: 0}\n"
    bench.velocity_publisher().publish(twist(0.05))
    bench.until(lambda: not velocity.filter.twist.is_zero)
    motions.play(motions.write("lift", steps))
    motions.until("lift wait", 8.0)
    velocity.filter.offer(Twist(0.05, 0.0, 0.0), (0.0, 0.0, 0.0), None, 0.0, time.monotonic() - 11.0)  # too old
    bench.until(lambda: motions.node.last_report("cmd_vel timeout"))
    rows = bench.listen(MultiDOFJointState, "foot_targets")
    bench.until(lambda: len(rows) > 37)
    leg = FootLayout(robot()).names.index("left_front_foot")
    assert rows[-1].wrench[leg].force.z == 0.0, "the leg is still in the air"
    motions.until("lift done 100", 10.0)


def test_a_velocity_ends_a_move_of_all_feet_and_is_followed(bench, motions):
    motions.play(motions.write("up", "  - feet: {offsets: {all: [0, 0, -0.02]}, duration: 4}\n"))
    bench.until(lambda: motions.node.planner.view.whole_body_move_active and motions.node.player.progress > 0.3)
    stream = Stream(bench, lambda: twist(0.05))
    bench.until(lambda: motions.node.output.last.twist.vx > 0.04)
    stream.stop()


@pytest.mark.parametrize("wish", ["stand", "sit", "stop", "body_pose", "gait", "foot_command"])
def test_every_other_request_ends_a_motion_first(bench, motions, wish):
    motions.play(motions.write("breathe", BREATH, loops=0))
    motions.until("breathe pose")
    if wish in ("stand", "sit", "stop"):
        assert bench.call(Trigger, wish).success
    else:
        kind, message = {
            "body_pose": (Pose, messages.body_pose_message(messages.BodyPose(z=0.02))),
            "gait": (String, String(data="wave")),
            "foot_command": (MultiDOFJointState, MultiDOFJointState()),
        }[wish]
        bench.publisher(kind, wish).publish(message)
    motions.until("breathe cancelled")
    after = {"sit": "sitting"}.get(wish, "standing")
    bench.until(lambda: motions.node.player.planner.state.value == after, 8.0)
    if wish == "body_pose":
        bench.until(lambda: motions.node.output.last.pose.z == pytest.approx(0.02, abs=1e-6))
    if wish == "gait":
        bench.until(lambda: motions.node.planner.view.active_gait == "wave")


def test_packing_and_unpacking_are_services_and_standing_up_interrupts_a_fold(bench, motions):
    assert bench.call(Trigger, "pack").success
    motions.until("pack done 100", 15.0)
    bench.until(lambda: motions.node.planner.state.value == "sitting")
    assert bench.call(Trigger, "unpack").success
    motions.until("unpack done 100", 15.0)
    assert motions.node.planner.state.value == "standing"
    assert bench.call(Trigger, "pack").success
    bench.until(lambda: motions.node.planner.view.whole_body_move_active, 10.0, "folding")
    assert bench.call(Trigger, "stand").success
    bench.until(lambda: motions.node.planner.state.value == "standing", 10.0)
    assert motions.reported("pack cancelled")


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


def test_step_height_and_tempo_set_during_a_motion_hold_after_it(bench, motions):
    motions.play(motions.write("steps", "  - walk: {lift: 0.5, tempo: 1.5, duration: 1.0}\n"))
    motions.until("steps walk")
    changes = [Parameter("lift_scale", value=0.7), Parameter("swing_time_scale", value=1.2)]
    assert all(result.successful for result in motions.node.set_parameters(changes))
    assert motions.node.planner.view.settings.tempo == 1.5
    motions.until("steps done 100")
    assert motions.node.planner.view.settings.lift == pytest.approx(0.7)
    assert motions.node.planner.view.settings.tempo == pytest.approx(1.2)
