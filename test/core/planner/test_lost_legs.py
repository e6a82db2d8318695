# SPDX-License-Identifier: Apache-2.0
"""Lost legs: the robot folds them, walks on with the others without tipping, and uses them again on request."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from support.drives import DT, ROBOTS, drive, robot, standing_planner, walk_of
from support.suite.soak import cases

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.kinematics.leg_kinematics import inverse
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_limiter import MIN_LEG_GAP_M
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.statics.static_stability import center_of_mass
from hexapod_control.core.workspace.swing_limits import SPEED_SHARE

PAIRS = (("left_rear", "right_front"), ("left_middle", "right_middle"))
MAX_TICKS = 600  # until a leg is folded or back


def ticks_of_change(planner):
    """Plans while a leg is being folded or unfolded."""
    for _ in range(MAX_TICKS):
        yield planner.step(DT)
        if not planner.view.changing_legs:
            return
    pytest.fail("the change did not end")


@cache
def _on_five(name, leg):
    planner = standing_planner(name)
    assert planner.change_leg(leg, lost=True) is None
    list(ticks_of_change(planner))
    return planner


def on_five(name, leg):
    """A new planner whose robot stands on all legs but one."""
    return _on_five(name, leg).copy()


class Laws:
    """Checks every plan of a robot against the limits of its joints, legs and balance."""

    def __init__(self, planner):
        self.machine, self.neighbours = planner.robot, LegNeighbours.of(planner.robot)
        self.last = planner.view.joint_angles
        self.limits = np.array([[SPEED_SHARE * j.no_load_speed for j in leg.joints] for leg in self.machine.legs])
        self.least_margin = math.inf

    def check(self, plan, dt=DT):
        assert (np.abs(plan.joint_angles - self.last) <= self.limits * dt * (1.0 + 1e-9)).all()
        assert self.neighbours.gap(plan.joint_angles.tolist()).distance > MIN_LEG_GAP_M
        if plan.feet is not None:
            solved = inverse(self.machine, plan.feet, self.last)
            assert solved.reached and np.abs(solved.joints - plan.joint_angles).max() < 1e-6
        self.last = plan.joint_angles
        self.least_margin = min(self.least_margin, plan.margin)


@pytest.mark.parametrize(("name", "leg"), cases(ROBOTS, ("left_front", "left_middle", "left_rear")))
def test_a_walking_robot_folds_any_leg_continues_and_restores_it_without_tipping_or_a_jump(name, leg):
    planner = standing_planner(name)
    row, usual, gait = planner.robot.leg_names.index(leg), planner.view.maxima(), planner.view.active_gait
    command = Twist(0.5 * usual.vx, 0.0, 0.0)
    for _ in drive(planner, command, 1.0):
        pass
    laws = Laws(planner)
    assert planner.change_leg(leg, lost=True) is None
    for plan in ticks_of_change(planner):
        laws.check(plan)
    assert planner.view.lost_legs == (leg,)
    assert all(0.0 < less < most for less, most in zip(planner.view.maxima(), usual, strict=True))
    for _ in range(100):
        plan = planner.step(DT)  # the command from before is followed
        laws.check(plan)
        assert not plan.planted[row] and plan.support[row] == 0.0 and not plan.joint_velocity[row].any()
    assert 0.5 * planner.view.speed_limit().vx < plan.twist.vx <= planner.view.speed_limit().vx
    assert planner.change_leg(leg, lost=False) is None
    for plan in ticks_of_change(planner):
        laws.check(plan)
    assert planner.view.lost_legs == () and planner.view.active_gait == gait
    for _ in range(150):
        laws.check(plan := planner.step(DT))
    assert planner.view.maxima() == usual and 0.5 * command.vx < plan.twist.vx <= command.vx
    assert laws.least_margin > 0.002  # [m]


@pytest.mark.parametrize(("name", "direction"), cases(ROBOTS, [(1, 0, 0), (0, -1, 0), (-1, 0, 0), (0, 0, 1)]))
def test_on_five_legs_the_feet_stay_planted_in_the_world_and_support_the_robot_at_top_speed(name, direction):
    planner = on_five(name, "left_front")
    laws, top = Laws(planner), planner.view.maxima()
    before = None
    for plan in drive(planner, Twist(*(a * b for a, b in zip(direction, top, strict=True))), 4.0):
        laws.check(plan)
        now = walk_of(planner).motion.feet
        if before is not None:
            back = plan.twist
            for old, new in zip(before, now, strict=True):
                if old[2] and new.planted:
                    (x, y, _), turned = old, -back.wz * DT
                    c, s = math.cos(turned), math.sin(turned)
                    moved = np.array((new.x, new.y)) - np.array((c * x - s * y, s * x + c * y))
                    expected = -DT * np.array((back.vx, back.vy))
                    assert np.abs(moved - expected).max() < 2e-4  # [m]
        before = [(foot.x, foot.y, foot.planted) for foot in now]
    assert laws.least_margin > 0.005  # [m]
    assert not walk_of(planner).at_rest


@pytest.mark.parametrize(("name", "pair"), cases(ROBOTS, PAIRS))
def test_without_two_opposite_legs_the_robot_crawls_and_then_restores_them_one_after_the_other(name, pair):
    planner = standing_planner(name)
    laws = Laws(planner)
    for lost, legs in ((True, pair), (False, pair[::-1])):
        for leg in legs:
            assert planner.change_leg(leg, lost=lost) is None
            for plan in ticks_of_change(planner):
                laws.check(plan)
        if lost:
            assert planner.view.lost_legs == pair and planner.view.active_gait == "crawl"
            for plan in drive(planner, Twist(planner.view.maxima().vx, 0.0, 0.0), 6.0):
                laws.check(plan)
            assert plan.twist.vx > 0.005  # [m/s] it crawls
    assert planner.view.lost_legs == () and laws.least_margin > 0.004  # [m]


def test_lost_legs_that_leave_no_stable_gait_are_refused_with_reason_and_remedy():
    planner = on_five("phantomx", "left_front")
    assert str(planner.change_leg("left_middle", lost=True)) == (
        "without left_front and left_middle the others do not support the robot: sit down and repair a leg first"
    )
    assert planner.view.lost_legs == ("left_front",)
    assert str(planner.change_leg("tail", lost=True)).startswith("unknown leg 'tail'; known: left_front")
    assert planner.change_leg("left_front", lost=True) is None  # is lost already


def test_a_lost_leg_takes_no_other_commands_and_gaits_are_those_of_the_other_legs():
    planner = on_five("phantomx", "left_front")
    remedy = "unfold it first (hexapod leg back {}, or topic return_leg)"
    text = f"leg left_front is lost: {remedy.format('left_front')}"
    assert str(planner.guide_foot("left_front", (0.2, 0.2, 0.0))) == text
    assert str(planner.move_joints(planner.view.joint_angles)) == f"refused while a leg is lost: {remedy.format('LEG')}"
    assert str(planner.change_gait("tripod")) == "unknown gait 'tripod'; known: ripple, wave, fastest, auto"
    assert planner.change_gait("wave") is None
    assert planner.view.active_gait == "fastest"


@pytest.mark.parametrize(("name", "leg"), [("article", "left_rear"), ("phantomx", "left_middle")])
def test_a_lying_robot_folds_a_leg_stands_up_without_it_and_lies_down_again(name, leg):
    planner = standing_planner(name)
    row = planner.robot.leg_names.index(leg)
    planner.sit()
    while planner.state is not RobotState.SITTING:
        planner.step(DT)
    laws = Laws(planner)
    assert planner.change_leg(leg, lost=True) is None
    for plan in ticks_of_change(planner):
        laws.check(plan)
    folded = plan.joint_angles[row]
    for request, state in ((planner.stand, RobotState.STANDING), (planner.sit, RobotState.SITTING)):
        assert request() is None
        for _ in range(MAX_TICKS):
            plan = planner.step(DT)
            laws.check(plan)
            if planner.state is state:
                break
        assert planner.state is state and (plan.joint_angles[row] == folded).all()
    assert planner.change_leg(leg, lost=False) is None and planner.view.lost_legs == ()


def test_torque_off_keeps_legs_lost_and_holds_them_where_they_are_found():
    planner = on_five("phantomx", "left_middle")
    joints = planner.view.joint_angles.copy()
    planner.forget_pose()
    joints[1] += 0.1
    planner.set_measured_joints(joints)
    planner.stand()
    for _ in range(100):
        plan = planner.step(DT)
    assert planner.view.lost_legs == ("left_middle",)
    assert (plan.joint_angles[1] == joints[1]).all() and plan.state is RobotState.STANDING


def test_a_lost_leg_found_elsewhere_stays_there_when_another_one_is_lost_and_returns_from_there():
    planner = on_five("phantomx", "left_middle")
    joints = planner.view.joint_angles.copy()
    planner.forget_pose()
    joints[1] += (0.2, -0.2, 0.0)
    planner.set_measured_joints(joints)
    planner.stand()
    for _ in range(100):
        planner.step(DT)
    laws = Laws(planner)
    assert planner.change_leg("right_middle", lost=True) is None
    for plan in ticks_of_change(planner):
        laws.check(plan)
    assert planner.view.lost_legs == ("left_middle", "right_middle")
    assert (plan.joint_angles[1] == joints[1]).all()
    for leg in ("right_middle", "left_middle"):
        assert planner.change_leg(leg, lost=False) is None
        for plan in ticks_of_change(planner):
            laws.check(plan)
    assert planner.view.lost_legs == () and laws.least_margin > 0.002  # [m]


def test_a_measured_pose_without_the_joints_of_a_lost_leg_is_used():
    planner = on_five("phantomx", "left_middle")
    joints = planner.view.joint_angles.copy()
    folded = joints[1].copy()
    planner.forget_pose()
    joints[1] = math.nan
    planner.set_measured_joints(joints)
    assert planner.state is not RobotState.UNKNOWN
    assert (planner.view.joint_angles[1] == folded).all()


def test_a_stop_abandons_a_change_before_the_leg_has_moved_and_a_later_zero_command_counts():
    planner = standing_planner("phantomx")
    for _ in drive(planner, Twist(0.1, 0.0, 0.0), 2.0):
        pass
    assert planner.change_leg("left_front", lost=True) is None
    assert str(planner.change_leg("left_rear", lost=True)).startswith("ignored while a leg is being folded")
    planner.halt()
    assert not planner.view.changing_legs and planner.view.lost_legs == ()
    planner.command(Twist(0.1, 0.0, 0.0))
    assert planner.change_leg("left_front", lost=True) is None
    planner.command(ZERO)
    for _ in ticks_of_change(planner):
        pass
    for _ in range(300):
        plan = planner.step(DT)
    assert plan.twist.is_zero and plan.state is RobotState.STANDING


def test_while_a_leg_moves_velocities_are_stored_and_other_requests_wait_or_are_refused():
    planner = standing_planner("phantomx")
    assert planner.change_leg("left_front", lost=True) is None
    assert planner.view.changing_legs and planner.state is RobotState.MOVING and not planner.view.lying_down
    assert str(planner.request_pose(BodyPose(z=0.01))) == "ignored while moving: stand up first"
    assert str(planner.move_joints(planner.view.joint_angles)) == "ignored while moving: wait until the robot rests"
    for _ in range(20):
        planner.step(DT)
    sits = planner.copy()
    assert sits.sit() is None and not sits.view.changing_legs
    feet = planner.step(DT).planted
    while all(feet):  # the leg begins to move
        feet = planner.step(DT).planted
    ignored = "ignored while a leg is being folded or unfolded: wait until that is done"
    assert str(planner.sit()) == str(planner.change_leg("left_rear", lost=True)) == ignored
    assert planner.stand() is None
    planner.change_settings(lift=0.5)
    planner.command(Twist(0.05, 0.0, 0.0))
    halted = planner.copy()
    halted.halt()
    for each, walks in ((planner, True), (halted, False)):
        for _ in ticks_of_change(each):
            pass
        assert each.view.lost_legs == ("left_front",)
        assert sum(each.step(DT).twist.vx for _ in range(50)) > 0.1 or not walks
        assert each.view.settings.lift == 0.5
        assert (each.state is RobotState.WALKING) == walks
    for _ in range(400):
        sits.step(DT)
    assert sits.state is RobotState.SITTING and sits.view.lost_legs == ()


def test_tables_of_the_remaining_legs_that_are_handed_over_are_used_if_they_are_those_of_the_request():
    planner, other = standing_planner("phantomx"), standing_planner("phantomx")
    first, second = (WalkingLegs.without(robot("phantomx"), frozenset({row})) for row in (0, 1))
    for each in (planner, other):  # by now, the tables of the second leg are the last computed ones
        assert each.change_leg("left_front", lost=True, remaining=first if each is planner else second) is None
        for _ in ticks_of_change(each):
            pass
        assert each.view.lost_legs == ("left_front",)
    assert planner.capabilities is first.capabilities and other.capabilities is not second.capabilities


def test_a_leg_is_not_changed_while_the_pose_is_unknown_or_the_robot_rises():
    unknown = Planner(robot("phantomx"))
    assert "no joint_states" in str(unknown.change_leg("left_front", lost=True))
    unknown.set_measured_joints(unknown.view.lying_joints)
    unknown.stand()
    unknown.step(DT)
    assert str(unknown.change_leg("left_front", lost=True)) == "ignored while rising: wait until the robot rests"


@pytest.mark.parametrize("name", ROBOTS)
def test_the_robot_without_a_leg_has_the_mass_of_the_whole_one_with_the_leg_folded(name):
    whole = robot(name)
    legs = WalkingLegs.without(whole, frozenset({0}))
    rest = legs.capabilities.robot
    joints = tuple((0.1 * k, 0.2, -1.0) for k in range(5))
    assert rest.mass == pytest.approx(whole.mass)
    assert center_of_mass(rest, joints) == pytest.approx(center_of_mass(whole, legs.completed(joints, legs.folded)))


def test_renaming_and_permuting_the_legs_changes_nothing_of_the_walk_on_five_legs():
    whole = robot("phantomx")
    order = (4, 2, 0, 5, 3, 1)
    other = replace(whole, legs=tuple(replace(whole.legs[row], name=f"leg{row}") for row in order))
    lost = 0
    found = WalkingLegs.without(other, frozenset({order.index(lost)})).capabilities
    expected = WalkingLegs.without(whole, frozenset({lost})).capabilities
    assert found.robot.walk.gait == expected.robot.walk.gait
    for leg in found.robot.legs:
        (same,) = (each for each in expected.robot.legs if leg.name == f"leg{whole.leg_names.index(each.name)}")
        assert leg.foothold == pytest.approx(same.foothold, abs=1e-9)
