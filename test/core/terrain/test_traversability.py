# SPDX-License-Identifier: Apache-2.0
"""Where a robot can walk: steps and slopes that it climbs are free, others are not, and unknown ground is neither."""

import math

import numpy as np
import pytest

from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.terrain.traversability import (
    FREE,
    OCCUPIED,
    ROUGH_SPEED,
    UNKNOWN,
    ClimbLimits,
    speed_share,
    traversability,
)

LIMITS = ClimbLimits(0.05, math.tan(math.radians(30.0)), 0.2)
X, Y = np.meshgrid(0.015 * np.arange(-50, 50), 0.015 * np.arange(-50, 50))


def grid(ground, ceiling=None):
    over = np.full_like(X, math.nan) if ceiling is None else ceiling
    return TerrainGrid((X[0, 0], Y[0, 0]), 0.015, ground, np.full_like(X, 0.003), over, 0.0)


def costs(ground, ceiling=None):
    return traversability(grid(ground, ceiling), LIMITS)


def share(ground, at=(0.0, 0.0)):
    return speed_share(grid(ground), at, 0.3, LIMITS)


@pytest.mark.parametrize("axis", [X, Y])
def test_a_step_is_occupied_only_at_its_edge_and_only_if_it_is_too_high(axis):
    assert (costs(np.where(axis > 0.0, 0.04, 0.0)) == FREE).all()
    cost = costs(np.where(axis > 0.0, -0.06, 0.0))
    assert (cost[abs(axis) < 0.01] == OCCUPIED).all()
    assert (cost[abs(axis) > 0.06] == FREE).all()


@pytest.mark.parametrize(("degrees", "expected"), [(27.0, FREE), (-33.0, OCCUPIED)])
def test_a_slope_is_occupied_if_it_is_too_steep(degrees, expected):
    cost = costs(math.tan(math.radians(degrees)) * (0.6 * X + 0.8 * Y))
    assert (cost[20:-20, 20:-20] == expected).all()


def test_unknown_ground_is_unknown_and_a_low_ceiling_is_occupied():
    ground = np.where(abs(X) < 0.2, math.nan, 0.0)
    cost = costs(ground, np.where(Y > 0.1, 0.15, math.nan))
    assert (cost[abs(X) < 0.2] == UNKNOWN).all()
    assert (cost[(abs(X) > 0.2) & (Y > 0.11)] == OCCUPIED).all()
    assert (cost[(abs(X) > 0.2) & (Y < 0.0)] == FREE).all()


def test_even_ground_is_walked_on_at_full_speed_and_rougher_ground_more_slowly_down_to_a_limit():
    noise = np.random.default_rng(1).normal(0.0, 0.001, X.shape)
    unknown = np.full_like(X, math.nan)
    assert share(noise) == share(unknown) == share(np.where(X > 0.0, noise, unknown)) == 1.0
    blocks = np.random.default_rng(2).uniform(-1.0, 1.0, X.shape)[::10, ::10].repeat(10, 0).repeat(10, 1)
    shares = [share(height * blocks) for height in (0.005, 0.01, 0.02, 0.04, 0.1)]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.9 and shares[-1] == ROUGH_SPEED
    slopes = [share(math.tan(math.radians(degrees)) * (0.6 * X - 0.8 * Y)) for degrees in (5.0, 15.0, 25.0, 35.0)]
    assert slopes == sorted(slopes, reverse=True) and slopes[0] == 1.0 and slopes[-1] == ROUGH_SPEED


def test_a_step_slows_the_robot_from_where_its_feet_reach_it_on_and_no_longer_behind_it():
    stair = np.where(X > 0.35, LIMITS.step, 0.0)
    assert share(stair, (-0.1, 0.0)) == 1.0
    assert share(stair, (0.15, 0.0)) == share(stair, (0.35, 0.2)) == ROUGH_SPEED
    assert share(stair, (0.7, 0.0)) == 1.0
    assert share(stair, (50.0, 0.0)) == 1.0  # beyond the map
