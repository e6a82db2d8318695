# SPDX-License-Identifier: Apache-2.0
"""Changing the gait while walking: no stop, no jump, always stable."""

import itertools
import math
from functools import cache

import numpy as np
import pytest
from support.drives import (
    DIRECTIONS,
    DT,
    GAITS,
    drive,
    fitting,
    robot,
    standing_planner,
)
from support.suite.soak import SOAK

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.workspace.robot_gaits import gaits

PHASES = 100 if SOAK else 2
CHANGES = [  # every pair of gaits, there and back, in all directions or (a slice) each change in one of them
    (direction, *change)
    for row, pair in enumerate(itertools.combinations(GAITS, 2))
    for column, direction in enumerate(("straight", "strafe", "arc", "on the spot"))
    for change in (pair, pair[::-1])
    if SOAK or column == row % 4
]
LEAST_MARGIN_M = 0.04  # of phantomx, also in a change
MAX_INCREASE = 1.3  # of foot speeds and their changes, over those of both steady gaits
MIN_SPEED_SHARE = 0.98  # share of the commanded speed that must remain, in the worst pair of gaits and phase
MAX_CHANGE_S = 2.5  # until the new gait is reached


def steady(planner: Planner, command: Twist) -> tuple[float, float]:
    """Greatest foot speed [m/s] and change of foot velocity per tick [m/s] over two cycles."""
    velocities = np.array([plan.feet_velocity for plan in drive(planner, command, 2.0 * cycle_time(planner))])
    return np.linalg.norm(velocities, axis=2).max(), np.abs(np.diff(velocities, axis=0)).max()


def cycle_time(planner: Planner) -> float:
    """Cycle time [s] of the active gait."""
    return planner.capabilities.gaits[planner.view.active_gait].cycle * planner.robot.walk.swing_time


@cache
def cruising(gait: str, command: Twist) -> tuple[Planner, float, float]:
    """A planner that walks steadily, with its `steady` figures; step only copies of it."""
    planner = standing_planner("phantomx", gait)
    list(drive(planner, command, 2.0 + 2.0 * cycle_time(planner)))
    return planner, *steady(planner.copy(), command)


@pytest.mark.parametrize(("direction", "old", "new"), CHANGES)
def test_soak_of_gait_changes_at_any_phase_keeps_speed_support_and_smooth_feet(direction, old, new):
    for phase in range(PHASES):
        changes_smoothly(direction, old, new, phase / PHASES)


@pytest.mark.parametrize("new", ["tripod", "tetrapod"])
def test_a_foot_just_before_its_lift_off_does_not_slow_the_body_down_in_a_change(new):
    changes_smoothly("on the spot", "ripple", new, 0.43)


def changes_smoothly(direction: str, old: str, new: str, phase: float) -> None:
    """Walks, changes the gait at a phase (0 to 1), and checks speed, support and feet until a second after it."""
    name = "phantomx"
    command = fitting(standing_planner(name, old), DIRECTIONS[direction], 0.8, old, new)
    walking, *figures = cruising(old, command)
    speeds, jumps = zip(figures, cruising(new, command)[1:], strict=True)
    planner = walking.copy()
    velocities = [plan.feet_velocity for plan in drive(planner, command, phase * cycle_time(walking))][-1:]
    assert planner.change_gait(new) is None
    left = None  # ticks to go on for after the change
    for plan in drive(planner, command, MAX_CHANGE_S + 1.0):
        if left is None and planner.view.active_gait == new:
            left = round(1.0 / DT)
        assert plan.unreached is None and sum(plan.planted) >= 3 and plan.margin > LEAST_MARGIN_M
        assert math.dist(plan.twist, ZERO) >= MIN_SPEED_SHARE * math.dist(command, ZERO)
        velocities.append(plan.feet_velocity)
        if left is not None:
            left -= 1
        if left == 0:
            break
    assert left == 0
    assert np.linalg.norm(velocities, axis=2).max() <= MAX_INCREASE * max(speeds)
    assert np.abs(np.diff(velocities, axis=0)).max() <= MAX_INCREASE * max(jumps)


def test_a_gait_change_at_rest_is_immediate_and_unknown_gaits_are_refused_with_the_list():
    planner = standing_planner("phantomx", "tripod")
    assert planner.change_gait("wave") is None
    planner.step(DT)
    assert planner.view.active_gait == "wave"
    assert str(planner.change_gait("gallop")) == f"unknown gait 'gallop'; known: {', '.join(GAITS)}, auto"


def test_a_gait_that_cannot_keep_the_speed_is_entered_after_ramping_down():
    planner = standing_planner("phantomx", "tripod")
    list(drive(planner, Twist(0.12, 0.0, 0.0), 4.0))
    planner.change_gait("wave")
    plans = list(drive(planner, Twist(0.12, 0.0, 0.0), 8.0))
    assert planner.view.active_gait == "wave"
    top = planner.view.maxima().vx
    assert plans[-1].twist.vx == pytest.approx(top, rel=1e-6)
    assert all(plan.margin > LEAST_MARGIN_M and plan.unreached is None for plan in plans)
    assert all(b.twist.vx <= a.twist.vx + 1e-9 for a, b in itertools.pairwise(plans[:50]))


@pytest.mark.parametrize("gait", GAITS)
def test_every_leg_lifts_off_once_per_cycle_at_its_phase_for_any_step(gait):
    row = gaits(robot("phantomx"))[gait]
    rng = np.random.default_rng(1)
    clock, time, flight = GaitClock(row), 0.0, [0.0] * 6
    lifted: list[list[float]] = [[] for _ in range(6)]
    while time < 5.5 * row.cycle:
        step = rng.uniform(0.001, 0.2)
        for leg, since in clock.advance(step, flight):
            lifted[leg].append(time + step - since)
            flight[leg] = 1.0 - since + step
        flight = [max(0.0, left - step) for left in flight]
        time += step
    for leg, times in enumerate(lifted):
        expected = [(row.lift_off[leg] + k) * row.cycle for k in range(len(times))]
        assert times == pytest.approx(expected, abs=1e-9) and len(times) >= 5
