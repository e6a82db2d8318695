# SPDX-License-Identifier: Apache-2.0
"""Laws over all floats: whatever number a message carries, it is used within bounds or refused in one short sentence.

Messages are processed as in the node, without DDS: conversion, operator commands, ticks of the planner.
"""

import math

import numpy as np
import pytest
from geometry_msgs.msg import Point, Pose, Quaternion, Transform, Vector3, Wrench
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from support.drives import DT, standing_planner
from support.phantomx import LIMITS, robot

from hexapod_control.core.kinematics.leg_kinematics import inverse
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.motions.motion_player import MotionPlayer
from hexapod_control.core.motions.motion_steps import ArcStep, MotionError
from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.names import foot_name, joint_names
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.sensing.joint_plausibility import JointPlausibility
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.twist_limits import MIN_COMMAND, TwistLimits
from hexapod_control.nodes.gait_planner.velocity_filter import VelocityFilter
from hexapod_control.ros import messages
from hexapod_control.ros.row_messages import FootLayout, JointLayout, MessageError

FLOATS = st.one_of(
    st.floats(),
    st.floats(-1.0, 1.0),
    st.sampled_from([5e-324, -5e-324, 1e-310, 1e-200, 1e-9, 1e5, 1e154, 1e308, -1e308, math.inf, math.nan]),
)
THREE = st.tuples(FLOATS, FLOATS, FLOATS)
STANDING = standing_planner("phantomx")
TICKS = 8


def commands():
    """The operator's commands for a robot that stands, and its planner."""
    planner = STANDING.copy()
    return OperatorCommands(MotionPlayer(planner)), planner


def steps(planner, ticks=TICKS, limits=LIMITS[..., :2]):
    """Ticks, every one of which has finite targets inside the limits (n, 3, 2) [rad]."""
    joints = None
    for _ in range(ticks):
        plan = planner.step(DT)
        if plan.joint_angles is not None:
            joints = plan.joint_angles
        elif plan.feet is not None:
            solution = inverse(planner.robot, plan.feet, joints if joints is not None else limits.mean(axis=-1))
            assert solution.reached
            joints = solution.joints
        if joints is not None:
            assert np.isfinite(joints).all()
            assert (joints >= limits[..., 0] - 1e-9).all() and (joints <= limits[..., 1] + 1e-9).all()
    return plan


def refused(error):
    """Whether a refusal is one short line."""
    return 0 < len(str(error)) < 800 and str(error).isprintable()


@given(THREE, THREE)
@example((0.0, 0.0, 5e-324), (0.0, 0.0, 0.0))
@example((1e-200, 0.0, 0.0), (0.0, 0.0, 0.0))
@example((1e308, 1e-3, -1e308), (0.0, 0.0, 0.0))
def test_any_velocity_is_zero_or_at_least_the_minimum_and_respects_the_limits(values, beside):
    (operator, planner), velocity = commands(), VelocityFilter(0.5)
    verdict = velocity.offer(Twist(*values), beside, None, 0.0, 10.0)
    assert verdict.accepted == all(map(math.isfinite, (*values, *beside)))
    assert all(v == 0.0 or abs(v) >= least for v, least in zip(velocity.twist, MIN_COMMAND, strict=True))
    assert operator.velocity(velocity.twist) is None
    plan = steps(planner)
    assert plan.twist.is_zero == velocity.twist.is_zero


@given(THREE.map(lambda values: Twist(*(min(max(v, -100.0), 100.0) if math.isfinite(v) else 0.0 for v in values))))
@example(Twist(5e-324, 0.0, 0.0))
@example(Twist(1e-7, 5e-324, -1e-200))
def test_any_twist_of_a_motion_is_walked_within_the_limits(twist):
    planner = STANDING.copy()
    planner.command(twist)
    steps(planner)


@pytest.mark.parametrize("axis", range(3))
def test_below_the_minimum_the_robot_stands_and_from_there_on_it_walks(axis):
    for share, walks in ((0.999, False), (1.0, True)):
        values = [0.0, 0.0, 0.0]
        values[axis] = share * MIN_COMMAND[axis]
        (operator, planner), velocity = commands(), VelocityFilter(0.5)
        velocity.offer(Twist(*values), (0.0, 0.0, 0.0), None, 0.0, 10.0)
        operator.velocity(velocity.twist)
        plan = steps(planner, 30)
        assert (plan.state is RobotState.WALKING) is walks
        assert all(plan.planted) is not walks


