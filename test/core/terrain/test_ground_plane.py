# SPDX-License-Identifier: Apache-2.0
"""Ground about the robot that is one plane, level or a slope, is told from steps, blocks and edges."""

import math

import numpy as np
import pytest

from hexapod_control.core.terrain.ground_view import EVEN, GroundView, plane_around
from hexapod_control.core.terrain.height_map import TerrainGrid

LEVEL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
CELL, HALF, RADIUS = 0.015, 0.6, 0.35  # [m]
NOISE = 0.0015  # [m] of a cell


def grid(height, seed):
    """A map of the heights that a function of x and y [m] gives, with noise, of which a third is unknown."""
    rng = np.random.default_rng(seed)
    axis = np.arange(-HALF, HALF, CELL)
    heights = height(*np.meshgrid(axis, axis)) + rng.normal(0.0, NOISE, (len(axis), len(axis)))
    heights[rng.random(heights.shape) < 1.0 / 3.0] = math.nan
    return TerrainGrid((-HALF, -HALF), CELL, heights, heights, heights, 0.0)


def slope(degrees, direction):
    return lambda x, y: math.tan(math.radians(degrees)) * (x * math.cos(direction) + y * math.sin(direction))


@pytest.mark.parametrize("degrees", [0.0, 15.0, 30.0])
def test_a_slope_in_any_direction_is_a_plane_and_its_places_are_even(degrees):
    for seed, direction in enumerate(np.linspace(-math.pi, math.pi, 7)):
        height = slope(degrees, direction)
        seen = grid(height, seed)
        plane = plane_around(seen, (0.05, -0.05), RADIUS)
        x, y = np.random.default_rng(seed).uniform(-0.3, 0.3, (2, 20))
        assert np.abs(plane.above(x, y, height(x, y))).max() < 0.5 * EVEN
        # Also for feet whose plane is tilted, as legs give way.
        view = GroundView(seen, LEVEL, (0.0, 0.0, 0.02), plane=plane)
        z = height(x, y)
        assert view.is_even(x, y, z, np.full(20, 0.015), free=True)
        assert not view.is_even(x, y, z + 0.01, np.full(20, 0.015), free=True)
        assert not view.is_even(x, y, z, np.full(20, 0.03), free=True)
        assert not view.is_even(x, y, z, np.full(20, 0.015), free=False)


@pytest.mark.parametrize(
    "height",
    [
        lambda x, y: 0.07 * (x > 0.05),
        lambda x, y: -0.25 * (y < -0.2),
        lambda x, y: 0.04 * ((np.floor(x / 0.1) + np.floor(y / 0.1)) % 2),
        lambda x, y: math.tan(math.radians(30.0)) * np.maximum(x, 0.0),
    ],
    ids=["step", "edge", "blocks", "begin of a ramp"],
)
def test_other_ground_is_no_plane(height):
    assert plane_around(grid(height, 1), (0.0, 0.0), RADIUS) is None


def test_hardly_any_ground_is_no_plane():
    seen = grid(slope(0.0, 0.0), 2)
    assert plane_around(seen, (HALF + RADIUS - 0.05, 0.0), RADIUS) is None
