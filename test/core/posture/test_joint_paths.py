# SPDX-License-Identifier: Apache-2.0
"""Paths in joint space: they reach the goal, leg by leg if needed, and keep the legs apart."""

import random
from itertools import pairwise

import pytest
from support.drives import ROBOTS, random_joints, robot
from support.suite.soak import some

from hexapod_control.core.kinematics.leg_clearance import LegNeighbours
from hexapod_control.core.posture.joint_paths import find_path

PATH_GAP_M = 0.004  # between legs on a path, if there is one


def min_gap(machine, path):
    """Minimum gap [m] along the path through these waypoints."""
    ring, gaps = LegNeighbours.of(machine), []
    for a, b in pairwise(path):
        for k in range(61):
            here = [tuple(p + k / 60 * (q - p) for p, q in zip(*legs, strict=True)) for legs in zip(a, b, strict=True)]
            gaps.append(ring.gap(here).distance)
    return min(gaps)


def random_clear_joints(machine, rng):
    """Random joint angles with which the legs do not touch."""
    ring = LegNeighbours.of(machine)
    return next(row for row in iter(lambda: random_joints(machine, rng), None) if ring.gap(row).distance > PATH_GAP_M)


@pytest.mark.parametrize("name", some(ROBOTS, "phantomx"))
def test_a_path_ends_at_its_goal_and_keeps_legs_apart_that_are_apart_at_its_ends(name):
    machine, rng, lengths, gaps = robot(name), random.Random(1), [], []
    for _ in range(100):
        start, goal = random_clear_joints(machine, rng), random_clear_joints(machine, rng)
        path = find_path(machine, start, goal)
        assert path[-1] == goal
        lengths.append(len(path))
        gaps.append(min_gap(machine, (start, *path)))
        if min_gap(machine, (start, goal)) >= PATH_GAP_M:
            assert path == (goal,)
    assert 80 < lengths.count(1) < 100  # the others are detours
    # Legs may come nearer between two samples, and not every pair of poses has a path: then the limiter holds.
    assert sum(gap >= PATH_GAP_M - 0.0012 for gap in gaps) >= 98


@pytest.mark.parametrize("name", ROBOTS)
def test_the_straight_path_is_taken_wherever_it_comes_no_nearer_than_its_ends(name):
    machine, rng = robot(name), random.Random(2)
    for _ in range(20):
        row = random_joints(machine, rng)
        assert find_path(machine, row, row) == (row,)
