# SPDX-License-Identifier: Apache-2.0
"""Places in a simulated world that obstacles leave free, for goals of navigation."""

from __future__ import annotations

import math

import mujoco
import numpy as np

from hexapod_control.core.steering.path_following import PursuitHeading, Waypoint
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.terrain import GROUND_GROUP

GOAL_CLEARANCE_M = 0.1  # between the circle of the robot at a goal and obstacles


def distance_to_obstacles(simulation: Simulation, x: float, y: float) -> float:
    """Returns the distance [m] from a point to the nearest wall, box or pillar, by ray casting; 0 inside one."""
    height = 0.2
    hit = np.zeros(1, dtype=np.int32)
    groups = np.arange(6) == GROUND_GROUP
    least = math.inf
    for angle in np.linspace(0.0, math.tau, 180, endpoint=False):
        ray = np.array([math.cos(angle), math.sin(angle), 0.0])
        found = mujoco.mj_ray(
            simulation.model, simulation.data, np.array([x, y, height]), ray, groups.astype(np.uint8), 1, -1, hit
        )
        least = min(least, found if found >= 0.0 else math.inf)
    return 0.0 if simulation.ground_height(x, y) > height else least


def random_goals(simulation: Simulation, radius: float, count: int, seed: int) -> tuple[Waypoint, ...]:
    """Returns random goals with random headings, with space for a robot of this radius [m]."""
    rng = np.random.default_rng(seed)
    half = simulation.world.settings.room_size / 2.0
    goals: list[Waypoint] = []
    while len(goals) < count:
        x, y = rng.uniform(-half, half, 2).tolist()
        yaw = float(rng.uniform(-math.pi, math.pi))
        heading = PursuitHeading.ALIGNED if rng.random() < 0.5 else PursuitHeading.FREE
        if distance_to_obstacles(simulation, x, y) >= radius + GOAL_CLEARANCE_M:
            goals.append(Waypoint(x, y, yaw, heading))
    return tuple(goals)
