# SPDX-License-Identifier: Apache-2.0
"""Course control: corrections of a walk by heading and measured joints, on a robot that turns and lags by itself."""

import math

import numpy as np
import pytest
from support.drives import DT, robot

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.steering.course_control import CourseControl, CourseSample, CourseState

MACHINE = robot("phantomx")
RADIUS = MACHINE.foothold_radius
CYCLE_S = 0.9
MOST = 0.15
DRIFT = math.radians(4.0)  # [rad/m] of the robot by itself
LOST = 0.05  # share of its way
AHEAD = Twist(0.1, 0.0, 0.0)


class Walk:
    """A robot that turns by DRIFT per metre and loses LOST of its way, yawing twice a cycle and swaying as planned."""

    def __init__(self, imu=True, joints=True, mirrored=False, phase=0.0, sway=0.0):
        self.control = CourseControl(MACHINE)
        self.imu, self.joints, self.mirrored = imu, joints, mirrored
        self.phase, self.sway = phase, sway
        self.yaw = self.way = 0.0
        self.changes = []

    def run(self, seconds, twist=AHEAD, *, by_hand=0.0, trusted=True, slipping=False, walking=True, most=MOST):
        """Walks for some seconds. Returns by how much the robot turned beyond its command [rad].

        Feet that slip make half of the way, and every tenth tick fewer than two of them stand.
        """
        control = self.control
        before = self.yaw
        for tick in range(round(seconds / DT)):
            shares, speed = control.shares, twist.foot_speed(RADIUS)
            turn = (twist.wz + (shares.wz + DRIFT) * speed + by_hand) * DT
            self.yaw += turn
            x = (twist.vx + shares.vx * speed) * (0.5 if slipping else 1.0 - LOST) * DT
            self.way += x
            aside = self.sway * math.sin(math.tau * self.phase)
            self.phase = (self.phase + DT / CYCLE_S) % 1.0
            aside = self.sway * math.sin(math.tau * self.phase) - aside
            wobble = math.radians(1.5) * math.sin(4.0 * math.pi * self.phase)
            heading = (self.yaw + wobble) * (-1.0 if self.mirrored else 1.0)
            known = self.joints and not (slipping and tick % 10 == 0)
            moved = Twist(x, twist.vy * DT + aside, turn) if known else None
            intended = Twist(twist.vx * DT, twist.vy * DT + aside, twist.wz * DT)
            seen = heading if self.imu else None
            sample = CourseSample(twist, intended, seen, moved, self.phase, "tripod", walking, trusted)
            control.step(DT, sample, most)
            self.changes.append(np.abs(np.subtract(control.shares, shares)).max())
        return self.yaw - before - twist.wz * seconds


@pytest.mark.parametrize("twist", [AHEAD, Twist(0.0, 0.1, 0.0), Twist(0.08, 0.0, 0.3), Twist(0.0, 0.0, 0.4)])
@pytest.mark.parametrize("imu", [True, False])
def test_the_walked_yaw_rate_becomes_the_commanded_one_without_a_jump(twist, imu):
    walk = Walk(imu=imu)
    walk.run(15.0, twist)
    way = twist.foot_speed(RADIUS) * 10.0
    most = math.radians(0.1 if imu else 0.8)
    assert abs(walk.run(10.0, twist)) / way < most, "it turned by 4 degrees per metre by itself"
    assert walk.control.state is CourseState.KEEPING
    assert max(walk.changes) < 0.02, "shares of the speed change over several ticks"


@pytest.mark.parametrize("phase", [0.0, 0.3, 0.5])
def test_the_turn_of_the_first_gait_cycle_counts_in_whatever_phase_the_walk_begins(phase):
    walk = Walk(phase=phase)
    walk.run(CYCLE_S + 0.3)
    assert walk.control.shares.wz < -0.5 * DRIFT
    walk.run(2.0)
    assert abs(walk.run(10.0)) < 0.15 * DRIFT


def test_a_way_that_joints_have_not_made_is_made_up():
    walk = Walk()
    walk.run(20.0)
    walk.way = 0.0
    walk.run(9.0)
    assert walk.way == pytest.approx(0.9, rel=0.006)


@pytest.mark.parametrize(("sway", "half"), [(0.0, 0.9), (0.03, 0.2)])
def test_lost_way_is_made_up_from_the_first_steps_on_and_on_another_course_at_once(sway, half):
    walk = Walk(sway=sway)
    walk.run(0.6 * CYCLE_S)
    assert half * LOST < walk.control.shares.vx < 1.1 * LOST, "while a body that sways hides the loss, less of it"
    walk.run(0.6 * CYCLE_S)
    walk.way = 0.0
    walk.run(1.0)
    assert walk.way == pytest.approx(0.1, rel=0.005)
    walk.run(10.0)
    walk.run(0.3, Twist(-0.1, 0.0, 0.0))
    assert walk.control.shares.vx == pytest.approx(-LOST, abs=0.015)


def test_a_speed_that_never_rests_does_not_keep_the_turn_from_being_taken_back():
    walk = Walk()
    for second in range(40):
        walk.run(0.4, AHEAD.scaled(1.0 if second % 2 else 0.7))
    assert walk.control.shares.wz < -0.5 * DRIFT


def test_without_heading_and_measured_joints_nothing_changes():
    walk = Walk(imu=False, joints=False)
    walk.run(10.0)
    assert walk.control.shares == ZERO and walk.control.state is CourseState.BLIND
    assert set(walk.changes) == {0.0}
    walk = Walk()
    walk.run(10.0, most=0.0)
    assert walk.control.shares == ZERO and walk.control.state is CourseState.OFF


def test_a_robot_that_is_turned_by_hand_keeps_its_new_heading():
    walk = Walk()
    walk.run(15.0)
    walk.run(2.0, by_hand=math.radians(30.0))
    assert abs(walk.run(10.0)) < math.radians(3.0), "it does not turn back by 60 degrees"


def test_a_walk_that_is_not_trusted_winds_nothing_up():
    walk = Walk()
    walk.run(15.0)
    learned = walk.control.shares
    walk.run(20.0, by_hand=0.1, trusted=False)
    assert walk.control.shares == pytest.approx(learned, abs=0.3 * DRIFT), "less what takes the heading error back"
    walk.run(20.0, by_hand=0.02)
    assert np.abs(np.multiply(walk.control.shares, (1.0, 1.0, RADIUS))).max() <= MOST + 1e-9


def test_a_robot_that_an_edge_turns_while_its_feet_slip_does_not_turn_against_it():
    walk = Walk()
    walk.run(15.0)
    learned = walk.control.shares
    walk.run(10.0, by_hand=0.04, slipping=True)
    assert walk.control.state is CourseState.WAITING
    assert walk.control.shares == pytest.approx(learned, abs=0.01)


def test_what_is_learned_is_kept_over_a_stop_and_forgotten_on_another_course():
    walk = Walk()
    walk.run(20.0)
    walk.run(1.0, ZERO, walking=False)
    assert abs(walk.run(3.0)) / 0.3 < math.radians(0.5)
    walk.run(1.0, Twist(-0.1, 0.0, 0.0))
    assert walk.control.state is CourseState.KEEPING


def test_a_heading_that_gets_worse_by_the_correction_is_given_up_until_the_robot_stands():
    walk = Walk(mirrored=True, joints=False)
    walk.run(60.0)
    assert walk.control.state is CourseState.DISTRUSTED and walk.control.shares == ZERO
    walk.run(1.0, ZERO, walking=False)
    assert walk.control.state is CourseState.STANDING
