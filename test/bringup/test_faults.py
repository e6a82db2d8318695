# SPDX-License-Identifier: Apache-2.0
"""Faults that the planner and the kinematics survive: the robot stops, reports why, and continues afterwards.

Pass rule for all: no NaN is sent, joint targets stay within position and speed limits. A
stop is: body velocity zero within timeout and ramp, all feet down within one gait period.
"""

import math
import random

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import Pose, TwistStamped
from geometry_msgs.msg import Twist as TwistMessage
from rclpy.context import Context
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.drives import GAITS
from support.phantomx import LIMITS, robot, standing_joints
from support.real_time.ros_bench import (
    LATE,
    STEP,
    TIMEOUT,
    Stream,
    assert_sound,
    overrides,
    recorded_angles,
    reports,
    twist,
    wait_for_stop,
    walking,
)
from support.real_time.wires import RISING

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.walking.walk_controller import NEUTRAL_TOLERANCE
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.inverse_kinematics.joint_target_filter import JointTargetFilter
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import THROTTLE_S
from hexapod_control.ros.row_messages import JointLayout

# --- commands on DDS ---------------------------------------------------------------------------------------------


def test_a_stream_of_nan_while_walking_stops_the_robot_with_one_message(bench):
    node, kinematics = bench.planner(), bench.add(InverseKinematicsNode())
    bench.driver(standing_joints())
    targets = bench.listen(JointState, "joint_targets")
    stream = walking(bench, node)
    stream.command = lambda: twist(math.nan)
    wait_for_stop(bench, node)
    bench.until(lambda: node.planner.state.value == "standing")
    assert "cmd_vel: linear.x is nan: refused; send finite numbers" in node.last_report("cmd_vel not finite")
    assert node.sent_reports["cmd_vel not finite"].when - node.sent_reports["cmd_vel not finite"].logged < THROTTLE_S
    assert kinematics.last_report("refused foot_targets") == ""
    assert_sound(targets)
    stream.command = lambda: twist(0.05)  # and it continues
    bench.until(lambda: node.output.last.twist.vx > 0.04)


def test_the_robot_stops_with_its_feet_in_place_when_the_publisher_dies(bench):
    node = bench.planner()
    home = node.planner.capabilities.stances.at(robot().walk.height).footholds

    def from_neutral():
        """The largest distance [m] of a foot from its neutral foothold, along an axis."""
        return np.abs(np.array(node.output.last.contacts) - home).max()

    # So fast that the centers of the strides have moved: feet stop far from neutral.
    stream = walking(bench, node, vx=0.2)
    stream.stop()
    wait_for_stop(bench, node)
    contacts = node.output.last.contacts
    sent = node.output.last
    bench.until(lambda: node.output.last is not sent)
    assert np.array_equal(node.output.last.contacts, contacts)  # they stay where they came down
    assert from_neutral() > 2.0 * NEUTRAL_TOLERANCE
    assert "while walking: stopping; is its sender running?" in node.last_report("cmd_vel timeout")
    bench.velocity_publisher().publish(twist())  # an ordinary zero brings them back to neutral
    bench.until(lambda: from_neutral() < NEUTRAL_TOLERANCE, RISING, "feet at neutral")


def test_a_publisher_of_the_wrong_type_is_named_with_its_type_and_the_parameter(bench):
    node = bench.planner(enable_stamped_cmd_vel=False)
    other = Context()
    rclpy.init(context=other)
    stranger = rclpy.create_node("stranger", context=other)
    try:
        stranger.create_publisher(TwistStamped, "cmd_vel", 1)
        took = bench.until(lambda: node.last_report("type of /stranger"), 3.0)
    finally:
        stranger.destroy_node()
        rclpy.shutdown(context=other)
    text = node.last_report("type of /stranger")
    assert "/stranger publishes geometry_msgs/msg/TwistStamped on cmd_vel, not geometry_msgs/msg/Twist: " in text
    assert "enable_stamped_cmd_vel:=true" in text
    assert took <= 2.0 + LATE


def test_two_publishers_are_named_and_cause_no_jump(bench):
    node, _, _ = bench.planner(), bench.add(InverseKinematicsNode()), bench.driver(standing_joints())
    targets = bench.listen(JointState, "joint_targets")
    second = bench.add(rclpy.create_node("second"))
    Stream(bench, lambda: twist(0.1))
    Stream(bench, lambda: twist(-0.1), node=second)

    def reported():
        return node.last_report("publishers /probe and /second")

    bench.until(lambda: "/probe and /second publish cmd_vel at once: the newest message wins" in reported(), 3.0)
    targets_before = len(targets)
    bench.until(lambda: len(targets) > targets_before + 25)
    assert_sound(targets)


