# SPDX-License-Identifier: Apache-2.0
"""Simulated depth sensors see the world where it is, with the errors, the rate and the latency of small sensors."""

import dataclasses
import math

import numpy as np
import pytest

from hexapod_control.core.robot import Camera
from hexapod_control.core.sensing.cameras import USUAL_CAMERAS
from hexapod_control.core.terrain.depth_image import cloud_points, depth_points
from hexapod_control.sim.depth_sensors import DepthCamera, Lidar3D, true_terrain
from hexapod_control.sim.lidar import lidar_position
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.terrain import WAY_START_M
from hexapod_control.sim.world_settings import DepthSettings, LidarSettings, WorldSettings

pytestmark = pytest.mark.physics

EXACT = DepthSettings(depth_noise=0.0, depth_flying=0.0, depth_missing=0.0)
AHEAD = Camera("camera", (0.14, 0.0, 0.0), (0.0, 0.0, 0.0))


def world(phantomx, name="flat", **settings):
    return Simulation(*phantomx, WorldSettings(world=name, way_yaw_deg=0.0, **settings))


def heights(frame, simulation):
    """Heights [m] above the ground of the start of the points of a frame, for a level robot."""
    return frame.points_in_base[:, 2] + simulation.reading().position[2]


@pytest.mark.parametrize("place", USUAL_CAMERAS)
def test_a_flat_floor_is_seen_flat_from_every_usual_place(place, phantomx):
    simulation = world(phantomx)
    frame = DepthCamera(USUAL_CAMERAS[place](phantomx[0]), EXACT).frame(simulation)
    floor = np.isclose(heights(frame, simulation), 0.0, atol=1e-5)
    assert floor.mean() > 0.85 and len(frame.points) > 1500
    assert heights(frame, simulation)[~floor].min(initial=0.0) >= 0.0  # its own legs


def test_a_riser_is_seen_at_its_distance_and_its_height(phantomx):
    simulation = world(phantomx, "stairs", stair_rise=0.25)
    frame = DepthCamera(AHEAD, EXACT).frame(simulation)
    assert frame.depth[24, 32] == pytest.approx(WAY_START_M - 0.14, abs=1e-5)
    tall = heights(frame, simulation) > 0.001
    riser = tall & (frame.points_in_base[:, 0] < WAY_START_M + 0.1)
    assert frame.points_in_base[riser, 0] == pytest.approx(WAY_START_M, abs=1e-5)
    assert heights(frame, simulation)[riser].max() == pytest.approx(0.25, abs=0.02)


def test_the_image_and_its_lens_give_the_same_points_as_the_frame(phantomx):
    frame = DepthCamera(AHEAD, EXACT).frame(world(phantomx, "stairs"))
    points = depth_points(frame.depth, AHEAD.focal, AHEAD.center)
    found = {tuple(point) for point in frame.points.round(5).tolist()}
    assert len(points) > 0.7 * len(frame.points)
    assert sum(tuple(point) in found for point in points.round(5).tolist()) > 0.99 * len(points)


def test_noise_is_a_share_of_the_range_and_some_pixels_have_no_return(phantomx):
    simulation = world(phantomx)
    camera = USUAL_CAMERAS["mast"](phantomx[0])
    true = DepthCamera(camera, EXACT).frame(simulation).depth
    frames = np.array([DepthCamera(camera, seed=seed).frame(simulation).depth for seed in range(8)])
    assert np.isnan(frames).mean() == pytest.approx(0.02 + np.isnan(true).mean(), abs=0.005)
    legs = true < 0.9 * np.nanmedian(true, axis=1, keepdims=True)
    errors = (frames / true - 1.0)[:, ~legs & ~np.isnan(true)]
    assert np.nanstd(errors[np.abs(errors) < 0.05]) == pytest.approx(0.01, rel=0.1)


def test_pixels_fly_only_at_edges_and_between_both_surfaces(phantomx):
    simulation = world(phantomx, "table", drop=0.4)
    simulation.data.qpos[0] = 0.3
    simulation.step(standing_pose(phantomx[0]), 0.01)
    camera = dataclasses.replace(AHEAD, rpy=(0.0, math.radians(35.0), 0.0), position=(0.14, 0.0, 0.1))
    flying = DepthSettings(depth_noise=0.0, depth_missing=0.0, depth_flying=1.0)
    true = DepthCamera(camera, EXACT).frame(simulation)
    seen = DepthCamera(camera, flying).frame(simulation)
    wrong = np.abs(seen.depth - true.depth) > 1e-9
    assert 0.005 < wrong.mean() < 0.2
    upper, lower = (edge(np.where(np.isnan(true.depth), fill, true.depth), axis) for edge, fill, axis in RANGES)
    assert ((seen.depth >= upper - 0.02) & (seen.depth <= lower + 0.02))[wrong].all()


