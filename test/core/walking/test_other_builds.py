# SPDX-License-Identifier: Apache-2.0
"""Robots of other builds than the shipped ones, from test/data/robots: top speeds, and legs that keep apart."""

import math
import random
from dataclasses import replace

import pytest
from support.drives import DT, drive, robot, standing_planner
from support.paths import DATA
from support.suite.soak import SOAK, some

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.workspace.capabilities import Capabilities

FILES = {path.stem: path for path in sorted((DATA / "robots").glob("*.yaml"))}
# Two that blocked themselves before take turns outside the soak.
STRAIGHT, CHANGED = some(FILES, "wide_6"), some(FILES, "rows_12")
AXES = (Twist(1.0, 0.0, 0.0), Twist(0.0, 1.0, 0.0), Twist(0.0, 0.0, 1.0))
# To reach a top speed, or to stand on all feet after legs have blocked each other.
SETTLING_TIME_S = 8.0 if SOAK else 4.0
REST_S = 20.0  # to return all feet to their neutral footholds: long legs stride far from them
MIN_GAP = 0.0025  # [m]


def planner_and_tops(name):
    """A standing robot in its fastest gait, and its top speeds along all axes in both directions."""
    machine = robot(str(FILES[name]))
    gait = Capabilities.of(machine).strides.gait.name
    planner = standing_planner(machine, gait)
    tops = [planner.capabilities.fastest(axis, [gait]) for axis in AXES]
    return planner, [*tops, *(top.scaled(-1.0) for top in tops)]


def drive_plans(planner, command):
    """The plans of a drive with one command; to rest until the robot stands."""
    planner.command(command)
    plans = []
    for _ in range(round((REST_S if command == ZERO else SETTLING_TIME_S) / DT)):
        plans.append(planner.step(DT))
        if command == ZERO and plans[-1].state is RobotState.STANDING:
            break
    return plans


@pytest.mark.parametrize("name", STRAIGHT)
def test_soak_of_builds_that_reach_their_top_speed_along_each_axis_without_legs_that_block_each_other(name):
    planner, tops = planner_and_tops(name)
    for top in tops:
        plans = drive_plans(planner, top)
        assert not any(plan.blocked for plan in plans)
        fastest = max(math.dist(plan.twist, ZERO) for plan in plans[len(plans) // 2 :])
        assert fastest == pytest.approx(math.dist(top, ZERO), rel=0.03)
        assert drive_plans(planner, ZERO)[-1].state is RobotState.STANDING


@pytest.mark.parametrize("name", CHANGED)
def test_soak_of_changes_between_top_speeds_in_which_legs_never_touch_and_that_end_walking_or_on_all_feet(name):
    planner, tops = planner_and_tops(name)
    for top in tops:
        plans = drive_plans(planner, top)
        assert min(plan.gap for plan in plans if not math.isnan(plan.gap)) > MIN_GAP
        assert plans[-1].state is RobotState.WALKING or all(plans[-1].planted)
    assert drive_plans(planner, ZERO)[-1].state is RobotState.STANDING


@pytest.mark.parametrize("seed", [1, 2])
def test_a_robot_with_its_center_of_mass_far_to_one_end_starts_and_walks_with_a_static_margin_at_every_speed(seed):
    rng = random.Random(seed)
    machine = robot("article")
    center = (rng.choice((-1.0, 1.0)) * rng.uniform(0.055, 0.065), rng.uniform(-0.01, 0.01), 0.0)
    machine = replace(machine, body=replace(machine.body, center_of_mass=center))
    gait = Capabilities.of(machine).strides.gait
    assert Capabilities.of(machine).envelope.stride_shares[gait.name] < 1.0
    planner = standing_planner(machine, gait.name)
    for axis in (Twist(1.0, 0.0, 0.0), Twist(-1.0, 0.0, 0.0), Twist(0.0, 1.0, 0.0), Twist(0.0, 0.0, 1.0)):
        for share in (0.3, 0.7, 1.0):
            fitting = planner.capabilities.fastest(axis, [gait.name]).scaled(share)
            drive_plans(planner, ZERO)
            assert min(plan.margin for plan in drive(planner, fitting, 2.5)) > 0.0
            assert math.dist(planner.step(DT).twist, ZERO) >= 0.5 * math.dist(fitting, ZERO)
