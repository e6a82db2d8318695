"""Legs of a walking robot that block each other: feet in the air return to their neutral footholds."""

import itertools
import random
from dataclasses import replace

import pytest
from support.drives import DT, robot, standing_planner

from hexapod_control.config.robots.rules.foothold_choice import with_footholds
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.tick_plan import RobotState

CLOSE = 0.3  # of the distances between the hips of phantomx: its legs can reach each other
MAX_BLOCKED_TICKS = 26  # half a second, and the tick after it
RETURN_S = 4.0  # for feet to return to their footholds


@pytest.fixture(scope="module")
def blocked():
    """A planner whose legs have just blocked each other in a random drive, and the plans so far."""
    machine = robot("phantomx")
    legs = (replace(leg, hip=(CLOSE * leg.hip[0], CLOSE * leg.hip[1], leg.hip[2])) for leg in machine.legs)
    machine = with_footholds(replace(machine, name="close_hips", legs=tuple(legs)), range(6))
    planner, rng = standing_planner(machine, "tripod"), random.Random(1)
    top = [planner.capabilities.fastest(Twist(*axis), ["tripod"]) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    for _ in range(60):
        shares = [rng.uniform(-1.0, 1.0) for _ in range(3)]
        planner.command(Twist(top[0].vx * shares[0], top[1].vy * shares[1], top[2].wz * shares[2]))
        for _ in range(75):
            if planner.step(DT).blocked:
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


def test_it_sits_down_from_there(blocked):
    planner = blocked.copy()
    assert planner.sit() == ""
    assert plans(planner, 12.0)[-1].state is RobotState.SITTING
