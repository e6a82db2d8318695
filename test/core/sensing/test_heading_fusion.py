# SPDX-License-Identifier: Apache-2.0
"""Heading from IMU and feet: every turn counts once, whichever source reports it first."""

import math

import pytest

from hexapod_control.core.sensing.odometry import HeadingFusion

PERIOD_S = 0.02


class Robot:
    """A robot that turns; `step` gives the fusion one joint sample and sums up the heading as odometry does."""

    def __init__(self):
        self.fusion = HeadingFusion()
        self.now, self.yaw, self.estimate = 10.0, 0.0, 0.0

    def step(self, turn, imu=None):
        self.now += PERIOD_S
        self.yaw += turn
        if imu is not None:
            self.fusion.take(self.now, imu)
        change = self.fusion.change(self.now)
        self.estimate += turn if change is None else change
        self.fusion.add_fitted_turn(turn)
        return change


def test_without_an_imu_the_feet_give_the_heading():
    robot = Robot()
    assert [robot.step(0.01) for _ in range(3)] == [None, None, None] and robot.fusion.lost
    robot.step(0.01, imu=0.0)
    assert not robot.fusion.lost


def test_the_first_heading_is_only_a_reference():
    robot = Robot()
    assert robot.step(0.01, imu=2.0) is None
    assert robot.step(0.01, imu=2.05) == pytest.approx(0.05)


def test_a_heading_that_passes_pi_is_a_small_change():
    robot = Robot()
    robot.step(0.0, imu=math.pi - 0.01)
    assert robot.step(0.0, imu=-math.pi + 0.01) == pytest.approx(0.02)


def test_a_slow_imu_counts_only_what_the_feet_have_not_reported_yet():
    """The IMU comes with every third joint sample and reports 10 % more turn than the feet: the IMU's turn counts."""
    robot = Robot()
    robot.step(0.0, imu=0.0)
    for step in range(1, 31):
        robot.step(0.01, imu=0.011 * step if step % 3 == 0 else None)
    assert robot.estimate == pytest.approx(0.33)


def test_an_imu_that_falls_silent_is_replaced_by_the_feet_without_a_jump():
    robot = Robot()
    for step in range(10):
        robot.step(0.01, imu=0.01 * step)
    for _ in range(30):
        robot.step(0.01)
    assert robot.estimate == pytest.approx(robot.yaw)
    assert robot.step(0.01, imu=5.0) is None  # a reference again


def test_a_heading_counts_for_a_fifth_of_a_second():
    fusion = HeadingFusion()
    fusion.take(0.0, 1.0)
    fusion.change(0.0)
    fusion.take(0.02, 1.1)
    assert fusion.change(0.02 + 0.2 - 1e-6) == pytest.approx(0.1) and not fusion.lost
    fusion.take(0.04, 1.2)
    assert fusion.change(0.04 + 0.2 + 1e-6) is None and fusion.lost


def test_a_heading_that_is_newer_than_the_joints_by_more_than_10_ms_waits_for_them():
    fusion = HeadingFusion()
    fusion.take(0.0, 1.0)
    fusion.change(0.0)
    fusion.take(0.031, 1.1)
    assert fusion.change(0.02) is None and not fusion.lost
    assert fusion.change(0.022) == pytest.approx(0.1)


def test_a_frozen_imu_is_noticed_and_the_turn_it_missed_is_added_once():
    robot = Robot()
    for _ in range(100):
        robot.step(0.005, imu=1.0)
    assert robot.fusion.frozen
    assert robot.estimate == pytest.approx(robot.yaw, abs=2.0 * 0.005)  # except for the turn during the detection


@pytest.mark.parametrize("turn", [0.019, -0.019])
def test_an_imu_is_frozen_once_the_feet_have_turned_by_more_than_a_tenth_of_a_radian(turn):
    robot, frozen = Robot(), []
    for _ in range(9):
        robot.step(turn, imu=1.0)
        frozen.append(robot.fusion.frozen)
    assert frozen == [False] * 6 + [True] * 3  # the turn of a sample is known in the next one


def test_an_imu_that_stands_still_with_the_robot_is_not_frozen():
    robot = Robot()
    turns = [0.0, 0.04, -0.04]
    for step in range(60):
        assert robot.step(turns[step % 3], imu=1.0) in (None, pytest.approx(0.0, abs=1e-12))
        assert not robot.fusion.frozen


def test_an_imu_that_moves_again_is_used_again():
    robot = Robot()
    for _ in range(40):
        robot.step(0.01, imu=1.0)
    assert robot.fusion.frozen
    robot.step(0.01, imu=1.01)
    assert not robot.fusion.frozen
    assert robot.step(0.01, imu=1.03) == pytest.approx(0.02)


def test_without_a_heading_nothing_is_frozen_lost_or_known():
    fusion = HeadingFusion()
    assert fusion.newest is None and not fusion.frozen and not fusion.lost
    fusion.take(1.0, 0.5)
    assert fusion.newest == (1.0, 0.5, (0.0, 0.0))
