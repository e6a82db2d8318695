# SPDX-License-Identifier: Apache-2.0
"""Trims of the feet, on a rigid body over six springs whose feet are too high or too low."""

import numpy as np
import pytest
from support.drives import DT, robot

from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.walking.load_sharing import HeldLoads, LegStiffness, LoadedTick, LoadSharing

MACHINE = robot("phantomx")
ROWS = tuple(range(len(MACHINE.legs)))
PLANNED = [3.4] * len(ROWS)  # [N]
STIFFNESS = LegStiffness.all_of(MACHINE)[0].stiffness
MOST = 0.12  # of the walk height
ALL = (1,) * len(ROWS)  # feet count
POSITIONS = np.column_stack((np.ones(len(ROWS)), MACHINE.footholds))
STANDING = np.array(standing_joints(MACHINE))
ACROSS = np.eye(len(ROWS)) - POSITIONS @ np.linalg.pinv(POSITIONS)  # what no tilt of the body takes up


def loads(low, sharing):
    """Loads [N] of feet that are too low by `low` [m] and have trims."""
    return np.maximum(PLANNED + STIFFNESS * ACROSS @ (low - np.array(sharing.heights)), 0.0).tolist()


def run(sharing, low, seconds, *, most=MOST, known=True, walking=False):
    """Heights [m] of all feet, tick by tick."""
    found = []
    for tick in range(round(seconds / DT)):
        phase = tick * DT / 0.9 % 1.0 if walking else None
        loaded = LoadedTick(ROWS, PLANNED, loads(low, sharing), ALL, phase, STANDING)
        sharing.step(DT, loaded if known else None, most)
        found.append(sharing.heights)
    return np.array(found)


@pytest.mark.parametrize("walking", [False, True])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_feet_that_are_too_high_or_too_low_come_to_bear_their_load_without_a_jump(seed, walking):
    low = 0.004 * np.random.default_rng(seed).standard_normal(len(ROWS))
    sharing = LoadSharing(MACHINE)
    heights = run(sharing, low, 12.0, walking=walking)
    assert np.abs(ACROSS @ (low - heights[-1])).max() < 0.0008
    assert np.abs(POSITIONS.T @ heights[-1]).max() < 0.001, "the body neither rises nor tilts"
    assert np.abs(np.diff(heights, axis=0)).max() <= 0.02 * DT + 1e-9


