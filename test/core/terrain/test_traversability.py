# SPDX-License-Identifier: Apache-2.0
"""Where a robot can walk: steps and slopes that it climbs are free, others are not, and unknown ground is neither."""

import math

import numpy as np
import pytest

from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.terrain.traversability import FREE, OCCUPIED, UNKNOWN, ClimbLimits, traversability

LIMITS = ClimbLimits(0.05, math.tan(math.radians(30.0)), 0.2)
X, Y = np.meshgrid(0.015 * np.arange(-50, 50), 0.015 * np.arange(-50, 50))


def costs(ground, ceiling=None):
    over = np.full_like(X, math.nan) if ceiling is None else ceiling
    return traversability(TerrainGrid((X[0, 0], Y[0, 0]), 0.015, ground, np.full_like(X, 0.003), over, 0.0), LIMITS)


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
