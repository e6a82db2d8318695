# SPDX-License-Identifier: Apache-2.0
"""Depth cameras and lidars of many directions, by ray casting: in lock step, and without OpenGL.

A frame has the errors of small depth sensors: noise that grows with the range, flying pixels between near and far
surfaces, and directions without a return. It is delivered some time after it was taken.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Camera
from hexapod_control.core.sensing.cameras import sensor_rotation
from hexapod_control.sim.lidar import cast
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import DepthSettings

EDGE_RATIO = 1.05  # between the ranges of neighbours, from which on there is an edge between them
SCHEDULE_TOLERANCE_S = 0.5e-3  # by which a frame may be early: half a step


@dataclass(frozen=True, slots=True)
class DepthFrame:
    """What a camera measured at one instant; NaN without a return."""

    camera: Camera
    stamp: float  # [s] simulated time at which it was taken
    grid: Array  # (rows, columns, 3) [m] points in the frame of the camera's data, `Camera.frame`

    @property
    def depth(self) -> Array:
        """The depth image (rows, columns) [m]: distances from the plane of the lens."""
        depth: Array = self.grid[..., 2]
        return depth

    @property
    def points(self) -> Array:
        """The points (n, 3) [m] that were measured, in the frame of the camera's data."""
        points = self.grid.reshape(-1, 3)
        known: Array = points[np.isfinite(points[:, 0])]
        return known

    @property
    def rotation(self) -> Array:
        """Rotation (3, 3) from the frame of the data to base_link."""
        return sensor_rotation(self.camera)

    @property
    def origin(self) -> Array:
        """Position (3,) [m] of the sensor in base_link."""
        return np.array(self.camera.position)

    @property
    def points_in_base(self) -> Array:
        """The points (n, 3) [m] in base_link at the instant of the stamp."""
        return self.points @ self.rotation.T + self.origin


def directions(camera: Camera) -> Array:
    """Returns the unit directions (rows, columns, 3) of a camera's rays in the frame of its data.

    The rows of an image go down and its columns to the right; of a lidar they go up and counter-clockwise, from behind.
    """
    columns, rows = camera.rays
    if camera.kind == "image":
        right, down = (
            math.tan(angle / 2.0) * ((2.0 * np.arange(count) + 1.0) / count - 1.0)
            for angle, count in zip(camera.fov, (columns, rows), strict=True)
        )
        x, y = np.meshgrid(right, down)
        rays = np.stack((x, y, np.ones_like(x)), axis=-1)
        unit: Array = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
        return unit
    azimuth, elevation = (
        angle * ((np.arange(count) + 0.5) / count - 0.5)
        for angle, count in zip(camera.fov, (columns, rows), strict=True)
    )
    a, e = np.meshgrid(azimuth, elevation)
    return np.stack((np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)), axis=-1)


class DepthCamera:
    """One simulated depth sensor, with errors that are reproducible by a seed."""

    def __init__(self, camera: Camera, settings: DepthSettings | None = None, seed: int = 0) -> None:
        self.camera = camera
        self.settings = settings or DepthSettings()
        self._directions = directions(camera)
        self._rays = self._directions.reshape(-1, 3) @ sensor_rotation(camera).T
        self._rng = np.random.default_rng(seed)
        self._pending: deque[DepthFrame] = deque()
        self._taken_at = -math.inf  # [s]

    def frame(self, simulation: Simulation) -> DepthFrame:
        """Takes a frame of the present state."""
        ranges = cast(simulation, np.array(self.camera.position), self._rays).reshape(self._directions.shape[:2])
        ranges = self._with_errors(ranges)
        return DepthFrame(self.camera, simulation.time, self._directions * ranges[..., np.newaxis])

    def step(self, simulation: Simulation, *, wanted: bool = True) -> DepthFrame | None:
        """Takes a frame if due and `wanted`, and returns one that is due for delivery; call it after every step."""
        settings = self.settings
        now = simulation.time
        if now < self._taken_at:  # the world was reset
            self._pending.clear()
            self._taken_at = -math.inf
        if now - self._taken_at >= 1.0 / settings.depth_rate - SCHEDULE_TOLERANCE_S:
            self._taken_at = now
            if wanted:
                self._pending.append(self.frame(simulation))
        if self._pending and now - self._pending[0].stamp >= settings.depth_latency - SCHEDULE_TOLERANCE_S:
            return self._pending.popleft()
        return None

    def _with_errors(self, ranges: Array) -> Array:
        """Ranges (rows, columns) [m] as they are measured; NaN without a return."""
        settings = self.settings
        random = self._rng
        shape = ranges.shape
        measured = ranges.copy()
        # A pixel at an edge sees both surfaces, and measures something between them.
        for axis in (0, 1):
            behind = np.roll(ranges, -1, axis)
            low = np.minimum(ranges, behind)
            with np.errstate(invalid="ignore"):
                edge = (np.maximum(ranges, behind) > EDGE_RATIO * low) & np.isfinite(ranges) & np.isfinite(behind)
            edge[(slice(None),) * axis + (-1,)] = False
            flying = edge & (random.random(shape) < settings.depth_flying)
            share = random.random(shape)
            mixed = ranges[flying] + share[flying] * (behind[flying] - ranges[flying])
            measured[flying] = mixed
        measured *= 1.0 + settings.depth_noise * random.standard_normal(shape)
        shortest, longest = self.camera.range
        lost = random.random(shape) < settings.depth_missing
        measured[lost | (measured < shortest) | (measured > longest)] = math.nan
        return measured
