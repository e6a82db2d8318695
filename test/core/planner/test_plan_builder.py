# SPDX-License-Identifier: Apache-2.0
"""Fields of the plan of a tick: for a robot at rest, for one that stands, and for lost legs."""

import math

import numpy as np
import pytest
from support.drives import DT, drive, robot, standing_planner

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_clearance import LegClearance
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.planner import for_whole_robot
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.statics.static_stability import GRAVITY, static_margin

MACHINE = robot("phantomx")


def of_five_legs(**more):
    """A plan of five legs whose values are all different."""
    names = ("feet", "feet_velocity", "joint_motion", "joint_velocity", "joint_angles")
    arrays = {name: 100.0 * k + np.arange(15.0).reshape(5, 3) for k, name in enumerate(names)}
    values = {
        **arrays,
        "support": np.arange(5.0),
        "contacts": 900.0 + np.arange(10.0).reshape(5, 2),
        "planted": (True, False, True, False, True),
        "blocked": LegClearance(0.01, (0, 4)),
    }
    rest = RobotState.WALKING, ZERO, NEUTRAL, 0.03, (0.1, 0.2), None, 0.04
    other = dict(zip(("state", "twist", "pose", "margin", "center", "unreached", "gap"), rest, strict=True))
    return TickPlan(**{**values, **other, **more})


def test_in_a_plan_for_the_whole_robot_lost_legs_hold_their_folded_pose_and_bear_nothing():
    legs, row = WalkingLegs.without(MACHINE, frozenset({1})), 1
    plan = of_five_legs()
    whole, folded = for_whole_robot(plan, legs), np.array(legs.folded)
    for name in ("feet", "feet_velocity", "joint_motion", "joint_velocity", "joint_angles", "support", "contacts"):
        values = getattr(whole, name)
        assert np.delete(values, row, axis=0).tolist() == getattr(plan, name).tolist()
        assert not values.flags.writeable
    assert whole.feet[row].tolist() == forward(MACHINE, folded)[row].tolist()
    assert whole.contacts[row].tolist() == forward(MACHINE, folded)[row, :2].tolist()
    assert whole.joint_angles[row].tolist() == whole.joint_motion[row].tolist() == folded[row].tolist()
    assert not whole.feet_velocity[row].any() and not whole.joint_velocity[row].any() and whole.support[row] == 0.0
    assert whole.planted == (True, False, False, True, False, True)
    assert whole.blocked == LegClearance(0.01, (0, 5))
    assert (whole.margin, whole.center, whole.gap) == (0.03, (0.1, 0.2), 0.04)


def test_values_missing_in_a_plan_stay_unknown_and_without_lost_legs_a_plan_is_complete():
    legs = WalkingLegs.without(MACHINE, frozenset({1}))
    nothing = for_whole_robot(of_five_legs(feet=None, joint_motion=None, joint_angles=None, blocked=None), legs)
    assert nothing.feet is nothing.joint_motion is nothing.joint_angles is nothing.blocked is None
    assert for_whole_robot(of_five_legs(blocked=LegClearance(0.05, None)), legs).blocked == LegClearance(0.05, None)
    plan = standing_planner(MACHINE).step(DT)
    assert for_whole_robot(plan, WalkingLegs.without(MACHINE, frozenset())) is plan


def test_the_feet_of_a_plan_bear_the_weight_about_its_center_of_mass_with_its_margin():
    planner = standing_planner(MACHINE)
    planner.request_pose(BodyPose(x=0.02, roll=0.05))
    for plan in drive(planner, Twist(0.05, 0.0, 0.0), 1.0):
        assert plan.support.sum() == pytest.approx(MACHINE.mass * GRAVITY)
        assert not plan.support[~np.array(plan.planted)].any()
        assert plan.support @ plan.contacts / plan.support.sum() == pytest.approx(plan.center)
        standing = [tuple(point) for point, down in zip(plan.contacts, plan.planted, strict=True) if down]
        assert plan.margin == pytest.approx(static_margin(standing, plan.center))
        assert plan.pose == planner.view.body_pose


def test_a_plan_at_rest_repeats_the_last_targets_without_speeds():
    planner = standing_planner(MACHINE)
    moving = list(drive(planner, Twist(0.05, 0.0, 0.0), 1.0))[-1]
    again = planner.step(0.0)
    for name in ("feet", "joint_angles", "contacts", "support"):
        assert getattr(again, name).tolist() == getattr(moving, name).tolist()
    assert moving.feet_velocity.any() and moving.joint_velocity.any() and not moving.twist.is_zero
    assert not again.feet_velocity.any() and not again.joint_velocity.any() and again.twist.is_zero
    assert (again.planted, again.margin, again.gap) == (moving.planted, moving.margin, moving.gap)
    assert again.state is RobotState.WALKING and math.isfinite(again.gap)


def test_after_torque_off_a_robot_starts_as_if_it_were_new():
    planners = []
    for paused in (True, False):
        planner = standing_planner(MACHINE)
        if paused:
            planner.sit()
            list(drive(planner, ZERO, 0.5))
            planner.halt()
            list(drive(planner, ZERO, 0.5))
        planner.forget_pose()
        planner.set_measured_joints(planner.view.lying_joints)
        assert planner.stand() is None
        planners.append(planner)
    for _ in range(60):
        first, second = (planner.step(DT).joint_angles for planner in planners)
        assert first.tolist() == second.tolist()
