# SPDX-License-Identifier: Apache-2.0
"""A planar lidar on the body: rays from one point, parallel to the x-y plane of base_link, over 360 degrees.

Frame lidar_link: above the center of the body and the highest position of any knee, axes parallel to base_link, so it
tilts with the body. The first ray points backwards (-pi), the others follow counter-clockwise.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.steering.obstacle_avoidance import Scan
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import LidarSettings

KNEE_CLEARANCE_M = 0.02  # above the highest position of a knee
VISIBLE_GROUPS = np.array([1, 1, 1, 1, 0, 0], dtype=np.uint8)
"""Groups of what is overhead, visual shapes, ground and collision shapes."""
_NORMALS = (None,) if "normal:" in str(mujoco.mj_multiRay.__doc__) else ()  # an argument of newer versions of MuJoCo


def lidar_position(robot: Robot) -> Vector:
    """Returns the position of lidar_link [m] in base_link."""
    body = robot.body
    knees = (
        leg.hip[2] + leg.femur_vertical + leg.femur.length + max(leg.femur.radius, leg.tibia.radius)
        for leg in robot.legs
    )
    return body.center[0], body.center[1], max(body.top, *knees) + KNEE_CLEARANCE_M


def cast(simulation: Simulation, origin: Array, rays: Array, longest: float) -> Array:
    """Returns the distances (k,) [m] from a point to what rays in unit directions (k, 3) meet, both in base_link.

    A ray that meets nothing within `longest` [m] has the distance inf. The body is transparent, the legs are not.
    """
    data = simulation.data
    base = simulation.world.base
    rotation = data.xmat[base].reshape(3, 3)
    count = len(rays)
    distances = np.full(count, -1.0)
    hit = np.zeros(count, dtype=np.int32)
    mujoco.mj_multiRay(
        simulation.model,
        data,
        data.xpos[base] + rotation @ origin,
        (rays @ rotation.T).ravel(),
        VISIBLE_GROUPS,
        1,
        base,
        hit,
        distances,
        *_NORMALS,
        count,
        longest,
    )
    return np.where(distances < 0.0, math.inf, distances)


class Lidar:
    """A lidar with noise that is reproducible by a seed."""

    def __init__(self, robot: Robot, settings: LidarSettings | None = None, seed: int = 0) -> None:
        self.settings = settings or LidarSettings()
        self.position = lidar_position(robot)
        self.increment = math.tau / self.settings.scan_rays  # [rad]
        angles = self.angles
        self._rays = np.column_stack((np.cos(angles), np.sin(angles), np.zeros_like(angles)))
        self._rng = np.random.default_rng(seed)

    @property
    def angles(self) -> Array:
        """Directions of the rays (k,) [rad] in lidar_link."""
        angles: Array = -math.pi + self.increment * np.arange(self.settings.scan_rays, dtype=np.float64)
        return angles

    def scan(self, simulation: Simulation) -> Scan:
        """Scans the present state."""
        settings = self.settings
        ranges = self.ranges(simulation)
        return Scan(ranges, -math.pi, self.increment, settings.scan_range_min, settings.scan_range_max)

    def ranges(self, simulation: Simulation) -> Array:
        """Returns the present ranges (k,) [m]; inf without an echo, -inf for an object that is too near (REP 117)."""
        settings = self.settings
        ranges = cast(simulation, np.array(self.position), self._rays, settings.scan_range_max)
        ranges += self._rng.normal(0.0, settings.scan_noise, len(ranges)) if settings.scan_noise else 0.0
        ranges[ranges > settings.scan_range_max] = math.inf
        ranges[ranges < settings.scan_range_min] = -math.inf
        return ranges
