# SPDX-License-Identifier: Apache-2.0
"""Legs of a walking robot that block each other: feet in the air return to their neutral footholds."""

import cmath
import itertools
import math
import random
from dataclasses import replace

import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.config.robots.foothold_choice import with_footholds
from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.walking import guided_legs
from hexapod_control.core.walking.foot import Foot, Swing
from hexapod_control.core.workspace.stance_regions import nominal_stance, reaches

HIP_DISTANCE_SHARE = 0.1  # of the distances between the hips of phantomx: its legs can reach each other
MAX_BLOCKED_TICKS = 26  # half a second, and the tick after it
RETURN_S = 4.0  # for feet to return to their footholds


@pytest.fixture(scope="module")
def blocked():
    """A planner whose legs have just blocked each other in a random drive, not only for a moment."""
    machine = robot("phantomx")
    legs = (
        replace(leg, hip=(HIP_DISTANCE_SHARE * leg.hip[0], HIP_DISTANCE_SHARE * leg.hip[1], leg.hip[2]))
        for leg in machine.legs
    )
    machine = with_footholds(replace(machine, name="close_hips", legs=tuple(legs)), range(6))
    planner, rng = standing_planner(machine, "tripod"), random.Random(1)
    top = [planner.capabilities.fastest(Twist(*axis), ["tripod"]) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    for _ in range(60):
        shares = [rng.uniform(-1.0, 1.0) for _ in range(3)]
        planner.command(Twist(top[0].vx * shares[0], top[1].vy * shares[1], top[2].wz * shares[2]))
        for _ in range(75):
            if planner.step(DT).blocked and RobotState.MOVING in {plan.state for plan in plans(planner.copy(), 0.6)}:
                return planner
    raise AssertionError("the legs of this robot never block each other")


def plans(planner, seconds):
    return [planner.step(DT) for _ in range(round(seconds / DT))]


@pytest.mark.parametrize("command", [None, ZERO])
def test_feet_in_the_air_come_down_whether_the_command_goes_on_or_ends(blocked, command):
    planner = blocked.copy()
    if command is not None:
        planner.command(command)
    seen = plans(planner, RETURN_S)
    assert 0 < sum(plan.blocked is not None for plan in seen[: MAX_BLOCKED_TICKS + 1]) <= MAX_BLOCKED_TICKS
    assert RobotState.MOVING in {plan.state for plan in seen}
    assert any(all(plan.planted) for plan in seen)
    for before, after in itertools.pairwise(seen):
        if before.state is after.state is RobotState.MOVING:
            assert after.twist == ZERO  # planted feet stay where they are


@pytest.mark.parametrize("halted", [False, True])
def test_after_a_stop_the_robot_stands_on_all_feet_and_walks_on_command(blocked, halted):
    planner = blocked.copy()
    planner.command(ZERO)
    if halted:
        planner.halt()
    last = plans(planner, 2.0 * RETURN_S)[-1]
    assert last.state is RobotState.STANDING and all(last.planted) and last.blocked is None
    planner.command(Twist(0.05, 0.0, 0.0))
    assert plans(planner, 3.0)[-1].twist == Twist(0.05, 0.0, 0.0)


def test_a_robot_whose_legs_have_blocked_each_other_sits_down(blocked):
    planner = blocked.copy()
    assert planner.sit() is None
    assert plans(planner, 12.0)[-1].state is RobotState.SITTING


# --- the feet alone ---


@pytest.fixture
def feet():
    """Phantomx and its feet at their footholds, the first one swinging at a place nearer to the second leg."""
    machine = robot("phantomx")
    found = [Foot(*leg.foothold) for leg in machine.legs]
    first, second = (complex(*leg.foothold) for leg in machine.legs[:2])
    near = 0.7 * first + 0.3 * second
    found[0] = Foot(near.real, near.imag, 0.01, Swing(0.5, 1.0, 0.03))
    return machine, found


def separated(machine, found):
    """The path of the first foot after it was blocked by the second leg."""
    stance = nominal_stance(machine)
    guided_legs.separate(machine, found, (0, 1), stance, Placement(NEUTRAL, machine.walk.height))
    return found[0].state.path


def test_a_blocked_foot_swings_away_from_the_other_leg_and_goes_on_to_its_foothold(feet):
    machine, found = feet
    before = found[0].at
    aside, above, down = separated(machine, found)
    assert above[:2] == down[:2] == machine.legs[0].foothold and down[2] == 0.0 < aside[2] == above[2]
    assert math.dist(aside[:2], before[:2]) == pytest.approx(0.03, rel=0.02)
    other = machine.legs[1].foothold
    assert math.dist(aside[:2], other) > math.dist(before[:2], other) + 0.02
    assert all(foot.state.planted for foot in found[1:])


def test_a_foot_that_is_blocked_again_on_this_way_lands_beside_the_other_leg_whatever_is_commanded(feet):
    machine, found = feet
    first = separated(machine, found)
    found[0].z = first[1][2]
    again = separated(machine, found)
    aside, down = again
    assert aside[:2] == down[:2] == pytest.approx(first[0][:2]) and down[2] == 0.0
    assert aside[2] > first[0][2]
    guided_legs.return_to_footholds(found, nominal_stance(machine))
    assert found[0].state.path == again


def test_a_foot_swings_only_as_far_aside_as_its_leg_reaches(feet):
    machine, found = feet
    leg = machine.legs[0]
    angle = cmath.phase(complex(found[0].x - leg.hip[0], found[0].y - leg.hip[1])) - leg.hip_yaw
    for name, limited in (("lower", angle - 0.1), ("upper", angle + 0.1)):
        joint = replace(leg.coxa_joint, **{name: limited})
        narrow = replace(machine, legs=(replace(leg, coxa_joint=joint), *machine.legs[1:]))
        aside, *_ = separated(narrow, [replace(foot) for foot in found])
        assert math.dist(aside[:2], found[0].at[:2]) <= 0.0301
        placement = Placement(NEUTRAL, machine.walk.height)
        assert reaches(narrow.legs[0], narrow, aside[:2], 0.0, placement)
