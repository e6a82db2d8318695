# SPDX-License-Identifier: Apache-2.0
"""Depth cameras and a 3D lidar by ray casting, in lock step and without OpenGL; and the true terrain.

A frame has the errors of small depth sensors: noise that grows with the range, flying pixels between near and far
surfaces, and pixels without a return. It is delivered some time after it was taken.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.frame_tree import FramePose
from hexapod_control.core.robot import Camera, Robot
from hexapod_control.core.sensing.cameras import optical_rotation
from hexapod_control.core.terrain.height_map import TerrainGrid
from hexapod_control.sim.lidar import cast, lidar_position
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import DepthSettings, LidarSettings

EDGE = 0.05  # share of the inverse depth by which two pixels at an edge miss each other's surface
FARTHEST = 1.5  # surfaces up to this share of the longest range can be behind an edge
SCHEDULE_TOLERANCE_S = 0.5e-3  # by which a frame may be early: half a step


@dataclass(frozen=True, slots=True)
class DepthFrame:
    """What a sensor measured at one instant; NaN without a return."""

    time: float  # [s] simulated time at which it was taken
    grid: Array  # (rows, columns, 3) [m] points in the frame of the sensor
    mounting: FramePose  # of the sensor in base_link
    label: object = None  # as it was given to `step`

    @property
    def depth(self) -> Array:
        """The depth image (rows, columns) [m] of a camera: distances from the plane of the lens."""
        depth: Array = self.grid[..., 2]
        return depth

    @property
    def points(self) -> Array:
        """The points (n, 3) [m] that were measured, in the frame of the sensor."""
        points = self.grid.reshape(-1, 3)
        known: Array = points[np.isfinite(points[:, 0])]
        return known

    @property
    def points_in_base(self) -> Array:
        """The points (n, 3) [m] in base_link at the time of the frame."""
        return self.mounting.apply(self.points)


def directions(camera: Camera) -> Array:
    """Returns the unit directions (rows, columns, 3) of the pixels in the camera's optical frame."""
    columns, rows = camera.resolution
    fx, fy = camera.focal
    cx, cy = camera.center
    x, y = np.meshgrid((np.arange(columns) - cx) / fx, (np.arange(rows) - cy) / fy)
    rays = np.stack((x, y, np.ones_like(x)), axis=-1)
    unit: Array = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
    return unit


def _edges(inverse: Array) -> NDArray[np.bool_]:
    """Whether there is an edge between a pixel and the next in its row, for inverse depths (rows, columns) [1/m].

    On a plane, however obliquely it is seen, they are linear in the row; at an edge neither side continues the other.
    """
    padded = np.pad(inverse, ((0, 0), (1, 2)), mode="reflect", reflect_type="odd")
    before, here, after, beyond = (padded[:, k : k + inverse.shape[1]] for k in range(4))
    tolerance = EDGE * np.maximum(here, after)
    edge: NDArray[np.bool_] = (np.abs(2.0 * here - before - after) > tolerance) & (
        np.abs(2.0 * after - beyond - here) > tolerance
    )
    edge[:, -1] = False
    return edge


