# SPDX-License-Identifier: Apache-2.0
"""The height map: what is seen is where it was seen, and what was not seen is unknown."""

import numpy as np
import pytest

from hexapod_control.core.terrain.height_map import HeightMap

SENSOR = np.array((0.0, 0.0, 0.25))  # [m]
TREAD = 0.3  # [m]
RISER = 0.07  # [m]


def stairs(x, y):
    """Height [m] of stairs that begin 0.3 m ahead."""
    return np.maximum(0.0, np.floor(x / TREAD)) * RISER


def scan(height, seed, count=80_000, side=1.0):
    """Points (n, 3) [m] on a ground, with its function of x and y [m]."""
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-side, side, (2, count))
    return np.column_stack((x, y, height(x, y) + rng.normal(0.0, 0.002, count)))


def middles(cells=60, cell=0.015):
    """Centres (x, y) [m] of cells away from the noses of `stairs`."""
    axis = (np.arange(-cells, cells) + 0.5) * cell
    x, y = np.meshgrid(axis, axis)
    away = np.abs(x / TREAD - np.rint(x / TREAD)) * TREAD > 0.02
    return x[away], y[away]


def test_stairs_are_where_they_were_seen():
    terrain = HeightMap()
    terrain.insert(scan(stairs, 1), SENSOR, 0.0)
    x, y = middles()
    assert np.nanmax(np.abs(terrain.heights(x, y) - stairs(x, y))) < 0.008
    assert np.isfinite(terrain.heights(x, y)).mean() > 0.95


def test_what_was_never_seen_is_unknown():
    terrain = HeightMap()
    assert np.isnan(terrain.heights(0.0, 0.0))
    points = scan(stairs, 1)
    terrain.insert(points[points[:, 0] > 0.0], SENSOR, 0.0)
    assert np.isnan(terrain.heights(np.linspace(-1.0, -0.02, 50), 0.1)).all()
    assert np.isnan(terrain.age(-0.5, 0.0, 1.0))
    assert np.isnan(terrain.heights(50.0, 50.0))


def test_a_map_that_rolls_keeps_what_stays_inside_and_forgets_the_rest():
    terrain = HeightMap()
    terrain.insert(scan(stairs, 1), SENSOR, 0.0)
    x, y = middles()
    before = terrain.heights(x, y)
    terrain.move(0.4, -0.37)
    inside = (np.abs(x - 0.4) < 1.15) & (np.abs(y + 0.37) < 1.15)
    np.testing.assert_array_equal(terrain.heights(x[inside], y[inside]), before[inside])
    terrain.move(9.0, 0.0)
    terrain.move(0.0, 0.0)
    assert np.isnan(terrain.heights(x, y)).all()


def test_the_grid_of_a_map_has_its_values():
    terrain = HeightMap()
    terrain.move(0.333, -0.777)
    terrain.insert(scan(stairs, 1), SENSOR, 0.5)
    grid = terrain.grid()
    x, y = middles()
    np.testing.assert_array_equal(grid.heights(x, y), terrain.heights(x, y))
    np.testing.assert_array_equal(grid.spread(x, y), terrain.spread(x, y))
    assert grid.time == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_scans_does_not_matter(seed):
    scans = [(scan(stairs, seed + k), SENSOR, 0.1 * k) for k in range(5)]
    maps = []
    for order in (range(5), np.random.default_rng(seed).permutation(5)):
        terrain = HeightMap()
        for k in order:
            terrain.insert(*scans[k])
        maps.append(terrain)
    x, y = middles()
    np.testing.assert_allclose(maps[0].heights(x, y), maps[1].heights(x, y), atol=0.004)


def test_drift_of_odom_in_height_moves_the_map_to_the_newest_scan():
    terrain = HeightMap()
    for k in range(12):
        points = scan(stairs, k)
        points[:, 2] += 0.004 * k
        terrain.insert(points, SENSOR + np.array((0.0, 0.0, 0.004 * k)), 0.1 * k)
    x, y = middles()
    assert abs(np.nanmedian(terrain.heights(x, y) - stairs(x, y)) - 0.044) < 0.006
    assert np.nanmax(np.abs(terrain.heights(x, y) - stairs(x, y) - 0.044)) < 0.015


def test_what_feet_feel_corrects_a_sensor_that_sees_too_high():
    terrain = HeightMap()
    feet = np.array([(a, b, 0.0) for a in (-0.2, 0.0, 0.2) for b in (-0.2, 0.2)])
    for k in range(40):
        points = scan(lambda x, y: 0.0 * x + 0.015, k, 20_000)
        terrain.insert(points, SENSOR, 0.1 * k)
        terrain.feel(feet + np.array((0.01 * k, 0.0, 0.0)), 0.1 * k)
    assert terrain.bias == pytest.approx(0.015, abs=0.003)
    assert abs(np.nanmedian(terrain.heights(*middles()))) < 0.003


