# SPDX-License-Identifier: Apache-2.0
"""Streams of joint targets: followed exactly within the limits, slowed at them, and ended when they exceed them."""

import math

import numpy as np
import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_limiter import MIN_LEG_GAP_M
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE

NAME = "phantomx"
ENDS_S = 8.0  # in which every stream that has ended leads to its posture


def standing():
    return standing_planner(NAME).copy()


def run(planner, seconds):
    for _ in range(round(seconds / DT)):
        planner.step(DT)
    return planner.state


def random_targets(seed, size):
    """Targets (k, n, 3) [rad] of a policy that knows nothing: all over the limits of the joints, and beyond."""
    rng = np.random.default_rng(seed)
    lower, upper = (np.array([[getattr(j, side) for j in leg.joints] for leg in robot(NAME).legs]) for side in SIDES)
    return np.array([rng.uniform(lower - size, upper + size) for _ in range(200)])


SIDES = ("lower", "upper")


def test_targets_within_the_limits_are_followed_exactly():
    leader, follower = standing(), standing()
    leader.command(Twist(0.08, 0.02, 0.1))
    for _ in range(200):
        targets = leader.step(DT).joint_angles
        assert follower.follow_joints(targets) is None
        assert np.abs(follower.step(DT).joint_angles - targets).max() < 1e-12
    assert follower.state is RobotState.MOVING


@pytest.mark.parametrize("seed", range(3))
def test_wild_targets_break_no_limit_and_end_in_standing(seed):
    planner = standing()
    table = robot(NAME)
    fastest = np.array([[SPEED_SHARE * joint.no_load_speed for joint in leg.joints] for leg in table.legs])
    gaps = LegNeighbours.of(table)
    before = planner.view.joint_angles
    refusals = []
    for targets in random_targets(seed, 0.5):
        refusals.append(planner.follow_joints(targets))
        joints = planner.step(DT).joint_angles
        assert (np.abs(joints - before) <= fastest * DT + 1e-9).all()
        assert gaps.gap(joints.tolist()).distance > MIN_LEG_GAP_M - 0.001
        before = joints
        if refusals[-1]:
            break
    assert "joint targets exceeded what joints, legs or balance allow" in str(refusals[-1])
    assert run(planner, ENDS_S) is RobotState.STANDING


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (lambda planner: None, RobotState.STANDING),  # silence
        (Planner.halt, RobotState.STANDING),
        (Planner.stand, RobotState.STANDING),
        (Planner.sit, RobotState.SITTING),
        (Planner.forget_pose, RobotState.UNKNOWN),
    ],
)
def test_silence_and_every_request_end_a_stream_in_the_posture_that_is_wanted(end, state):
    leader, planner = standing(), standing()
    leader.command(Twist(0.08, 0.0, 0.0))
    for _ in range(63):  # in the middle of a step
        planner.follow_joints(leader.step(DT).joint_angles)
        planner.step(DT)
    end(planner)
    planner.step(DT)
    if end is not planner.forget_pose:
        run(planner, ENDS_S)
    assert planner.state is state
    if state is RobotState.STANDING:
        planner.command(Twist(0.05, 0.0, 0.0))
        assert run(planner, 2.0) is RobotState.WALKING


def test_a_stream_begins_only_while_the_robot_stands_at_rest():
    joints = standing().view.joint_angles
    walking = standing()
    walking.command(Twist(0.05, 0.0, 0.0))
    run(walking, 1.0)
    sitting = standing()
    sitting.sit()
    run(sitting, ENDS_S)
    for planner in (walking, sitting, Planner(robot(NAME))):
        before = planner.state
        assert planner.follow_joints(joints).kind == "not_at_rest"
        assert planner.state is before


def test_velocities_meanwhile_change_nothing_and_their_limits_stay_known():
    planner = standing()
    maxima = planner.view.maxima()
    joints = planner.view.joint_angles
    for _ in range(20):
        planner.follow_joints(joints)
        planner.command(Twist(0.05, 0.0, 0.0))
        plan = planner.step(DT)
    assert planner.state is RobotState.MOVING and plan.at_rest and math.isfinite(plan.margin)
    assert planner.view.maxima() == maxima
