# SPDX-License-Identifier: Apache-2.0
"""Points from a depth image: surfaces where they are, and nothing between them."""

import math

import numpy as np

from hexapod_control.core.terrain.depth_image import depth_points

SHAPE = (48, 64)  # rows, columns
FOCAL = (34.0, 43.0)  # [pixels]
CENTER = (31.5, 23.5)
EYE = 0.3  # [m] of the camera over a table
PITCH = math.radians(40.0)
EDGE = 0.35  # [m] ahead, at which the table ends
DROP = 0.25  # [m]


def rays():
    """Directions (rows, columns, 3) of the pixels in axes ahead, left and up; depth is 1 along each."""
    v, u = np.mgrid[: SHAPE[0], : SHAPE[1]]
    right = (u - CENTER[0]) / FOCAL[0]
    down = (v - CENTER[1]) / FOCAL[1]
    ahead = math.cos(PITCH) - down * math.sin(PITCH)
    up = -math.sin(PITCH) - down * math.cos(PITCH)
    return np.stack((ahead, -right, up), axis=-1)


def table():
    """Depth image [m] of a table that ends ahead, and of the floor behind it; inf above the horizon."""
    directions = rays()
    with np.errstate(divide="ignore"):
        top = np.where(directions[..., 2] < 0.0, -EYE / directions[..., 2], np.inf)
    return np.where(top * directions[..., 0] < EDGE, top, top * (EYE + DROP) / EYE)


def heights(points):
    """Distance ahead and height over the table (n,) [m] of points in the optical frame."""
    _, down, z = points.T
    return z * math.cos(PITCH) - down * math.sin(PITCH), EYE - z * math.sin(PITCH) - down * math.cos(PITCH)


def test_planes_that_are_seen_obliquely_lose_no_pixel():
    depth = table()
    points = depth_points(depth, FOCAL, CENTER)
    ahead, z = heights(points)
    np.testing.assert_allclose(z, np.where(ahead < EDGE, 0.0, -DROP), atol=1e-9)
    assert len(points) == np.isfinite(depth).sum()


def test_pixels_between_a_table_and_the_floor_are_left_out():
    rng = np.random.default_rng(1)
    depth = table()
    kept = flying = lost = 0
    for _ in range(20):
        seen = depth * (1.0 + 0.01 * rng.standard_normal(SHAPE))
        edge = np.zeros(SHAPE, dtype=bool)
        with np.errstate(invalid="ignore"):
            edge[1:] = np.abs(np.diff(heights_of(depth), axis=0)) > 0.1
        edge &= rng.random(SHAPE) < 0.5
        near = np.roll(depth, -1, axis=0)
        seen[edge] = (near + (depth - near) * rng.uniform(0.2, 0.8, SHAPE))[edge]
        ahead, z = heights(depth_points(seen, FOCAL, CENTER))
        between = (z < -0.06) & (z > -DROP + 0.06) & (ahead < 0.8)
        flying += edge.sum()
        kept += between.sum()
        lost += np.isfinite(seen).sum() - edge.sum() - len(ahead)
    assert flying > 300
    assert kept < 0.1 * flying
    assert lost < 0.05 * 20 * depth.size


def heights_of(depth):
    """Height over the table [m] of every pixel."""
    with np.errstate(invalid="ignore"):
        return EYE + depth * rays()[..., 2]


def test_what_is_no_return_is_no_point():
    depth = table()
    depth[10:20, 10:20] = 0.0
    depth[30:40, 30:40] = math.nan
    depth[0, 0] = -1.0
    points = depth_points(depth, FOCAL, CENTER)
    assert np.isfinite(points).all()
    assert len(points) <= np.isfinite(depth).sum() - 101
    assert depth_points(np.full(SHAPE, math.nan), FOCAL, CENTER).shape == (0, 3)
