# SPDX-License-Identifier: Apache-2.0
"""Where surfaces end on the height map."""

import numpy as np

from hexapod_control.core.terrain.depth_image import depth_points
from hexapod_control.core.terrain.height_map import HeightMap

SENSOR = np.array((0.0, 0.0, 0.25))  # [m]


def seen(block, seed):
    """Points (n, 3) [m] of a depth camera at SENSOR that looks 50 degrees down on a floor with a block (2, 3) [m]."""
    rng = np.random.default_rng(seed)
    focal, (rows, columns) = 57.0, (60, 80)  # [pixels], one of them about a degree
    right, down = np.meshgrid((np.arange(columns) - 39.5) / focal, (np.arange(rows) - 29.5) / focal)
    optical = np.stack((right, down, np.ones_like(right)), axis=-1)
    c, s = np.cos(np.radians(50.0)), np.sin(np.radians(50.0))
    turn = np.array(((0.0, -s, c), (-1.0, 0.0, 0.0), (0.0, -c, -s)))  # optical frame to odom
    rays = optical @ turn.T
    with np.errstate(divide="ignore"):
        near, far = np.sort((block[:, np.newaxis, np.newaxis] - SENSOR) / rays, axis=0)
    near, far = near.max(axis=-1), far.min(axis=-1)
    depth = np.where((near < far) & (near > 0.0), near, -SENSOR[2] / rays[..., 2])
    for axis in (0, 1):  # a pixel at an edge sees what is behind it, too
        flying = rng.random(depth.shape) < 0.3
        depth = np.where(flying, depth + rng.random(depth.shape) * (np.roll(depth, 1, axis) - depth), depth)
    depth *= 1.0 + 0.01 * rng.standard_normal(depth.shape)
    return depth_points(depth, (focal, focal), (39.5, 29.5)) @ turn.T + SENSOR


def test_where_a_foot_may_stand_on_a_block_ends_at_the_side_that_hides_what_is_behind_it():
    """On average, wherever the side lies in its cells."""
    half, height = 0.045, 0.06  # [m]
    beside = np.arange(0.0, 0.09, 0.002)  # [m] from the middle, away from the sensor
    beyond = []
    for y in np.linspace(0.11, 0.25, 15):
        terrain = HeightMap()
        rng = np.random.default_rng(1)
        for k in range(12):
            drift = np.append(rng.uniform(-0.02, 0.02, 2), 0.0)
            block = np.array(((0.3, y - half, 0.0), (0.39, y + half, height))) - drift
            terrain.insert(seen(block, k) + drift, SENSOR + drift, 0.1 * k)
        at = np.meshgrid(np.linspace(0.32, 0.37, 10), y + beside)
        top = (np.abs(terrain.heights(*at) - height) < 0.015) & (terrain.spread(*at) < 0.05)
        beyond.append(0.002 * np.count_nonzero(top) / 10 - half)
    assert abs(np.mean(beyond)) < 0.25 * terrain.cell


def test_ground_of_which_a_sparse_scan_has_a_point_in_few_cells_is_known_well_there():
    terrain = HeightMap()
    for k in range(3):
        rng = np.random.default_rng(k)
        terrain.insert(rng.uniform((-1.0, -1.0, -0.002), (1.0, 1.0, 0.002), (3_000, 3)), SENSOR, 0.1 * k)
    assert np.nanmax(terrain.grid().deviation) < 0.05