def _around(choose):
    def among(depth, fill):
        padded = np.pad(depth, 1, constant_values=fill)
        rows, columns = depth.shape
        near = [padded[1:-1, 1:-1], padded[2:, 1:-1][:rows], padded[1:-1, 2:][:, :columns]]
        return choose(near, axis=0)

    return among


RANGES = ((_around(np.min), math.inf, math.inf), (_around(np.max), 0.0, 0.0))


def test_frames_come_at_the_rate_of_the_camera_and_late_and_are_those_of_their_time(phantomx):
    simulation = world(phantomx, "stairs", stair_rise=0.25)
    camera = DepthCamera(dataclasses.replace(AHEAD, rate=5.0), EXACT)
    delivered, positions = [], {}
    for _ in range(100):
        simulation.data.qpos[0] += 0.001
        simulation.step(standing_pose(phantomx[0]), 0.01)
        positions[round(simulation.time, 3)] = float(simulation.reading().position[0])
        frame = camera.step(simulation)
        if frame is not None:
            delivered.append((simulation.time, frame))
    assert len(delivered) == 5
    assert np.diff([frame.time for _, frame in delivered]) == pytest.approx(0.2, abs=1e-6)
    for time, frame in delivered:
        assert time - frame.time == pytest.approx(0.08, abs=1e-6)
        riser = WAY_START_M - 0.14 - positions[round(frame.time, 3)]
        assert frame.depth[24, 32] == pytest.approx(riser, abs=0.003)


def test_the_same_seed_has_the_same_errors_and_a_reset_begins_again(phantomx):
    def frames(seed):
        simulation = world(phantomx, "blocks", seed=4)
        camera = DepthCamera(AHEAD, seed=seed)
        for _ in range(2):
            for _ in range(30):
                simulation.step(standing_pose(phantomx[0]), 0.01)
                if (frame := camera.step(simulation)) is not None:
                    yield frame.depth
            simulation.reset(standing_pose(phantomx[0]))

    first, second, other = (list(frames(seed)) for seed in (1, 1, 2))
    assert len(first) == len(second) >= 5
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0], other[0], equal_nan=True)


def test_a_lidar_sees_floor_and_risers_all_around(phantomx):
    simulation = world(phantomx, "stairs", stair_rise=0.25)
    frame = Lidar3D(phantomx[0], LidarSettings(), EXACT).frame(simulation)
    assert frame.grid.shape == (LidarSettings().rings, LidarSettings().ring_rays, 3)
    tall = heights(frame, simulation)
    x, y, _ = frame.points_in_base.T
    riser = (tall > 0.001) & (tall < 0.249) & (x > 0.3) & (x < WAY_START_M + 0.1) & (np.abs(y) < 0.3)
    assert riser.sum() > 20
    assert x[riser] == pytest.approx(WAY_START_M, abs=1e-5)
    for side in (x < -0.3, y > 0.3, y < -0.3):
        near = side & (np.hypot(x, y) < 0.5)
        assert near.sum() > 100
        assert np.median(tall[near]) == pytest.approx(0.0, abs=1e-5)


def test_points_of_a_cloud_that_continue_no_surface_are_left_out(phantomx):
    simulation = world(phantomx, "table", drop=0.4)
    flying = DepthSettings(depth_noise=0.0, depth_missing=0.0, depth_flying=1.0)
    wrong = []
    for keep in (lambda grid: grid.reshape(-1, 3), cloud_points):
        points = keep(Lidar3D(phantomx[0], LidarSettings(), flying).frame(simulation).grid)
        z = points[np.hypot(points[:, 0], points[:, 1]) > 0.4, 2] + lidar_position(phantomx[0])[2]
        z = z + simulation.reading().position[2]
        wrong.append(np.count_nonzero((z > -0.39) & (z < -0.01)))
    assert wrong[0] > 20
    assert wrong[1] < 0.5 * wrong[0]


def test_the_true_terrain_has_the_heights_of_the_world(phantomx):
    simulation = world(phantomx, "stairs", stair_rise=0.05, stair_tread=0.3)
    grid = true_terrain(simulation, (0.8, 0.1), 0.9)
    x = np.array([0.4, WAY_START_M - 0.02, WAY_START_M + 0.02, WAY_START_M + 0.32])
    assert grid.heights(x, np.full(4, 0.2)) == pytest.approx([0.0, 0.0, 0.05, 0.1], abs=1e-6)
    assert np.isnan(grid.heights(2.0, 0.1))
