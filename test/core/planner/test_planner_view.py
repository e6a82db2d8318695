# SPDX-License-Identifier: Apache-2.0
"""Quantities that the view of a planner computes."""

import math

import numpy as np
import pytest
from support.drives import DT, drive, robot, standing_planner

from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.workspace.robot_gaits import gaits

NAME = "phantomx"


@pytest.mark.parametrize("tempo", [0.8, 1.0, 1.6])
def test_an_arc_of_given_travel_per_stance_is_slower_at_a_longer_swing_time(tempo):
    planner = standing_planner(NAME)
    usual = planner.view.arc_twist(0.03, 0.5)
    planner.change_settings(tempo=tempo)
    assert planner.view.arc_twist(0.03, 0.5) == pytest.approx(usual.scaled(1.0 / tempo))


@pytest.mark.parametrize("curvature", [0.0, 0.5, -2.0])
def test_in_one_stance_the_outermost_foot_covers_the_travel_of_an_arc(curvature):
    planner, machine = standing_planner(NAME), robot(NAME)
    stance_time = gaits(machine)[planner.view.active_gait].stance_time * machine.walk.swing_time
    vx, vy, wz = planner.view.arc_twist(0.03, curvature)
    speeds = [math.hypot(vx - wz * y, vy + wz * x) for x, y in (leg.foothold for leg in machine.legs)]
    assert max(speeds) * stance_time == pytest.approx(0.03)


def test_velocities_lead_from_every_tick_to_the_next_also_where_motions_of_joints_and_of_feet_meet():
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints)
    planner.stand()
    before, kinds = planner.step(DT), set()
    while planner.state is not RobotState.STANDING:
        plan = planner.step(DT)
        assert plan.joint_velocity * DT == pytest.approx(plan.joint_angles - before.joint_angles, abs=1e-9)
        if plan.feet is not None:
            way = plan.feet - forward(robot(NAME), before.joint_angles)
            assert plan.feet_velocity * DT == pytest.approx(way, abs=1e-6)
        kinds.add((before.feet is None, plan.feet is None))
        before = plan
    assert kinds >= {(True, True), (True, False), (False, False)}


def test_a_tick_counts_for_at_most_a_tenth_of_a_second_and_one_below_a_tenth_of_a_millisecond_not_at_all():
    walking = standing_planner(NAME)
    list(drive(walking, Twist(0.03, 0.0, 0.0), 1.0))
    angles = {dt: walking.copy().step(dt).joint_angles for dt in (0.09, 0.1, 0.5, 1e9)}
    assert np.array_equal(angles[0.5], angles[0.1]) and np.array_equal(angles[1e9], angles[0.1])
    assert not np.array_equal(angles[0.09], angles[0.1])
    for dt, moves in ((0.9e-4, False), (1.1e-4, True)):
        assert walking.copy().step(dt).joint_velocity.any() == moves


def test_before_any_joint_is_known_a_plan_has_no_targets_and_no_support():
    planner = Planner(robot(NAME))
    plan = planner.step(DT)
    assert plan.state is RobotState.UNKNOWN
    assert plan.feet is plan.joint_motion is plan.joint_angles is plan.unreached is plan.blocked is None
    assert plan.feet_velocity.shape == plan.joint_velocity.shape == (6, 3)
    assert not plan.feet_velocity.any() and not plan.joint_velocity.any() and not plan.support.any()
    assert plan.planted == (False,) * 6 and (plan.twist, plan.pose, plan.center) == (ZERO, NEUTRAL, (0.0, 0.0))
    assert math.isnan(plan.margin) and math.isnan(plan.gap)
    assert plan.contacts.tolist() == pytest.approx(np.array(planner.view.neutral_footholds()))
    view = planner.view
    assert view.joint_angles is None and not view.at_rest and not view.on_feet and view.walk is None
    assert (view.maxima(), view.speed_limit(), view.braking_time()) == (ZERO, ZERO, 0.0)
    assert (view.gait_phase, view.progress, view.body_pose, view.body_pose_goal) == (0.0, 0.0, NEUTRAL, NEUTRAL)
    assert view.active_gait == robot(NAME).walk.gait and view.guided_foot_arrived("left_front")
    assert not view.pose_reachable(NEUTRAL) and not view.in_neutral_stance and not view.whole_body_move_active


def test_a_halted_transition_comes_to_rest_in_a_quarter_of_a_second():
    planner = Planner(robot(NAME))
    planner.set_measured_joints(planner.view.lying_joints)
    planner.stand()
    for _ in range(60):
        planner.step(DT)
    planner.halt()
    moving = [planner.step(DT).joint_velocity.any() for _ in range(20)]
    assert moving == [True] * 12 + [False] * 8


@pytest.mark.parametrize(("lift", "waits"), [(0.03, False), (0.08, True)])
def test_after_torque_off_a_foot_that_is_a_little_off_the_ground_is_set_down_without_a_request(lift, waits):
    planner = standing_planner(NAME)
    joints = planner.view.joint_angles.copy()
    planner.forget_pose()
    joints[0, 1] += lift
    planner.set_measured_joints(joints)
    states = [planner.step(DT).state for _ in range(100)]
    assert (planner.state is RobotState.RISING) == waits and states[0] is RobotState.RISING