def exchanges(sharing, slopes, seconds, late=0.0):
    """Errors of height [m] in a walk whose tripods reach far and near in turn, on feet with wrong slopes.

    Feet that touch down bear less load, and those that lift off more, as if too high and too low by `late` [m].
    """
    legs = LegStiffness.all_of(MACHINE)
    found = []
    for tick in range(round(seconds / DT)):
        phase = tick * DT / 0.9 % 1.0
        sides = np.array([(-1) ** (row + (phase < 0.5)) for row in ROWS])
        bent = [(0.0, 0.0, 0.16 * side * out) for side, out in zip(sides, (1, 1, -1, 1, 1, -1), strict=True)]
        joints = STANDING + np.array(bent)
        farther = [leg.farther(femur, tibia) for leg, (_, femur, tibia) in zip(legs, joints, strict=True)]
        error = ACROSS @ (slopes * farther - np.array(sharing.heights) - np.multiply(sharing.slopes, farther))
        measured = (PLANNED + STIFFNESS * (error + ACROSS @ (late * sides))).tolist()
        counted = tuple(sides.tolist()) if phase % 0.5 < 0.12 else (0,) * len(ROWS)
        sharing.step(DT, LoadedTick(ROWS, PLANNED, measured, counted, phase, joints), MOST)
        found.append(error)
    return np.abs(found).max(axis=1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_feet_whose_ways_are_tilted_by_wrong_zeros_touch_down_and_lift_off_with_their_load(seed):
    slopes = np.random.default_rng(seed).uniform(-0.2, 0.2, len(ROWS))
    sharing = LoadSharing(MACHINE)
    errors = exchanges(sharing, slopes, 20.0)
    cycle = round(0.9 / DT)
    assert errors[-cycle:].max() < 0.5 * errors[:cycle].max(), "what late loads look like is left"
    assert np.abs(sharing.slopes).max() <= MOST


def test_loads_that_change_later_than_planned_tilt_no_way():
    sharing = LoadSharing(MACHINE)
    exchanges(sharing, np.zeros(len(ROWS)), 10.0, late=0.0003)
    assert np.abs(sharing.slopes).max() < 0.001


@pytest.mark.parametrize("first", [0.5, 0.98])
def test_loads_of_a_part_of_a_gait_cycle_change_nothing(first):
    sharing = LoadSharing(MACHINE)
    low = np.array([0.004, -0.004, 0.003, 0.0, -0.003, 0.0])
    for phase in np.arange(first, first + 0.97, DT / 0.9):
        sharing.step(DT, None, MOST)
        sharing.step(DT, LoadedTick(ROWS, PLANNED, loads(low, sharing), ALL, phase % 1.0, None), MOST)
    for phase in np.arange(first, first + 0.97, DT / 0.9):
        sharing.step(DT, LoadedTick(ROWS, PLANNED, loads(low, sharing), ALL, phase % 1.0, None), MOST)
        assert not any(sharing.heights)


def test_ticks_in_which_the_robot_hops_do_not_count_and_do_not_begin_the_gait_cycle_again():
    sharing = LoadSharing(MACHINE)
    low = np.array([0.004, -0.004, 0.003, 0.0, -0.003, 0.0])
    for tick in range(round(12.0 / DT)):
        measured = [0.0] * len(ROWS) if tick % 20 == 0 else loads(low, sharing)
        sharing.step(DT, LoadedTick(ROWS, PLANNED, measured, ALL, tick * DT / 0.9 % 1.0, None), MOST)
    assert np.abs(ACROSS @ (low - sharing.heights)).max() < 0.0008


def test_a_tilt_or_a_heavier_robot_is_no_error_of_a_foot_and_without_loads_nothing_changes():
    sharing = LoadSharing(MACHINE)
    assert not run(sharing, POSITIONS @ (0.002, 0.01, -0.01), 3.0).any()
    low = np.array([0.004, -0.004, 0.0, 0.0, 0.0, 0.0])
    assert not run(sharing, low, 3.0, known=False).any()
    assert not run(sharing, low, 3.0, most=0.0).any()
    run(sharing, 5.0 * low, 10.0)
    assert np.abs(sharing.heights).max() <= MOST * MACHINE.walk.height + 1e-9
    run(sharing, low, 3.0, most=0.0)
    assert not any(sharing.heights), "switched off, the trims end"


def test_published_joints_are_trimmed_and_measured_ones_are_what_was_planned():
    sharing = LoadSharing(MACHINE)
    run(sharing, np.array([0.004, -0.004, 0.003, 0.0, -0.003, 0.0]), 5.0)
    published = sharing.trimmed(STANDING)
    assert np.abs(published - STANDING)[:, (0, 2)].max() == 0.0 and np.abs(published - STANDING)[:, 1].max() > 0.005
    heights = forward(MACHINE, published)[:, 2] - forward(MACHINE, STANDING)[:, 2]
    exchanges(sharing, np.array([0.1, -0.1, 0.1, 0.05, 0.0, 0.0]), 10.0)
    assert np.abs(sharing.slopes).max() > 0.02
    planned = STANDING + np.array((0.1, 0.1, -0.3))
    published = sharing.trimmed(planned)
    moved = forward(MACHINE, published) - forward(MACHINE, planned)
    assert np.abs(moved[:, 2] - heights).max() > 0.0005, "it depends on the reach"
    assert sharing.without_trims(tuple(published.ravel().tolist())) == pytest.approx(planned.ravel(), abs=1e-5)


def test_legs_take_up_and_give_back_what_they_hold_without_a_jump_and_others_do_not_move():
    held = HeldLoads(MACHINE)
    goal = (0.02, -0.05, 0.03)
    found = [STANDING]
    for tick in range(100):
        held.step(DT, (1, 4) if tick < 50 else (), (goal, goal) if tick < 50 else ())
        found.append(held.applied(STANDING))
    moved = np.array(found) - STANDING
    assert moved[50, 1] == pytest.approx(goal, rel=1e-3) and moved[50, 4] == pytest.approx(goal, rel=1e-3)
    assert not moved[:, [0, 2, 3, 5]].any() and not moved[-1].any() and not held.active
    assert np.abs(np.diff(moved, axis=0)).max() < 0.65 * max(map(abs, goal)), "no target jumps"


def test_while_the_load_moves_from_leg_to_leg_what_they_hold_together_does_not_change():
    held = HeldLoads(MACHINE)
    goal = (0.02, -0.05, 0.03)
    for _ in range(50):
        held.step(DT, (0, 2, 4), (goal,) * 3)
    for _ in range(50):
        held.step(DT, (1, 3, 5), (goal,) * 3)
        assert held.angles.sum(axis=0) == pytest.approx(3.0 * np.array(goal), rel=1e-3)
    assert held.angles[1] == pytest.approx(goal, rel=1e-3)
