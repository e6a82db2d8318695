# SPDX-License-Identifier: Apache-2.0
"""With `economy: true` in its file a robot takes less power, and keeps gaits, margins and joint limits."""

from dataclasses import replace

import numpy as np
import pytest

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import changed, load
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.workspace.capabilities import FORWARD, Capabilities
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN
from hexapod_control.evaluation.robot_check.checks import walking_power
from hexapod_control.evaluation.robot_check.steady_walk import TICK_S, steady_walk

NAMES = ("article", "big_hex", "octopod", "phantomx")


def _both(name):
    return [changed(load(name), {"economy": economy}).robot for economy in (False, True)]


@pytest.mark.parametrize("name", NAMES)
def test_at_equal_speed_economy_takes_less_power_and_keeps_gaits_margins_and_most_of_the_speed(name):
    robots = _both(name)
    usual, economical = (Capabilities.of(robot) for robot in robots)
    gait = usual.selection().fastest.name
    top = usual.fastest(FORWARD, [gait])
    assert economical.gaits.keys() == usual.gaits.keys()
    assert economical.selection().fastest.name == gait
    assert economical.fastest(FORWARD, [gait]).vx >= 0.65 * top.vx
    assert economical.margin(gait) >= usual.margin(gait) - 0.001
    for share in (0.2, 0.4, 0.65):
        walk, slow = (steady_walk(robot, gait, top.scaled(share)) for robot in robots)
        assert walking_power(robots[1], slow) < walking_power(robots[0], walk)
        assert slow.margin >= min(walk.margin, usual.margin(gait) - 0.001, MIN_STRIDE_MARGIN)
        for leg, low, high in zip(robots[1].legs, slow.joints.min(axis=0), slow.joints.max(axis=0), strict=True):
            assert all(j.lower <= a and b <= j.upper for j, a, b in zip(leg.joints, low, high, strict=True))


@pytest.mark.parametrize("name", ["phantomx", "octopod"])
def test_a_robot_that_stands_as_its_file_says_moves_into_the_economical_stance_without_a_jump(name):
    usual, economical = _both(name)
    planner = Planner(economical)
    before = np.array(Capabilities.of(usual).standing_joints)
    planner.set_measured_joints(before)
    fastest = np.array([[joint.no_load_speed for joint in leg.joints] for leg in economical.legs])
    for _ in range(round(20.0 / TICK_S)):
        angles = planner.step(TICK_S).joint_angles
        if angles is not None:
            assert np.all(np.abs(angles - before) <= fastest * TICK_S)
            before = angles
    planner.stand()
    for _ in range(round(20.0 / TICK_S)):
        angles = planner.step(TICK_S).joint_angles
        assert np.all(np.abs(angles - before) <= fastest * TICK_S)
        before = angles
    assert planner.state is RobotState.STANDING
    assert before == pytest.approx(np.array(Capabilities.of(economical).standing_joints), abs=0.02)


def test_economy_changes_only_height_footholds_gait_and_step_time():
    usual, economical = _both("phantomx")
    assert economical.walk.tempo > 1.0 and economical.walk.gait == AUTO
    assert economical.walk.height > usual.walk.height
    legs = [replace(leg, foothold=old.foothold) for leg, old in zip(economical.legs, usual.legs, strict=True)]
    assert replace(economical, legs=tuple(legs), walk=usual.walk) == usual


def test_a_robot_with_four_legs_only_walks_with_slow_steps():
    usual, economical = _both("quadruped")
    assert replace(economical, walk=replace(economical.walk, tempo=1.0)) == usual


def test_economy_that_is_neither_true_nor_false_is_refused():
    with pytest.raises(RobotFileError, match=r"economy.*must be true or false"):
        changed(load("phantomx"), {"economy": "yes, please"})