@given(THREE, st.tuples(FLOATS, FLOATS, FLOATS, FLOATS))
def test_any_body_pose_is_taken_as_far_as_the_legs_reach_or_is_refused(position, turn):
    message = Pose(position=Point(**dict(zip("xyz", position, strict=True))))
    norm = math.sqrt(math.fsum(t * t for t in turn)) if all(abs(t) < 1e100 for t in turn) else math.nan
    unit = [t / norm for t in turn] if norm > 0.0 else turn
    for rotation in (turn, unit, (0.0, 0.0, 0.0, 1.0)):
        message.orientation = Quaternion(**dict(zip("xyzw", rotation, strict=True)))
        operator, planner = commands()
        try:
            operator.request_pose(messages.body_pose(message))
        except MessageError as error:
            assert refused(error)
            assert any(part in str(error) for part in ("; send metres", " has norm "))
        steps(planner)


@given(st.sampled_from(robot().leg_names), THREE)
@example("left_front", (1e5, 0.0, 0.0))
@example("left_front", (0.0, 0.0, 1e308))
def test_any_goal_of_a_foot_is_in_reach_or_is_refused(leg, goal):
    message = MultiDOFJointState(joint_names=[foot_name(leg)])
    message.transforms = [Transform(translation=Vector3(**dict(zip("xyz", goal, strict=True))))]
    operator, planner = commands()
    try:
        refusal = operator.guide_feet(FootLayout(robot()).positions(message))
    except MessageError as error:
        refusal = str(error)
    assert not refusal or refused(refusal)
    steps(planner)


@settings(max_examples=40)
@given(st.one_of(st.lists(FLOATS, min_size=18, max_size=18), st.lists(st.floats(-1.0, 1.0), min_size=18, max_size=18)))
def test_any_measured_joints_leave_targets_between_them_and_the_limits(values):
    message = JointState(name=list(joint_names(robot().leg_names)), position=values)
    planner = Planner(robot())
    try:
        joints = JointLayout(robot()).joints(message)
    except MessageError as error:
        assert refused(error)
        return
    verdict = JointPlausibility(robot()).check(joints, 0.0, 0.0)
    if verdict.reason:
        assert refused(verdict.reason)
        return
    planner.set_measured_joints(joints)
    planner.stand()
    steps(planner, 2, np.dstack((np.minimum(LIMITS[..., 0], joints), np.maximum(LIMITS[..., 1], joints))))


@given(st.lists(FLOATS, min_size=6, max_size=6), THREE, THREE, st.tuples(FLOATS, FLOATS, FLOATS, FLOATS))
def test_any_forces_and_any_imu_leave_a_walk_in_reach(loads, rates, acceleration, turn):
    planner = STANDING.copy()
    planner.sensors.adaptation = Adaptation(touch_down=True, levelling=True)
    planner.command(Twist(0.05, 0.0, 0.0))
    feet = MultiDOFJointState(joint_names=[foot_name(leg) for leg in robot().leg_names])
    feet.wrench = [Wrench(force=Vector3(z=load)) for load in loads]
    imu = Imu(orientation=Quaternion(**dict(zip("xyzw", turn, strict=True))))
    imu.angular_velocity = Vector3(**dict(zip("xyz", rates, strict=True)))
    imu.linear_acceleration = Vector3(**dict(zip("xyz", acceleration, strict=True)))
    try:
        planner.sensors.contacts.take(FootLayout(robot()).forces(feet).tolist())
        reading = messages.inertial(imu)
        planner.sensors.imu.take_reading(reading.orientation[:2], reading.angular_velocity, reading.acceleration)
    except MessageError as error:
        assert refused(error)
        assert any(
            part in str(error)
            for part in (" are too large, at most ", " is not finite; ", "; send finite numbers", " has norm ")
        )
    steps(planner)


@given(FLOATS, FLOATS)
@example(5e-324, 0.0)
@example(0.03, 1e-310)
def test_any_arc_in_its_bounds_is_walked_within_the_limits(travel, curvature):
    try:
        ArcStep(travel=travel, curvature=curvature)
    except MotionError as error:
        assert refused(error)
        return
    planner = STANDING.copy()
    planner.command(planner.view.arc_twist(travel, curvature))
    steps(planner)


@given(THREE)
def test_any_push_is_bounded_or_refused(values):
    try:
        assert max(map(abs, messages.force(Wrench(force=Vector3(**dict(zip("xyz", values, strict=True))))))) <= 1e4
    except MessageError as error:
        assert refused(error)


@given(FLOATS)
def test_any_speed_share_scales_the_walk_or_stops_it(share):
    planner = STANDING.copy()
    if math.isfinite(share):
        planner.change_settings(speed_share=min(max(share, 0.0), 1.0))
    planner.change_settings(limits=TwistLimits())
    planner.command(Twist(0.05, 0.0, 0.0))
    steps(planner)


@given(st.text(max_size=100_000))
def test_any_gait_name_is_refused_in_one_short_line(name):
    refusal = commands()[0].change_gait(name)
    assert refused(refusal) if name not in gaits(robot()) else refusal is None