class DepthSensor:
    """One simulated sensor, a grid of rays from one point, with errors that are reproducible by a seed."""

    def __init__(
        self,
        rays: Array,
        mounting: FramePose,
        limits: tuple[float, float],
        rate: float,
        settings: DepthSettings | None = None,
        seed: int = 0,
    ) -> None:
        """`rays` (rows, columns, 3) are unit directions in the frame of the sensor.

        `mounting` is the pose of that frame in base_link, `limits` [m] are the shortest and longest range, `rate` [Hz]
        is that of the frames.
        """
        self.settings = settings or DepthSettings()
        self._rays = rays
        self._mounting = mounting
        self._limits = limits
        self._period = 1.0 / rate
        self._rng = np.random.default_rng(seed)
        self._pending: deque[DepthFrame] = deque()
        self._taken_at = -math.inf  # [s]

    def frame(self, simulation: Simulation, label: object = None) -> DepthFrame:
        """Takes a frame of the present state."""
        rays = self._rays.reshape(-1, 3) @ self._mounting.rotation.T
        distances = cast(simulation, self._mounting.position, rays, FARTHEST * self._limits[1])
        ranges = self._with_errors(distances.reshape(self._rays.shape[:2]))
        return DepthFrame(simulation.time, self._rays * ranges[..., np.newaxis], self._mounting, label)

    def step(self, simulation: Simulation, *, wanted: bool = True, label: object = None) -> DepthFrame | None:
        """Takes a frame if due and `wanted`, and returns one that is due for delivery; call it after every step."""
        now = simulation.time
        if now < self._taken_at:  # the world was reset
            self._pending.clear()
            self._taken_at = -math.inf
        if now - self._taken_at >= self._period - SCHEDULE_TOLERANCE_S:
            self._taken_at = now
            if wanted:
                self._pending.append(self.frame(simulation, label))
        if self._pending and now - self._pending[0].time >= self.settings.depth_latency - SCHEDULE_TOLERANCE_S:
            return self._pending.popleft()
        return None

    def _with_errors(self, ranges: Array) -> Array:
        """Ranges (rows, columns) [m] as they are measured; NaN without a return."""
        settings = self.settings
        random = self._rng
        shape = ranges.shape
        measured = ranges.copy()
        inverse = 1.0 / self._depths(ranges)
        # A pixel at an edge sees both surfaces, and measures something between them.
        for edge, behind in (
            (_edges(inverse), np.roll(ranges, -1, axis=1)),
            (_edges(inverse.T).T, np.roll(ranges, -1, axis=0)),
        ):
            flying = edge & np.isfinite(ranges) & np.isfinite(behind) & (random.random(shape) < settings.depth_flying)
            share = random.random(shape)
            measured[flying] = ranges[flying] + share[flying] * (behind[flying] - ranges[flying])
        measured *= 1.0 + settings.depth_noise * random.standard_normal(shape)
        shortest, longest = self._limits
        lost = random.random(shape) < settings.depth_missing
        measured[lost | (measured < shortest) | (measured > longest)] = math.nan
        return measured

    def _depths(self, ranges: Array) -> Array:
        """What is inversely linear along a row or column of rays that meet a plane, in small steps."""
        return ranges


class DepthCamera(DepthSensor):
    """A depth camera, whose frames are in its optical frame."""

    def __init__(self, camera: Camera, settings: DepthSettings | None = None, seed: int = 0) -> None:
        mounting = FramePose(optical_rotation(camera), np.array(camera.position))
        super().__init__(directions(camera), mounting, camera.range, camera.rate, settings, seed)

    def _depths(self, ranges: Array) -> Array:
        """Distances [m] from the plane of the lens."""
        depths: Array = ranges * self._rays[..., 2]
        return depths


class Lidar3D(DepthSensor):
    """A lidar with many rings at the place of the planar one, whose frames are in lidar_link. Rows are its rings."""

    def __init__(
        self, robot: Robot, scans: LidarSettings, settings: DepthSettings | None = None, seed: int = 0
    ) -> None:
        low, high = np.radians((scans.ring_lowest_deg, scans.ring_highest_deg))
        up, around = np.meshgrid(
            np.linspace(low, high, scans.rings),
            np.linspace(-math.pi, math.pi, scans.ring_rays, endpoint=False),
            indexing="ij",
        )
        rays = np.stack((np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)), axis=-1)
        mounting = FramePose(np.eye(3), np.array(lidar_position(robot)))
        limits = (scans.scan_range_min, scans.scan_range_max)
        super().__init__(rays, mounting, limits, scans.scan_rate, settings, seed)


def true_terrain(simulation: Simulation, middle: tuple[float, float], side: float, cell: float = 0.015) -> TerrainGrid:
    """Returns the true heights of a square around x, y [m] of the world, by rays from above: what a map should be."""
    count = math.ceil(side / cell)
    origin = (middle[0] - 0.5 * (count - 1) * cell, middle[1] - 0.5 * (count - 1) * cell)
    xs, ys = (start + cell * np.arange(count) for start in origin)
    heights = np.array([[simulation.ground_height(x, y) for x in xs] for y in ys])
    unknown = np.full_like(heights, math.nan)
    return TerrainGrid(origin, cell, heights, np.zeros_like(heights), unknown, simulation.time)
