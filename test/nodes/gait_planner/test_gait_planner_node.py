# SPDX-License-Identifier: Apache-2.0
"""gait_planner on DDS: commands in, one message per tick out, latched states for late subscribers."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from rclpy.clock_type import ClockType
from rclpy.parameter import Parameter
from rclpy.time import Time
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from support.drives import GAIT_NAMES
from support.kits.plain_node import Moment
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import STEP, reports, subscribed, twist

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.leg_clearance import LegClearance
from hexapod_control.core.kinematics.leg_kinematics import UnreachableReason
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import UnreachableFoot
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.sensor_inputs import Adaptation, MishapDetection
from hexapod_control.core.walking.walk_settings import TEMPO_RANGE
from hexapod_control.nodes.gait_planner import gait_planner
from hexapod_control.nodes.gait_planner.gait_planner import GaitPlannerNode
from hexapod_control.nodes.gait_planner.planner_output import PlannerOutput, StartPermission
from hexapod_control.nodes.gait_planner.velocity_filter import Ignored
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.joint_state_input import MeasuredSample
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros import messages
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import EVENTS, LATCHED
from hexapod_control.ros.row_messages import JointLayout


def drive(bench, node, command, condition, seconds=4.0):
    """Sends a command at 20 Hz until the condition holds."""
    publisher = bench.velocity_publisher()
    timer = bench.probe.create_timer(0.05, lambda: publisher.publish(command))
    took = bench.until(condition, seconds)
    bench.probe.destroy_timer(timer)
    return took


def test_the_chain_stands_up_walks_and_sits_down_with_every_joint_target_in_its_limits(bench):
    planner, kinematics = bench.planner(False, control_rate=50.0), bench.add(InverseKinematicsNode())
    bench.add(ServoDriverNode())
    targets = bench.listen(JointState, "joint_targets")
    bench.until(lambda: planner.planner.state.value == "sitting")
    assert bench.call(Trigger, "stand").success
    bench.until(lambda: planner.planner.state.value == "standing", 8.0)
    drive(bench, planner, twist(0.08, 0.0, 0.1), lambda: planner.output.last.twist.vx > 0.07)
    bench.until(lambda: planner.planner.state.value == "standing", 5.0)
    assert bench.call(Trigger, "sit").success
    bench.until(lambda: planner.planner.state.value == "sitting", 8.0)
    sat = time.monotonic()
    bench.spin(0.5)
    late = kinematics.sent_reports.get("late")  # within a motion a loaded machine may be late
    assert late is None or late.when < sat, "targets end after a motion"
    layout = JointLayout(robot())
    rows = np.array([layout.joints(message) for message in targets])
    times = np.array([messages.nanoseconds(message.header.stamp) * 1e-9 for message in targets])
    lower, upper, speed = np.moveaxis(
        np.array([[(j.lower, j.upper, j.no_load_speed) for j in leg.joints] for leg in robot().legs]), -1, 0
    )
    assert len(rows) > 200
    assert (rows >= lower).all()
    assert (rows <= upper).all()
    steps = np.abs(np.diff(rows, axis=0)) / np.clip(np.diff(times), 0.005, 0.1)[:, None, None]
    assert (steps <= 1.05 * speed).all()
    assert reports(planner) == ["cmd_vel: nothing usable for 0.5 s while walking: stopping; is its sender running?"]


def test_without_a_target_subscriber_the_robot_stays_and_later_starts_from_measured_joints(bench):
    node = bench.planner(False, stand_on_start=True)
    states = bench.publisher(JointState, "joint_states")
    layout = JointLayout(robot())
    start = standing_joints() + np.array([0.3, 0.5, -0.4])
    bench.probe.create_timer(STEP, lambda: states.publish(layout.message(start, None, messages.time(1))))
    bench.until(lambda: node.last_report("unheard"))
    assert node.last_report("unheard") == (
        "nothing subscribes to foot_targets and joint_motion, so the robot stays as it is: start inverse_kinematics"
    )
    assert node.planner.state.value == "unknown"
    bench.listen(MultiDOFJointState, "foot_targets")
    rows = bench.listen(JointState, "joint_motion")
    bench.until(lambda: rows)
    assert layout.joints(rows[0]) == pytest.approx(start, abs=0.01)


def test_late_subscribers_get_the_latched_states_within_a_second(bench):
    node = bench.planner()
    received = {
        topic: bench.listen(String, topic, LATCHED) for topic in ("gait_state", "gait_active", "gaits", "motion_state")
    }
    limits = bench.listen(TwistMessage, "velocity_limits", LATCHED)
    bench.until(lambda: all(received.values()) and limits and limits[-1].linear.x > 0.0, 1.0)
    assert received["gait_state"][-1].data in ("rising", "standing")
    assert received["gait_active"][-1].data == "tripod"
    assert received["gaits"][-1].data == ",".join(GAIT_NAMES)
    activity = received["motion_state"][-1].data.split()
    assert activity[:2] in (["none", "standing"], ["stand_up", "rising"]) and activity[2].isdigit()
    assert limits[-1].angular.z > 0.1
    assert messages.twist(limits[-1]) == tuple(round(value, 4) for value in node.planner.view.maxima())


def test_a_gait_is_changed_by_name_and_an_unknown_one_refused_with_the_list(bench):
    node = bench.planner()
    active, selected = (bench.listen(String, topic, LATCHED) for topic in ("gait_active", "gait_selected"))
    gait = bench.publisher(String, "gait")
    gait.publish(String(data="auto"))
    bench.until(lambda: selected and active and (selected[-1].data, active[-1].data) == ("auto", "tripod"))
    gait.publish(String(data="wave"))
    bench.until(lambda: active and active[-1].data == "wave")
    gait.publish(String(data="gallop"))
    bench.until(lambda: node.last_report("gait"))
    assert "unknown gait 'gallop'" in node.last_report("gait")
    assert ", ".join(GAIT_NAMES) in node.last_report("gait")
    assert node.planner.view.active_gait == "wave"


def test_a_limit_changed_at_run_time_applies_at_once(bench):
    node = bench.planner()
    assert node.set_parameters([Parameter("linear.x.max_velocity", value=0.03)])[0].successful
    drive(bench, node, twist(0.1), lambda: node.output.last.twist.vx > 0.0299)
    assert node.output.last.twist.vx == pytest.approx(0.03)
    assert node.planner.view.maxima().vx == pytest.approx(0.03)


def test_stamped_commands_are_followed_when_asked_for(bench):
    node = bench.planner(enable_stamped_cmd_vel=True, publish_limited_velocity=True)
    executed = bench.listen(TwistStamped, "cmd_vel_out")
    publisher = bench.publisher(TwistStamped, "cmd_vel")

    def send():
        stamp = bench.probe.get_clock().now().to_msg()
        publisher.publish(messages.twist_stamped_message(messages.Twist(0.05, 0.0, 0.0), stamp))

    bench.probe.create_timer(0.05, send)
    bench.until(lambda: node.output.last and node.output.last.twist.vx > 0.04)
    assert reports(node) == []
    bench.until(lambda: executed and executed[-1].twist.linear.x > 0.04)
    age = bench.probe.get_clock().now().nanoseconds - messages.nanoseconds(executed[-1].header.stamp)
    assert 0 <= age < 1e9  # [ns] stamped within the last second


def test_a_stop_holds_against_a_stream_of_commands_until_a_zero_comes(bench):
    node = bench.planner()
    stops = bench.listen(String, "stopped_by", LATCHED)
    publisher = bench.velocity_publisher()
    command = [twist(0.08)]
    timer = bench.probe.create_timer(0.05, lambda: publisher.publish(command[0]))
    bench.until(lambda: node.output.last and node.output.last.twist.vx > 0.05)
    answer = bench.call(Trigger, "stop")
    assert (answer.success, answer.message) == (True, "stopping; feet in the air are set down")
    bench.until(lambda: node.output.last.twist.is_zero and all(node.output.last.planted), 2.0)
    bench.until(lambda: "ignored after a stop: send a zero command" in node.velocity.last_refusal)
    assert node.output.last.twist == ZERO
    bench.until(lambda: stops[-1].data == bench.probe.get_fully_qualified_name(), what="who has stopped it")
    command[0] = twist()
    bench.until(lambda: Ignored.STOP not in node.velocity.filter.ignored)
    bench.until(lambda: stops[-1].data == "")
    command[0] = twist(0.08)
    bench.until(lambda: node.output.last.twist.vx > 0.05)
    bench.probe.destroy_timer(timer)


def test_standing_up_and_sitting_down_continue_after_a_pause_of_the_machine_but_not_after_a_stop(bench):
    planner, _, _ = bench.planner(False), bench.add(InverseKinematicsNode()), bench.add(ServoDriverNode())
    pauses = bench.publisher(String, "pause", EVENTS)

    def interrupted(service):
        assert bench.call(Trigger, service).success
        bench.until(lambda: 0.1 < planner.planner.view.progress < 0.9, 4.0, "a part of the way")
        pauses.publish(String(data=f"a fault while it was to {service}"))
        bench.until(lambda: service in planner.last_report("pause") and at_rest(), 2.0, "rest")
        return planner.planner.state.value

    def at_rest():
        return not planner.output.last.joint_velocity.any()

    bench.until(lambda: planner.planner.state.value == "sitting")
    assert interrupted("stand") == "rising"
    pauses.publish(String())
    bench.until(lambda: planner.planner.state.value == "standing", 8.0, "standing")
    assert planner.last_report("pause end") == "the pause has ended: the state of the robot is rising"
    assert interrupted("sit") == "sinking"
    pauses.publish(String())
    bench.until(lambda: planner.planner.state.value == "sitting", 8.0, "sitting")
    assert interrupted("stand") == "rising"
    assert bench.call(Trigger, "stop").success
    pauses.publish(String())
    bench.until(lambda: "after the stop" in planner.last_report("pause end"), 2.0, "the end of the pause")
    bench.spin(0.5)
    assert planner.planner.state.value == "rising" and at_rest()


def test_diagnostics_show_rate_source_and_last_refusal(bench):
    node = bench.planner(control_rate=50.0)
    received = bench.listen(DiagnosticArray, "/diagnostics")
    bench.velocity_publisher().publish(twist(math.nan))

    def values():
        status = next((m.status[0] for m in reversed(received) if m.status[0].name == "/gait_planner"), None)
        return {v.key: v.value for v in status.values} | {"": status.message} if status else {}

    bench.until(lambda: "nan" in values().get("last refusal", "") and 35.0 < float(values()["loop Hz"]) < 60.0)
    changing = {"loop Hz", "overruns", "last refusal"}
    assert {name: value for name, value in node.status().items() if name not in changing} == {
        "state": "standing",
        "motion": "none",
        "pose": "found",
        "gait": "tripod",
        "lift scale": "1.00",
        "top speeds": "nan nan nan",
        "command source": "/probe",
        "driven by": "none",
        "way out": "",
        "course": "standing",
        "foot trims mm": "0.0 0.0 0.0 0.0 0.0 0.0",
        "leg gap m": f"{node.output.last.gap:.3f}",
        "speed share": "1.00",
        "payload": "unknown: needs servos that report load",
        "foot_states": "off",
        "imu/data": "off",
        "terrain_map": "off",
        "speed share of the ground": "1.00",
    }
    assert "linear.x is nan" in values()[""]
    assert int(values()["overruns"]) >= 0
    assert node.planner.state.value == "standing"


def test_a_foot_of_the_plan_out_of_reach_is_reported_with_the_remedy(bench):
    node = bench.planner()
    original, unreached = node.planner.step, UnreachableFoot("left_middle", UnreachableReason.TOO_FAR, 0.012)
    node.planner.step = lambda dt: original(dt)._replace(unreached=unreached)
    text = "foot of left_middle: the target is too far away, by 12.0 mm; the robot holds; "
    bench.until(lambda: node.last_report("unreached").startswith(text))


def test_legs_of_the_plan_that_would_touch_are_named_with_their_distance(bench):
    node = bench.planner()
    original, blocked = node.planner.step, LegClearance(0.0123, (0, 2))
    node.planner.step = lambda dt: original(dt)._replace(blocked=blocked)
    text = "left_front and left_rear are 12 mm apart and would touch; the robot waits; "
    bench.until(lambda: node.last_report("blocked").startswith(text), what=node.last_report("blocked"))


def test_parameters_that_change_at_run_time_take_effect_in_the_planner(bench):
    node = bench.planner()
    changes = {"cmd_vel_timeout": 0.2, "lift_scale": 0.5, "swing_time_scale": 1.5, "stability_margin_min": 0.05}
    switches = {"adaptive_touch_down": True, "fall_detection": False, "stuck_detection": False}
    parameters = [Parameter(name, value=value) for name, value in (changes | switches).items()]
    assert all(result.successful for result in node.set_parameters(parameters))
    walk, sensors = node.planner.view.settings, node.planner.sensors
    assert (walk.lift, walk.tempo, walk.margin) == (0.5, 1.5, 0.05) and node.velocity.filter.timeout == 0.2
    assert (sensors.adaptation, sensors.mishap_detection) == (Adaptation(True, False), MishapDetection(False, False))
    assert node.status()["lift scale"] == "0.50" and node.status()["foot_states"] != "off"


# --- callbacks, at times that the test sets -------------------------------------------------------------------

STANDING = standing_joints()


@pytest.fixture
def now(monkeypatch):
    """The time of the node, apart from its clocks."""
    moment = Moment()
    monkeypatch.setattr(gait_planner, "time", moment)
    return moment


def measured(joints):
    return MeasuredSample(joints, messages.time(1), jumped=False)


@pytest.fixture
def heard(monkeypatch):
    """The targets are followed."""
    monkeypatch.setattr(PlannerOutput, "has_target_subscribers", True)
    monkeypatch.setattr(StartPermission, "is_granted", lambda permission, joints: True)


def test_measured_joints_are_compared_with_the_planned_ones_if_stuck_legs_are_to_be_found(bench, heard):
    for detection in (True, False):
        node = bench.planner(stuck_detection=detection)
        node.on_measured_joints(measured(STANDING + 0.1))
        expected = (STANDING + 0.1).ravel() if detection else None
        assert node.planner.sensors.joints.sample == (pytest.approx(expected) if detection else None)
        bench.remove(node)


def test_the_pose_is_the_measured_one_until_the_robot_stands(bench, heard):
    node = bench.planner(False)
    lying = node.planner.view.lying_joints
    for joints in (lying, lying + 0.05):
        node.on_measured_joints(measured(joints))
        assert node.planner.state is RobotState.SITTING
        assert node.planner.view.joint_angles == pytest.approx(joints)
    node.planner.stand()
    node.on_measured_joints(measured(lying))
    assert node.planner.view.joint_angles == pytest.approx(lying + 0.05)


def test_with_the_torque_off_no_pose_is_taken_until_it_is_on(bench, heard):
    node = bench.planner()
    node.on_armed(Bool(data=True))
    assert node.planner.state is RobotState.STANDING and Ignored.STOP not in node.velocity.filter.ignored
    node.on_armed(Bool(data=False))
    assert Ignored.STOP in node.velocity.filter.ignored and node.planner.state is RobotState.UNKNOWN
    node.on_measured_joints(measured(STANDING))
    assert node.planner.state is RobotState.UNKNOWN
    node.on_armed(Bool(data=True))
    node.on_measured_joints(measured(STANDING))
    assert node.planner.state is not RobotState.UNKNOWN and Ignored.STOP in node.velocity.filter.ignored


def test_no_pose_is_taken_before_the_driver_has_said_whether_the_torque_is_on(bench, heard):
    node = bench.planner(False)
    lying = node.planner.view.lying_joints
    armed = bench.publisher(Bool, "armed", LATCHED)
    bench.until(lambda: node.count_publishers("armed"))
    node.on_measured_joints(measured(lying))
    assert node.planner.state is RobotState.UNKNOWN
    armed.publish(Bool(data=True))
    bench.until(lambda: node.on_measured_joints(measured(lying)) or node.planner.state is RobotState.SITTING)


@pytest.mark.parametrize(
    ("wanted", "found_before", "stands"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_the_robot_stands_up_at_the_start_if_asked_to_but_not_after_it_was_switched_off(
    bench, heard, wanted, found_before, stands
):
    node = bench.planner(False, stand_on_start=wanted)
    lying = node.planner.view.lying_joints
    if found_before:
        node.planner.set_measured_joints(lying)
    node.on_armed(Bool(data=False))
    node.on_armed(Bool(data=True))
    node.on_measured_joints(measured(lying))
    assert (node.planner.state is RobotState.RISING) is stands
    node.planner.forget_pose()
    node.on_measured_joints(measured(lying))
    assert node.planner.state is RobotState.SITTING  # once is enough


def test_missing_subscribers_are_reported_two_seconds_after_the_first_targets_however_slow_the_start(bench, now):
    node = bench.planner(False)
    for later, reported in ((5.0, False), (1.9, False), (0.2, True)):
        now.now += later
        node.on_measured_joints(measured(STANDING))
        assert bool(node.last_report("unheard")) is reported and node.planner.state is RobotState.UNKNOWN


class Ticks:
    """A planner whose ticks are run by the test; records the time step [s] that each part gets."""

    def __init__(self, bench):
        self.node = bench.planner(use_sim_time=True)
        self.now, self.steps, self.rehearsals = 50 * 10**9, [], []
        step = self.node.player.step
        self.node.player.step = lambda dt: self.steps.append(dt) or step(dt)
        self.node.motions.rehearse = self.rehearsals.append

    def tick(self, seconds):
        """A tick so many seconds after the last one."""
        self.now += round(1e9 * seconds)
        self.node.get_clock().set_ros_time_override(Time(nanoseconds=self.now, clock_type=ClockType.ROS_TIME))
        self.node.tick()


def test_a_tick_steps_by_the_time_since_the_last_one_two_periods_at_most_and_not_back(bench):
    ticks = Ticks(bench)
    for seconds in (0.0, 0.02, 0.025, 0.0, -5.0, 0.02, 9.0):
        ticks.tick(seconds)
    assert ticks.steps == pytest.approx([0.02, 0.025, 0.02, 2 * STEP])
    assert ticks.node.status()["overruns"] == 1


def test_a_tick_more_than_half_a_period_late_counts_as_an_overrun(bench):
    ticks = Ticks(bench)
    for seconds in (0.0, 0.029, 0.031, 0.02, 0.05):
        ticks.tick(seconds)
    assert ticks.node.status()["overruns"] == 2 and not ticks.node.last_report("late")


def test_a_rehearsal_gets_two_fifths_of_a_period_and_less_after_a_late_tick(bench):
    ticks = Ticks(bench)
    for seconds in (0.0, 0.02, 0.01, 0.024, 0.03):
        ticks.tick(seconds)
    assert ticks.rehearsals == pytest.approx([0.008, 0.008, 0.004, 0.002])


@pytest.mark.parametrize(
    ("seconds", "moves", "late"), [(0.21, True, False), (0.23, True, True), (0.23, False, False), (0.75, True, True)]
)
def test_a_tick_more_than_a_fifth_of_a_second_late_is_reported_if_the_robot_moves(
    bench, monkeypatch, seconds, moves, late
):
    stamps = [0, round(1e9 * seconds)]
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=stamps.pop(0)))
    monkeypatch.setattr(GaitPlannerNode, "control_clock", clock)
    monkeypatch.setattr(GaitPlannerNode, "create_timer", lambda *_, **__: None)
    node = bench.add(GaitPlannerNode())
    node.tick()
    node.output.last = node.planner.step(STEP)._replace(joint_velocity=np.full((6, 3), 0.01 * moves))
    node.tick()
    text = f"a tick came {seconds - STEP:.2f} s late, the robot held meanwhile: the computer or this process was busy"
    assert node.last_report("late") == (text if late else "")


def test_every_message_of_a_tick_has_the_stamp_of_its_begin(bench):
    ticks = Ticks(bench)
    rows = bench.listen(MultiDOFJointState, "foot_targets")
    bench.until(lambda: subscribed(ticks.node, "foot_targets"))
    ticks.tick(0.0)
    ticks.tick(0.02)
    bench.until(lambda: rows)
    assert messages.nanoseconds(rows[-1].header.stamp) == ticks.now


def test_a_failed_tick_is_a_fault_and_repeats_the_last_targets_at_rest_other_failures_are_a_stop(bench):
    ticks = Ticks(bench)
    node, sent = ticks.node, []
    node.output.publish_targets = lambda plan, stamp, moving=True: sent.append((plan, moving))
    ticks.tick(0.0)
    ticks.tick(0.02)
    plan = node.output.last
    sent.clear()
    node.safe_stop("tick")
    assert (
        node.planner.state is RobotState.FAULT
        and sent == [(plan, False)]
        and Ignored.PAUSE in node.velocity.filter.ignored
    )
    ticks.tick(0.02)
    assert node.planner.state is RobotState.STANDING
    node.velocity.filter.resume()
    sent.clear()
    node.safe_stop("on_gait")
    assert node.planner.state is RobotState.STANDING and not sent and Ignored.PAUSE in node.velocity.filter.ignored


def test_a_clock_that_stops_ends_the_walk_but_blocks_nothing(bench):
    node = bench.planner(use_sim_time=True)
    node.planner.command(Twist(0.05, 0.0, 0.0))
    for _ in range(20):
        node.planner.step(STEP)
    node.clock_stopped()
    for _ in range(200):
        node.planner.step(STEP)
    assert node.planner.state is RobotState.STANDING and Ignored.STOP not in node.velocity.filter.ignored


def test_the_rate_is_that_of_the_ticks_in_the_last_second(bench, now):
    ticks = Ticks(bench)
    now.now += 1.0
    ticks.node.every_second()
    for seconds in (0.0, *[0.02] * 40):
        ticks.tick(seconds)
    now.now += 0.8
    ticks.node.every_second()
    assert ticks.node.status()["loop Hz"] == "50.0"
    now.now += 1.0
    ticks.node.every_second()
    assert ticks.node.status()["loop Hz"] == "0.0"


@pytest.mark.parametrize("sits", [False, True])
def test_a_planner_that_cannot_come_to_rest_waits_for_its_time_and_no_longer(bench, now, sits):
    node = bench.planner(sit_on_exit=sits)
    node.output.last = node.output.last._replace(joint_velocity=np.ones((6, 3)))
    assert not node.stopped()
    node.request_stop()
    most = 7.0 if sits else 1.5
    now.now += most - 0.1
    assert not node.stopped()
    now.now += 0.2
    assert node.stopped() and Ignored.STOP in node.velocity.filter.ignored
    assert str(node.commands.stand()) == "the node is shutting down"


def test_a_planner_at_rest_has_stopped_unless_it_has_to_sit_down_first(bench, now):
    node = bench.planner()
    for executed, speeds, stopped in (
        (ZERO, np.zeros((6, 3)), True),
        (Twist(0.01, 0.0, 0.0), np.zeros((6, 3)), False),
        (ZERO, np.full((6, 3), 0.01), False),
    ):
        node.output.last = node.output.last._replace(twist=executed, joint_velocity=speeds)
        assert node.stopped() is stopped


def test_the_swing_time_is_that_of_economy_unless_a_parameter_gives_another(bench, tmp_path):
    file = tmp_path / "thrifty.yaml"
    file.write_text(f"economy: true\n{load('phantomx').path.read_text()}")
    node = bench.planner(False, robot=str(file))
    assert node.planner.view.settings.tempo == TEMPO_RANGE[1]
    assert node.set_parameters([Parameter("swing_time_scale", value=1.2)])[0].successful
    assert node.planner.view.settings.tempo == 1.2


def test_an_unusable_gait_or_robot_is_refused_at_the_start(bench, monkeypatch):
    with pytest.raises(ParameterError, match="gait: unknown gait 'gallop'"):
        bench.planner(False, gait="gallop")
    node = bench.planner(False, gait="wave", lift_scale=0.5, swing_time_scale=1.5, stability_margin_min=0.05)
    settings = node.planner.view.settings
    assert node.planner.view.selected_gait == "wave"
    assert (settings.lift, settings.tempo, settings.margin) == (0.5, 1.5, 0.05)
    monkeypatch.setattr(gait_planner, "Planner", lambda robot, limits: (_ for _ in ()).throw(ValueError("it is short")))
    with pytest.raises(ParameterError, match="robot phantomx cannot walk with the values in its file: it is short"):
        bench.planner(False)