def test_flipping_forward_and_reverse_at_20_hz_keeps_every_limit(bench):
    kinematics, _, node = bench.add(InverseKinematicsNode()), bench.driver(standing_joints()), bench.planner()
    targets = bench.listen(JointState, "joint_targets")
    sign = [1.0]

    def flip():
        sign[0] = -sign[0]
        return twist(sign[0] * 1e3, sign[0] * 0.1, -sign[0])

    Stream(bench, flip)
    bench.until(lambda: len(targets) > 60)
    assert_sound(targets)
    assert kinematics.last_report("row") == ""
    assert reports(node) == []


def test_a_pose_beyond_the_workspace_is_clamped_and_reported(bench):
    node, kinematics, _ = bench.planner(), bench.add(InverseKinematicsNode()), bench.driver(standing_joints())
    poses = bench.publisher(Pose, "body_pose")
    message = Pose(orientation=messages.quaternion(0.9, 0.9, 0.9))
    message.position.z = 5.0
    poses.publish(message)
    bench.until(lambda: "out of reach: clamped" in node.last_report("pose"))
    bench.until(lambda: node.output.last.pose.z > 0.02 and not node.output.last.joint_velocity.any())
    assert node.output.last.pose.z < 0.15
    assert kinematics.last_report("row") == ""


# --- clocks -------------------------------------------------------------------------------------------------------


def test_simulated_time_without_a_clock_is_an_error_within_two_seconds_and_the_watchdog_lives(bench):
    node = bench.planner(use_sim_time=True, enable_stamped_cmd_vel=False)  # there is no time for a stamp
    bench.publisher(TwistMessage, "cmd_vel").publish(twist(0.1))
    took = bench.until(lambda: "/clock is silent" in node.last_report("clock"), 3.0)
    assert took <= 2.0 + LATE
    bench.until(lambda: node.last_report("cmd_vel timeout"))


@pytest.mark.parametrize("jump", [-100.0, 1000.0])
def test_a_jump_of_simulated_time_is_neither_a_jump_of_the_robot_nor_a_stuck_command(bench, jump):
    node = bench.planner(use_sim_time=True, enable_stamped_cmd_vel=True)
    rows = recorded_angles(node)
    publisher = bench.publisher(TwistStamped, "cmd_vel")

    def advance(count):
        goal = len(rows) + count
        bench.until(lambda: step() or len(rows) >= goal, 5.0)

    def step():
        bench.tick_clock()
        stamp = messages.time(round(bench.time * 1e9))
        publisher.publish(messages.twist_stamped_message(Twist(0.08, 0.0, 0.0), stamp))
        for _ in range(4):
            bench.executor.spin_once(0.002)

    advance(60)
    assert node.output.last.twist.vx > 0.05
    bench.tick_clock(jump)
    advance(60)
    assert node.output.last.twist.vx > 0.05
    steps = np.abs(np.diff(np.array(rows), axis=0))
    assert (steps <= 1.05 * LIMITS[..., 2] * 2 * STEP).all()


def test_a_paused_simulation_continues_without_catching_up(bench):
    node = bench.planner(use_sim_time=True)
    stream = Stream(bench, lambda: twist(0.08))
    clock = bench.probe.create_timer(STEP, lambda: bench.tick_clock())
    bench.until(lambda: node.output.last and node.output.last.twist.vx > 0.07)
    clock.cancel()
    phase, runs = node.planner.view.gait_phase, node.housekeeping_runs
    # five seconds of pause: housekeeping runs in steady time
    bench.until(lambda: node.housekeeping_runs >= runs + 10, 10.0, "housekeeping")
    frozen = node.planner.view.gait_phase
    assert (frozen - phase) % 1.0 < 0.1
    sent = node.output.last
    clock.reset()
    bench.until(lambda: node.output.last is not sent)
    assert (np.abs(node.output.last.joint_angles - sent.joint_angles) <= 1.05 * LIMITS[..., 2] * 2 * STEP).all()
    bench.until(lambda: node.output.last.twist.vx > 0.07)
    stream.stop()


