# SPDX-License-Identifier: Apache-2.0
"""Properties of the gait table: phases follow from the hip positions, not from names or order of the legs."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from support.drives import DIRECTIONS, GAITS, ROBOTS, drive, fitting, robot, standing_planner
from support.robots.other_robots import around, in_rows, mirrored, reordered
from support.suite.soak import SOAK, cases

from hexapod_control.core.gait.gait_table import Gait, derived_gaits, leg_sides

STANDARD_ROWS = {  # of left front, middle, rear, right front, middle, rear, as the literature has them
    "tripod": (1 / 2, (0.0, 1 / 2, 0.0, 1 / 2, 0.0, 1 / 2)),
    "ripple": (2 / 3, (2 / 3, 1 / 3, 0.0, 1 / 6, 5 / 6, 1 / 2)),
    "tetrapod": (2 / 3, (0.0, 1 / 3, 2 / 3, 1 / 3, 2 / 3, 0.0)),
    "wave": (5 / 6, (1 / 3, 1 / 6, 0.0, 5 / 6, 2 / 3, 1 / 2)),
}
NAMES = {  # by legs on the left and on the right
    (2, 2): {"wave"},
    (3, 2): {"ripple", "wave"},
    (3, 3): set(STANDARD_ROWS),
    (4, 3): {"ripple", "wave"},
    (4, 4): {"tetrapod", "ripple", "wave"},
    (5, 5): {"alternating", "ripple", "wave"},
    (6, 6): {"alternating", "ripple", "wave"},
}
OTHERS = [in_rows(*rows) for rows in NAMES] + [around(n, first) for n in range(4, 13) for first in (0.0, 0.5)]


def shuffled(count: int, seed: int) -> list[int]:
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order


@pytest.mark.parametrize("name", ROBOTS)
def test_the_phase_offsets_of_six_legs_are_the_standard_ones(name):
    found = derived_gaits(robot(name))
    assert {gait: found[gait] for gait in STANDARD_ROWS} == {
        gait: Gait(gait, *row) for gait, row in STANDARD_ROWS.items()
    }


@pytest.mark.parametrize("counts", NAMES, ids=str)
def test_every_number_of_legs_has_its_standard_gaits(counts):
    assert set(derived_gaits(in_rows(*counts))) & {name for names in NAMES.values() for name in names} == NAMES[counts]


def test_fewer_than_four_legs_are_refused():
    with pytest.raises(ValueError, match="at least 4 legs"):
        derived_gaits(replace(robot("phantomx"), legs=robot("phantomx").legs[:3]))


@pytest.mark.parametrize("machine", [*map(robot, ROBOTS), *OTHERS], ids=lambda m: f"{m.name}-{len(m.legs)}")
def test_the_phase_of_a_leg_does_not_depend_on_its_name_or_row(machine):
    order, rows = shuffled(len(machine.legs), 1), derived_gaits(machine)
    for name, row in derived_gaits(reordered(machine, order)).items():
        assert row == Gait(name, rows[name].duty_factor, tuple(rows[name].lift_off[old] for old in order))


@pytest.mark.parametrize("machine", OTHERS, ids=lambda m: str(len(m.legs)))
def test_neighbours_around_the_body_never_swing_together_and_lift_offs_are_spread_over_the_cycle(machine):
    legs = sorted(range(len(machine.legs)), key=lambda k: math.atan2(*machine.legs[k].foothold[::-1]))
    for row in derived_gaits(machine).values():
        air = 1.0 - row.duty_factor
        if row.name != "ripple":
            for a, b in zip(legs, legs[1:] + legs[:1], strict=True):
                apart = abs(row.lift_off[a] - row.lift_off[b])
                assert min(apart, 1.0 - apart) >= air - 1e-12
        counts = [len(row.legs_in_swing((k + 0.5) / 840)) for k in range(840)]
        assert max(counts) <= math.ceil(len(legs) * air - 1e-9)


@pytest.mark.parametrize("counts", NAMES, ids=str)
def test_the_mirror_image_of_a_robot_has_mirrored_gaits(counts):
    """The same phases, all later by some part of the cycle.

    Not where legs across the body do not alternate, as in the tetrapod of six legs: they lift off from left to right.
    """
    machine = in_rows(*counts)
    image = derived_gaits(mirrored(machine))
    for name, row in derived_gaits(machine).items():
        pairs = zip(*leg_sides(machine.legs), strict=False)
        apart = [(row.lift_off[left] - row.lift_off[right]) % 1.0 for left, right in pairs]
        if counts[0] != counts[1] or apart == pytest.approx([0.5] * len(apart)):
            by = image[name].lift_off[0] - row.lift_off[0]
            assert image[name].lift_off == pytest.approx([(phase + by) % 1.0 for phase in row.lift_off], abs=1e-12)


@pytest.mark.parametrize(("name", "gait"), cases(ROBOTS if SOAK else ROBOTS[1:], GAITS))
def test_names_and_order_of_the_legs_change_no_foot_trajectory(name, gait):
    machine = robot(name)
    order = shuffled(6, 2)
    usual, other = standing_planner(machine, gait), standing_planner(reordered(machine, order), gait)
    twist = fitting(usual, DIRECTIONS["arc"], 0.8, gait)
    for a, b in zip(drive(usual, twist, 3.0), drive(other, twist, 3.0), strict=True):
        assert np.allclose(b.contacts, a.contacts[order], rtol=0.0, atol=1e-9)
        assert np.allclose(b.joint_angles, a.joint_angles[order], rtol=0.0, atol=1e-7)
        assert b.planted == tuple(a.planted[old] for old in order)


@pytest.mark.parametrize("first", [0.0, 1e-9, -1e-9])
def test_a_leg_straight_ahead_is_the_first_on_the_left_also_with_rounding_errors(first):
    assert leg_sides(around(5, first).legs) == ([0, 1, 2], [4, 3])
    assert leg_sides(around(7, first).legs) == ([0, 1, 2, 3], [6, 5, 4])
    assert leg_sides(in_rows(3, 2).legs) == ([0, 1, 2], [3, 4])
    order = (3, 1, 4, 0, 2)
    left, right = leg_sides(reordered(around(5, first), order).legs)
    assert ([order[row] for row in left], [order[row] for row in right]) == ([0, 1, 2], [4, 3])
