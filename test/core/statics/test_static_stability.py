# SPDX-License-Identifier: Apache-2.0
"""Support polygon, center of mass and loads of the feet."""

import math
import random

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.statics.static_stability import (
    center_of_mass,
    convex_hull,
    direction_inwards,
    foot_loads,
    static_margin,
    weight_on_ground,
)

SQUARE = [(1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0)]


def test_the_margin_is_the_distance_to_the_nearest_edge_and_negative_outside():
    assert static_margin(SQUARE, (0.0, 0.0)) == pytest.approx(1.0)
    assert static_margin(SQUARE, (0.7, 0.2)) == pytest.approx(0.3)
    assert static_margin(SQUARE, (1.5, 0.0)) == pytest.approx(-0.5)
    assert static_margin([*SQUARE, (0.2, 0.1)], (0.0, 0.0)) == pytest.approx(1.0)  # a foot inside changes nothing
    assert static_margin(SQUARE[:2], (0.0, 0.0)) == -math.inf
    assert static_margin([(0.0, 0.0), (1.0, 0.0), (2.0, 0.0)], (1.0, 0.0)) == -math.inf


def test_the_hull_contains_every_point_and_turns_left_everywhere():
    rng = random.Random(1)
    for _ in range(100):
        points = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(rng.randrange(3, 9))]
        corners = convex_hull(points)
        assert all(static_margin(corners, p) >= -1e-12 for p in points)


@pytest.mark.parametrize("name", ROBOTS)
def test_on_a_slope_the_weight_meets_the_ground_downhill_by_its_height_and_the_slope(name):
    machine = robot(name)
    joints = standing_joints(machine)
    placement = Placement(NEUTRAL, machine.walk.height)
    x, y, z = placement.to_footprint(*center_of_mass(machine, joints))
    assert weight_on_ground(machine, joints, placement, None) == pytest.approx((x, y))
    up, across = (0.0, -0.4), (0.3, 0.0)  # nose up; the left side up
    assert weight_on_ground(machine, joints, placement, up) == pytest.approx((x - z * math.tan(0.4), y))
    assert weight_on_ground(machine, joints, placement, across) == pytest.approx((x, y - z * math.tan(0.3)))


@pytest.mark.parametrize("name", ROBOTS)
def test_the_center_of_mass_is_the_mean_of_all_segments_by_mass(name):
    machine, rng = robot(name), np.random.default_rng(2)
    rows = [tuple(rng.uniform(-1.0, 1.0, 3)) for _ in machine.legs]
    parts = [(machine.body.mass, np.array(machine.body.center_of_mass))]
    for leg, row in zip(machine.legs, rows, strict=True):
        knee, foot = (np.array(hip_to_base(leg, p)) for p in leg_forward(leg, row))
        c, s = math.cos(row[0]), math.sin(row[0])
        d, v = leg.femur_lateral, leg.femur_vertical
        end = np.array(hip_to_base(leg, (leg.coxa.length * c, leg.coxa.length * s, 0.0)))
        axis = np.array(hip_to_base(leg, (leg.coxa.length * c - d * s, leg.coxa.length * s + d * c, v)))
        hip = np.array(leg.hip)
        parts += [
            (leg.coxa.mass, (hip + end) / 2),
            (leg.femur.mass, (axis + knee) / 2),
            (leg.tibia.mass, (knee + foot) / 2),
        ]
    total = sum(m for m, _ in parts)
    assert total == pytest.approx(machine.mass)
    expected = sum(m * p for m, p in parts) / total
    assert center_of_mass(machine, rows) == pytest.approx(tuple(expected), abs=1e-12)


def test_foot_loads_add_up_to_the_weight_and_balance_about_the_center_of_mass():
    feet = [(0.2, 0.1), (-0.2, 0.15), (0.0, -0.2), (0.1, 0.3)]
    planted = [True, True, True, False]
    loads = foot_loads(feet, planted, (0.0, 0.0), 20.0)
    assert sum(loads) == pytest.approx(20.0) and loads[3] == 0.0
    for k in (0, 1):
        assert sum(f * p[k] for f, p in zip(loads, feet, strict=True)) == pytest.approx(0.0, abs=1e-9)
    assert foot_loads(feet, [False] * 4, (0.0, 0.0), 20.0) == [0.0] * 4
    assert min(foot_loads(feet, planted, (0.5, 0.5), 20.0)) == 0.0  # a foot never pulls


def test_moving_away_from_the_nearest_edge_raises_the_margin_by_that_distance():
    rng = np.random.default_rng(7)
    tried = 0
    for _ in range(400):
        feet = [tuple(row) for row in rng.uniform(-1.0, 1.0, (int(rng.integers(3, 7)), 2)).tolist()]
        x, y = rng.uniform(-0.5, 0.5, 2).tolist()
        margin = static_margin(feet, (x, y))
        dx, dy = direction_inwards(feet, (x, y))
        step = 1e-6
        if all(abs(static_margin(feet, (x + step * a, y + step * b)) - margin) <= step * 1.001 for a, b in UNITS):
            tried += 1
            assert math.hypot(dx, dy) == pytest.approx(1.0)
            gain = static_margin(feet, (x + step * dx, y + step * dy)) - margin
            assert gain == pytest.approx(step, rel=1e-3)
    assert tried > 300


UNITS = [(math.cos(k * math.tau / 16), math.sin(k * math.tau / 16)) for k in range(16)]


def test_feet_in_a_line_or_a_single_one_share_the_weight_evenly():
    in_a_line = [(0.1 * k, 0.0) for k in range(4)]
    assert foot_loads(in_a_line, [True, True, False, True], (0.05, 0.1), 12.0) == [4.0, 4.0, 0.0, 4.0]
    assert foot_loads(in_a_line, [False, False, True, False], (0.05, 0.1), 12.0) == [0.0, 0.0, 12.0, 0.0]


def test_foot_loads_do_not_depend_on_where_the_robot_stands():
    feet = [(0.2, 0.1), (-0.2, 0.15), (0.0, -0.2), (0.1, 0.3), (-0.1, 0.0)]
    for planted in ([True] * 5, [True, True, True, False, True]):
        here = foot_loads(feet, planted, (0.02, 0.03), 20.0)
        there = foot_loads([(x + 0.3, y - 0.7) for x, y in feet], planted, (0.32, -0.67), 20.0)
        assert (
            there == pytest.approx(here) and min(load for load, down in zip(here, planted, strict=True) if down) > 0.1
        )
        for axis, at in ((0, 0.02), (1, 0.03)):
            assert sum(load * foot[axis] for load, foot in zip(here, feet, strict=True)) == pytest.approx(20.0 * at)


def test_without_an_edge_there_is_no_direction_inwards():
    assert direction_inwards([], (0.1, 0.2)) == direction_inwards([(1.0, 1.0)], (0.1, 0.2)) == (0.0, 0.0)
