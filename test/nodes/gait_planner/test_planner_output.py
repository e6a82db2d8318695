# SPDX-License-Identifier: Apache-2.0
"""What gait_planner publishes about a tick: targets, velocity, states when they change, limits and markers at rates."""

import math

import numpy as np
import pytest
from support.drives import DT, GAIT_NAMES, standing_planner
from support.kits.plain_node import PlainNode
from support.phantomx import robot, standing_joints

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_topics import percent_in_steps
from hexapod_control.core.planner.planner import Planner
from hexapod_control.nodes.gait_planner.planner_output import PlannerOutput
from hexapod_control.nodes.gait_planner.settings import PlannerSettings
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import FootLayout, JointLayout

STAMP = messages.time(7_500_000_000)
TWIST = Twist(0.05, 0.0, 0.1)


class Publishing:
    """A planner whose robot stands, and what is published about it."""

    def __init__(self, planner=None, **parameters):
        self.node, self.planner = PlainNode(), planner or standing_planner("phantomx", "tripod")
        self.output = PlannerOutput(self.node, self.planner, PlannerSettings(**parameters))

    def tick(self, twist=ZERO, motion=""):
        """Publishes the plan of a tick. Returns it."""
        self.planner.command(twist)
        plan = self.planner.step(DT)
        self.output.publish(plan, STAMP, motion)
        return plan

    def texts(self, topic):
        return [message.data for message in self.node.sent(topic)]


def rising():
    """A planner whose robot stands up."""
    made = Planner(robot())
    made.set_measured_joints(standing_joints() + 0.3)
    made.stand()
    return made


def test_the_feet_of_a_plan_are_published_with_their_velocities_or_at_rest():
    publishing = Publishing()
    for _ in range(20):
        plan = publishing.tick(TWIST)
    publishing.output.publish_targets(plan, STAMP, moving=False)
    *_, walking, still = publishing.node.sent("foot_targets")
    layout = FootLayout(robot())
    assert walking.header.stamp == still.header.stamp == STAMP and len(publishing.node.sent("foot_targets")) == 21
    for message, velocities in ((walking, plan.feet_velocity), (still, np.zeros((6, 3)))):
        feet = layout.feet(message)
        assert feet.positions == pytest.approx(plan.feet) and feet.forces == pytest.approx(plan.support)
        assert feet.velocities == pytest.approx(velocities)
    assert np.abs(plan.feet_velocity).max() > 0.01 and not publishing.node.sent("joint_motion")


def test_a_motion_of_the_joints_is_published_as_joints_with_their_velocities_or_at_rest():
    publishing = Publishing()
    publishing.planner.move_joints(standing_joints() + 0.2)
    plan, ticks = publishing.tick(), 1
    while plan.joint_motion is None or np.abs(plan.joint_velocity).max() < 0.1:
        plan, ticks = publishing.tick(), ticks + 1
    assert sum(len(publishing.node.sent(topic)) for topic in ("foot_targets", "joint_motion")) == ticks  # one a tick
    publishing.output.publish_targets(plan, STAMP, moving=False)
    *_, driven, still = publishing.node.sent("joint_motion")
    layout = JointLayout(robot())
    for message, velocities in ((driven, plan.joint_velocity), (still, np.zeros((6, 3)))):
        assert layout.joints(message) == pytest.approx(plan.joint_motion) and message.header.stamp == STAMP
        assert layout.velocities(message) == pytest.approx(velocities)


def test_targets_need_a_subscriber_on_both_topics():
    publishing = Publishing()
    for feet, joints in ((0, 0), (1, 0), (0, 1), (1, 1)):
        publishing.node.topics["foot_targets"].listeners = feet
        publishing.node.topics["joint_motion"].listeners = joints
        assert publishing.output.has_target_subscribers is bool(feet and joints)


def test_a_margin_is_published_if_there_is_one():
    publishing = Publishing()
    plan = publishing.tick()
    for margin in (0.04, math.nan, math.inf, 0.03):
        publishing.output.publish(plan._replace(margin=margin), STAMP)
    assert [message.data for message in publishing.node.sent("stability_margin")] == [plan.margin, 0.04, 0.03]


@pytest.mark.parametrize("stamped", [False, True])
def test_the_executed_velocity_is_published_as_cmd_vel_is_and_only_if_asked_for(stamped):
    silent = Publishing(enable_stamped_cmd_vel=stamped)
    silent.tick(TWIST)
    assert "cmd_vel_out" not in silent.node.topics
    publishing = Publishing(enable_stamped_cmd_vel=stamped, publish_limited_velocity=True)
    plans = [publishing.tick(TWIST) for _ in range(5)]
    sent = publishing.node.sent("cmd_vel_out")
    assert [messages.twist(m.twist if stamped else m) for m in sent] == [plan.twist for plan in plans]
    assert plans[-1].twist.vx > 0.0 and (not stamped or {m.header.stamp.sec for m in sent} == {7})