def test_a_foot_of_a_leg_with_wrong_zeros_leaves_no_bump_on_ground_that_is_seen_well():
    terrain = HeightMap()
    feet = np.array([(a, b, 0.012 * (a > 0.1 and b > 0.1)) for a in (-0.2, 0.0, 0.2) for b in (-0.2, 0.2)])
    for k in range(10):
        terrain.insert(scan(lambda x, y: 0.0 * x, k, 20_000), SENSOR, 0.1 * k)
        terrain.feel(feet, 0.1 * k)
    assert np.nanmax(np.abs(terrain.heights(*middles()))) < 0.004


def test_a_ceiling_is_not_ground():
    terrain = HeightMap(headroom=0.2)
    floor = scan(lambda x, y: 0.0 * x, 1)
    ceiling = scan(lambda x, y: 0.0 * x + 0.4, 2, side=0.5)
    terrain.insert(np.concatenate((floor, ceiling)), SENSOR, 0.0)
    assert abs(terrain.heights(0.1, 0.1)) < 0.01
    assert terrain.grid().ceilings(0.1, 0.1) == pytest.approx(0.4, abs=0.01)
    assert np.isnan(terrain.grid().ceilings(0.8, 0.1))
    terrain = HeightMap(headroom=0.2)
    terrain.insert(ceiling, SENSOR, 0.0)
    assert np.isnan(terrain.heights(0.1, 0.1))


def test_ground_under_which_rays_pass_is_not_ground_as_in_a_gap_of_which_only_the_far_wall_is_seen():
    near, far = 0.3, 0.36  # [m] edges of the gap
    terrain = HeightMap()
    terrain.insert(scan(lambda x, y: 0.0 * x, 1), SENSOR, 0.0)  # from far away: no gap is seen
    rng = np.random.default_rng(2)
    floor = scan(lambda x, y: 0.0 * x, 3, 20_000)
    floor = floor[(floor[:, 0] < near) | (floor[:, 0] > far)]
    # What is seen over the near edge; a range noise of 1 % along the rays
    wall = np.column_stack((np.full(4000, far), rng.uniform(-0.3, 0.3, 4000), rng.uniform(-0.048, 0.0, 4000)))
    wall = SENSOR + (wall - SENSOR) * (1.0 + 0.01 * rng.standard_normal((4000, 1)))
    for k in range(1, 4):
        terrain.insert(np.concatenate((floor, wall)), SENSOR, 0.1 * k)
    y = np.linspace(-0.25, 0.25, 30)
    assert np.nanmax(terrain.heights(far - 0.02, y)) < -0.01
    assert np.nanmin(terrain.spread(far - 0.02, y)) > 0.05
    x, y = middles()
    ground = (x < near - 0.015) | (x > far + 0.015)
    assert np.nanmin(terrain.heights(x[ground], y[ground])) > -0.008


def test_ground_that_is_mapped_too_far_over_an_edge_is_lowered_by_rays_that_pass_the_edge():
    """Flying pixels and drift of odom put points beside an edge, where nothing is seen that would replace them."""
    edge, depth, count = 0.3, 0.08, 20_000  # [m]
    rng = np.random.default_rng(5)
    table = scan(lambda x, y: 0.0 * x, 3, 20_000)
    terrain = HeightMap()
    terrain.insert(table[table[:, 0] < edge + 0.045], SENSOR, 0.0)
    slope = SENSOR[2] / (edge - SENSOR[0])  # of the ray over the edge
    floor = np.column_stack(
        (rng.uniform(edge + depth / slope, 0.7, count), rng.uniform(-0.3, 0.3, count), np.full(count, -depth))
    )
    floor = SENSOR + (floor - SENSOR) * (1.0 + 0.01 * rng.standard_normal((count, 1)))
    for k in range(1, 4):
        terrain.insert(np.concatenate((table[table[:, 0] < edge], floor)), SENSOR, 0.1 * k)
    y = np.linspace(-0.12, 0.12, 20)
    assert np.nanmax(terrain.heights(edge + 0.03, y)) < -0.005
    assert np.nanmax(np.abs(terrain.heights(edge - 0.015, y))) < 0.008


@pytest.mark.parametrize("middle", [(0.0, 0.0), (1.1, -1.15), (-1.3, 0.4)])
def test_a_window_of_a_grid_and_the_height_at_a_point_are_those_of_its_cells(middle):
    terrain = HeightMap()
    terrain.insert(scan(stairs, 1, side=1.2), SENSOR, 0.0)
    grid = terrain.grid()
    heights, deviations, (x, y) = grid.window(*middle, 0.07)
    steps = grid.cell * np.arange(len(heights))
    assert len(heights) * grid.cell >= 2 * 0.07
    np.testing.assert_array_equal(heights, grid.heights(*np.meshgrid(x + steps, y + steps)))
    np.testing.assert_array_equal(deviations, grid.spread(*np.meshgrid(x + steps, y + steps)))
    assert grid.height(x, y) == pytest.approx(heights[0, 0], nan_ok=True)
