# SPDX-License-Identifier: Apache-2.0
"""The drift of odom that steep faces tell: along their normals, and no more than there is."""

import math

import numpy as np
import pytest

from hexapod_control.core.terrain.height_map import HeightMap

HEIGHT = 0.08  # [m] of blocks and steps
SIDE = 0.12  # [m] of a block
SPACING = 0.3  # [m]
NOISE = 0.004  # [m] of a point
STEP_M = 0.006  # [m] way of the robot from scan to scan
SCANS = 100


def seen(at, heading, rng, count=10_000):
    """Points (n, 3) [m] that a robot at a place sees ahead: upper sides of blocks and ground, and faces towards it."""
    ahead = rng.uniform((0.1, -0.35), (0.8, 0.35), (count, 2))
    c, s = math.cos(heading), math.sin(heading)
    x, y = (np.array(((c, -s), (s, c))) @ ahead.T) + np.array(at)[:, np.newaxis]
    u, v = (np.mod(p, SPACING) for p in (x, y))
    on_block = (u < SIDE) & (v < SIDE)
    flat = np.column_stack((x, y, HEIGHT * on_block))
    # Most of the points on a block are moved to its face along x or y that looks towards the robot.
    side = on_block & (rng.random(count) < 0.8)
    x_face = rng.random(count) < 0.5
    faced = np.column_stack(
        (
            np.where(x_face, x - u + SIDE * (at[0] > x), x),
            np.where(x_face, y, y - v + SIDE * (at[1] > y)),
            rng.uniform(0.0, HEIGHT, count),
        )
    )
    points = np.where(side[:, np.newaxis], faced, flat)
    return points + rng.normal(0.0, NOISE, points.shape)


def walked(drift, seed, look=seen, heading=0.3):
    """The drift (2,) [m] found on a walk over blocks, of which odom measures more by `drift` (2,) [1] of the way."""
    rng = np.random.default_rng(seed)
    terrain = HeightMap()
    for k in range(SCANS):
        way = STEP_M * k
        at = np.array((way * math.cos(heading), way * math.sin(heading)))
        error = way * np.array(drift)
        terrain.move(*(at + error))
        origin = np.array((*(at + error), 0.25))
        terrain.insert(look(at, heading, rng) + np.append(error, 0.0), origin, 0.1 * k)
    return terrain.offset, error


@pytest.mark.parametrize("drift", [(0.04, 0.0), (-0.03, 0.02), (0.0, -0.04), (0.02, 0.03)])
def test_faces_tell_how_far_odom_drifts(drift):
    found, true = walked(drift, 1)
    assert np.abs(found - true).max() < 0.25 * np.abs(true).max()


@pytest.mark.parametrize("seed", range(3))
def test_where_nothing_drifts_the_map_stays(seed):
    found, _ = walked((0.0, 0.0), seed)
    assert np.abs(found).max() < 0.002


def test_a_face_tells_nothing_about_the_drift_along_it():
    def stairs(at, heading, rng):
        points = seen(at, heading, rng)
        u = np.mod(points[:, 0], SPACING)
        riser = rng.random(len(points)) < 0.1
        points[:, 2] = HEIGHT * np.floor(points[:, 0] / SPACING)
        points[riser, 0] -= u[riser]
        points[riser, 2] = HEIGHT * np.rint(points[riser, 0] / SPACING) - rng.uniform(0.0, HEIGHT, riser.sum())
        return points + rng.normal(0.0, NOISE, points.shape) * riser[:, np.newaxis]

    found, true = walked((0.03, 0.03), 2, stairs)
    assert abs(found[0] - true[0]) < 0.25 * abs(true[0])
    assert abs(found[1]) < 0.1 * abs(true[1])


def test_flat_ground_tells_nothing():
    def flat(at, heading, rng):
        points = seen(at, heading, rng)
        points[:, 2] = rng.normal(0.0, NOISE, len(points))
        return points

    assert walked((0.04, 0.04), 3, flat)[0] == pytest.approx((0.0, 0.0), abs=1e-12)


def test_what_is_seen_first_is_found_where_it_is_after_the_drift():
    """A block that has passed below the robot is where the feet find it, not where it was when it was seen."""
    rng = np.random.default_rng(4)
    terrain = HeightMap()
    drift = np.array((0.05, 0.0))
    for k in range(SCANS):
        at = np.array((STEP_M * k, 0.0))
        terrain.move(*(at + drift * at[0]))
        shifted = at + drift * at[0]
        terrain.insert(seen(at, 0.0, rng) + np.append(shifted - at, 0.0), (*shifted, 0.25), 0.1 * k)
    # The nearest block that the first scan saw begins at 0.3 m; now it is 0.4 m behind.
    x = shifted[0] - at[0] + SPACING + np.linspace(-0.06, 0.06, 25)
    true = np.where(x < shifted[0] - at[0] + SPACING, 0.0, HEIGHT)
    known = terrain.heights(x, 0.5 * SIDE)
    edge = np.abs(x - x[12]) < 0.018  # a cell, and noise
    assert np.abs(known - true)[~edge].max() < 0.02