def test_a_clock_that_stops_is_named_and_the_robot_walks_on_command_when_it_runs_again(bench):
    node = bench.planner(use_sim_time=True)
    kinematics = bench.add(InverseKinematicsNode(parameter_overrides=overrides(use_sim_time=True)))
    driver = bench.driver(standing_joints(), use_sim_time=True)
    stream = Stream(bench, lambda: twist(0.08))
    clock = bench.probe.create_timer(STEP, lambda: bench.tick_clock())
    bench.until(lambda: kinematics.status()["targets"] and driver.driver.armed)
    bench.until(lambda: node.output.last and node.output.last.twist.vx > 0.07)
    clock.cancel()
    bench.until(lambda: "holding the last joint angles; /clock has stopped at" in driver.last_report("silence"), 1.0)
    nodes = (node, kinematics, driver)
    took = bench.until(lambda: all("/clock has stopped at" in each.last_report("clock") for each in nodes))
    assert took <= 2.0
    stream.stop()
    bench.until(lambda: "stopping; /clock has stopped at" in node.last_report("cmd_vel timeout"), TIMEOUT + LATE)
    clock.reset()
    wait_for_stop(bench, node)
    stream = Stream(bench, lambda: twist(0.08))
    bench.until(lambda: node.output.last.twist.vx > 0.07)
    texts = [report.text for each in nodes for report in each.sent_reports.values()]
    assert not [text for text in texts if "inverse_kinematics running" in text or "report this" in text]


def test_the_gait_changes_at_any_phase_without_a_jump_of_a_foot(bench):
    node = bench.planner()
    chance = random.Random(4)
    node.planner.command(Twist(0.03, 0.0, 0.1))
    rows, switched = [], 0
    for tick in range(1500):
        if tick > 100 and chance.random() < 0.02:
            switched += 1
            node.body.on_gait(String(data=chance.choice(GAITS)))
        plan = node.planner.step(STEP)
        rows.append(plan.feet)
        assert plan.unreached is None
    feet = np.array(rows)
    speed = np.diff(feet, axis=0) / STEP
    assert switched > 20
    assert np.abs(speed).max() < 0.6
    assert np.abs(np.diff(speed, axis=0)).max() < 0.15


# --- exceptions --------------------------------------------------------------------------------------------------


def broken(*args):
    raise RuntimeError("injected")


@pytest.mark.parametrize(
    ("owner", "method", "callback"),
    [
        (lambda n: n.planner, "step", "tick"),
        (lambda n: n.planner, "command", "on_cmd_vel"),
        (lambda n: n.velocity.filter, "expire", "watch"),
        (lambda n: n.velocity, "check_publishers", "housekeeping"),
        (lambda n: n.planner, "stand", "on_stand"),
        (lambda n: JointLayout, "joints", "on_joint_states"),
    ],
)
def test_an_exception_in_any_callback_is_a_safe_stop_that_names_node_and_callback(
    bench, monkeypatch, owner, method, callback
):
    node = bench.planner()
    stream = walking(bench, node)
    if callback == "on_joint_states":
        node.planner.forget_pose()
    monkeypatch.setattr(owner(node), method, broken)
    if callback == "on_stand":
        answer = bench.call(Trigger, "stand")
        assert not answer.success
        assert "injected" in answer.message
    elif callback == "on_joint_states":
        bench.publisher(JointState, "joint_states").publish(JointState())
    bench.until(lambda: node.last_report(f"failed {callback}"), 3.0)
    text = node.last_report(f"failed {callback}")
    assert f"/gait_planner: callback {callback} failed with RuntimeError: injected" in text
    assert "\n" not in text
    if callback == "on_joint_states":
        assert node.planner.state.value == "unknown"
        return
    if callback == "tick":
        rows = bench.listen(MultiDOFJointState, "foot_targets")
        bench.until(lambda: len(rows) > 3)  # the last targets are repeated
        monkeypatch.undo()
    wait_for_stop(bench, node)
    stream.stop()


def test_an_exception_in_the_kinematics_is_named_and_the_node_continues(bench, monkeypatch):
    node = bench.planner()
    kinematics = bench.add(InverseKinematicsNode())
    bench.driver(standing_joints())
    targets = bench.listen(JointState, "joint_targets")
    bench.until(lambda: targets)
    monkeypatch.setattr(JointTargetFilter, "feet", broken)
    bench.until(lambda: kinematics.last_report("failed on_foot_targets"))
    assert "/inverse_kinematics: callback on_foot_targets failed with RuntimeError: " in kinematics.last_report(
        "failed on_foot_targets"
    )
    monkeypatch.undo()
    count = len(targets)
    bench.until(lambda: len(targets) > count + 5)
    assert node.planner.state.value == "standing"
