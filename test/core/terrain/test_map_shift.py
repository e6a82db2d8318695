# SPDX-License-Identifier: Apache-2.0
"""A map that lies beside the ground, told by the heights of feet that touch down."""

import math

import numpy as np
import pytest

from hexapod_control.core.terrain.ground_view import GroundView
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.core.terrain.map_shift import COUNT, EVIDENCE, FITS, MapShift

CELL, HALF, BLOCK = 0.015, 1.5, 0.15  # [m]
AWAY = 0.02  # [m] from edges on the map, to which feet keep
LEVEL = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
SEEDS = range(8)


def touched(seed, shift, rise, count=4 * COUNT):
    """The greatest evidence of touch-downs on blocks of random height [m] whose map is shifted by (x, y) [m]."""
    rng = np.random.default_rng(seed)
    blocks = rng.uniform(-rise, rise, (40, 40))

    def ground(x, y):
        return blocks[np.floor(x / BLOCK + 20.0).astype(int), np.floor(y / BLOCK + 20.0).astype(int)]

    axis = np.arange(-HALF, HALF, CELL)
    x, y = np.meshgrid(axis, axis)
    heights = ground(x - shift[0], y - shift[1]) + rng.normal(0.0, 0.002, x.shape)
    unseen = np.full_like(heights, math.nan)
    grid = TerrainGrid((-HALF, -HALF), CELL, heights, np.full_like(heights, 0.002), unseen, 0.0)
    view = GroundView(grid, LEVEL, (0.0, 0.0, 0.0))
    judge = MapShift()
    most = 0.0
    places = rng.uniform(-0.8, 0.8, (8 * count, 2))
    inside = np.abs((places - np.array(shift)) % BLOCK - 0.5 * BLOCK).max(axis=1) < 0.5 * BLOCK - AWAY  # on the map
    for place in places[inside][:count]:
        judge.touch(view, (*place, float(ground(*place)) + rng.normal(0.0, 0.004)))
        most = max(most, judge.evidence)
    return most


@pytest.mark.parametrize("seed", SEEDS)
def test_a_map_of_blocks_that_fits_is_no_shifted_one(seed):
    assert touched(seed, (0.0, 0.0), 0.03) <= FITS


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("angle", [0.0, 2.0, 4.5])
def test_a_map_of_blocks_that_is_shifted_by_40_mm_is_noticed(seed, angle):
    shift = (0.04 * math.cos(angle), 0.04 * math.sin(angle))
    assert touched(seed, shift, 0.03) >= EVIDENCE


def test_even_ground_and_few_touch_downs_tell_no_shift():
    assert touched(1, (0.04, 0.0), 0.0) <= FITS
    assert touched(1, (0.04, 0.0), 0.03, COUNT - 1) == 0.0