def test_limits_are_published_when_they_change_five_times_a_second_at_most():
    publishing, ticks = Publishing(control_rate=50.0), []
    for tick in range(1, 31):
        publishing.planner.change_settings(speed_share=1.0 - 0.01 * tick)
        count = len(publishing.node.sent("velocity_limits"))
        publishing.tick()
        if len(publishing.node.sent("velocity_limits")) > count:
            ticks.append(tick)
    assert ticks == [10, 20, 30]
    limits = messages.twist(publishing.node.sent("velocity_limits")[-1])
    assert limits == tuple(round(value, 4) for value in publishing.planner.view.maxima())
    for _ in range(30):
        publishing.tick()
    assert len(publishing.node.sent("velocity_limits")) == 3


@pytest.mark.parametrize(("rate", "every"), [(50.0, 5), (100.0, 10), (10.0, 1), (24.0, 2)])
def test_markers_are_published_ten_times_a_second_for_a_subscriber(rate, every):
    publishing = Publishing(control_rate=rate, tf_frame_prefix="one/")
    for tick in range(1, 21):
        publishing.tick()
        assert len(publishing.node.sent("foot_markers")) == tick // every
    markers = publishing.node.sent("foot_markers")[-1].markers
    assert {(each.header.frame_id, each.header.stamp.sec) for each in markers} == {("one/base_link", 7)}
    publishing.node.topics["foot_markers"].listeners = 0
    for _ in range(10):
        publishing.tick()
    assert len(publishing.node.sent("foot_markers")) == 20 // every


def test_states_gaits_and_pose_are_published_at_once_and_then_when_they_change():
    publishing = Publishing()
    assert publishing.texts("gait_state") == ["standing"] and publishing.texts("gait_active") == ["tripod"]
    assert publishing.texts("gaits") == [",".join(GAIT_NAMES)]
    assert publishing.texts("motion_state") == ["none standing 0"]
    publishing.planner.request_pose(BodyPose(z=0.01))
    publishing.planner.change_gait("wave")
    for _ in range(100):
        plan = publishing.tick()
    poses = [messages.body_pose(message).z for message in publishing.node.sent("body_pose_achieved")]
    assert len(poses) < 100 and poses[-1] == pytest.approx(plan.pose.z) == pytest.approx(0.01)
    assert publishing.texts("gait_selected") == publishing.texts("gait_active") == ["tripod", "wave"]
    assert publishing.texts("gait_state") == ["standing"]


def test_the_progress_of_a_walk_is_the_phase_of_its_gait_in_steps_of_ten_percent():
    publishing = Publishing()
    for _ in range(100):
        publishing.tick(TWIST)
        name, phase, percent = publishing.texts("motion_state")[-1].split()
        assert (name, phase) == ("walk", "tripod")
        assert int(percent) == percent_in_steps(publishing.planner.view.gait_phase, 10)
    assert {text.split()[2] for text in publishing.texts("motion_state")} == {str(10 * k) for k in range(10)}


def test_the_progress_of_standing_up_is_that_of_the_posture():
    publishing = Publishing(rising())
    shown = []
    while publishing.planner.state.value == "rising":
        publishing.tick()
        shown.append((publishing.texts("motion_state")[-1], publishing.planner.view.progress))
    for text, progress in shown[:-1]:
        assert text == f"stand_up rising {percent_in_steps(progress, 10)}"
    assert len({text for text, _ in shown}) > 5


def test_a_motion_is_shown_in_place_of_what_the_robot_does():
    publishing = Publishing()
    publishing.tick(motion="bow pose 20")
    publishing.tick()
    assert publishing.texts("motion_state")[-2:] == ["bow pose 20", "none standing 0"]


def test_the_last_messages_are_a_zero_and_the_last_targets_at_rest_and_wait_for_their_delivery():
    publishing = Publishing(publish_limited_velocity=True, enable_stamped_cmd_vel=False)
    publishing.output.publish_last_targets(STAMP)  # before any tick there are no targets
    assert messages.twist(publishing.node.sent("cmd_vel_out")[-1]).is_zero
    for _ in range(20):
        plan = publishing.tick(TWIST)
    publishing.output.publish_last_targets(STAMP)
    assert messages.twist(publishing.node.sent("cmd_vel_out")[-1]).is_zero
    feet = FootLayout(robot()).feet(publishing.node.sent("foot_targets")[-1])
    assert feet.positions == pytest.approx(plan.feet) and not feet.velocities.any()
    waited = {topic for topic, each in publishing.node.topics.items() if each.waited == [0.5, 0.5]}
    assert waited == {"cmd_vel_out", "foot_targets", "joint_motion", "gait_state"}
