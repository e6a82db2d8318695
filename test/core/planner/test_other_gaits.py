# SPDX-License-Identifier: Apache-2.0
"""A gait that a robot gets while it runs: it is offered and walked, and the change moves nothing by itself."""

from dataclasses import replace

import numpy as np
import pytest
from support.drives import DT, drive, robot, standing_planner

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.robot import GaitRow

STROLL = GaitRow("stroll", 0.7, (0.0, 0.333, 0.667, 0.333, 0.667, 0.0))
MAX_TICKS = 300  # until a walking robot rests


@pytest.fixture(scope="module")
def tables():
    """The tables of phantomx with another gait."""
    return WalkingLegs.without(replace(robot("phantomx"), gaits=(STROLL,)), frozenset())


def walks_in_it(planner):
    assert planner.change_gait("stroll") is None
    list(drive(planner, Twist(0.03, 0.0, 0.0), 2.0))
    assert planner.view.active_gait == "stroll"
    assert planner.step(DT).twist.vx == pytest.approx(0.03)


def test_a_standing_robot_does_not_move_when_it_gets_a_gait_and_then_walks_in_it(tables):
    planner = standing_planner("phantomx")
    before = planner.step(DT).joint_angles
    assert planner.change_gaits(tables) is None
    for _ in range(5):
        np.testing.assert_allclose(planner.step(DT).joint_angles, before, atol=1e-9)
    assert planner.state is RobotState.STANDING
    walks_in_it(planner)


def test_a_walking_robot_comes_to_rest_for_a_gait_and_goes_on(tables):
    planner, command = standing_planner("phantomx"), Twist(0.05, 0.0, 0.0)
    list(drive(planner, command, 2.0))
    assert planner.change_gaits(tables) is None
    twists = [planner.step(DT).twist for _ in range(MAX_TICKS)]
    assert ZERO in twists
    assert twists[-1].vx == pytest.approx(command.vx)
    walks_in_it(planner)


def test_a_robot_without_torque_gets_a_gait_before_it_stands_up(tables):
    planner = Planner(robot("phantomx"))
    assert planner.change_gaits(tables) is None
    planner.set_measured_joints(np.array(planner.capabilities.standing_joints))
    while planner.state is not RobotState.STANDING:
        planner.step(DT)
    walks_in_it(planner)


def test_a_robot_with_a_lost_leg_refuses_other_gaits(tables):
    planner = standing_planner("phantomx")
    assert planner.change_leg("left_front", lost=True) is None
    while planner.view.changing_legs:
        planner.step(DT)
    assert "while a leg is lost" in str(planner.change_gaits(tables))
