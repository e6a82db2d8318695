# SPDX-License-Identifier: Apache-2.0
"""Adds the ground of the simulated world to a MuJoCo specification.

The world's z is up and z = 0 is the flat area around the origin where the robot starts. Ground geoms are
static, named `ground...` and in group 2, to which rays can be limited; obstacles are too, named `obstacle...`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np

from hexapod_control.sim.world_settings import WorldSettings

GROUND_GROUP = 2
BLOCK_SIDE_M = 0.15
START_HALF_SIDE_M = 2.5 * BLOCK_SIDE_M  # of the flat start area
FIELD_HALF_SIDE_M = 3.0  # of the rough field
CELL_M = 0.05  # of the height field
GROUND_THICKNESS_M = 0.3  # of the boxes below the surface
OBSTACLE_PREFIX = "obstacle"  # of the names of obstacles
WALL_THICKNESS_M = 0.1
OBSTACLE_HEIGHT_M = 0.5  # of walls and obstacles
OBSTACLE_SIZES_M = (0.08, 0.2)  # smallest and largest half side or radius
MAX_TRIES = 200  # positions tried per obstacle


def _plane(spec: mujoco.MjSpec, height: float) -> None:
    spec.worldbody.add_geom(
        name="ground",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0.0, 0.0, 0.05],
        pos=[0.0, 0.0, height],
        group=GROUND_GROUP,
        material="ground",
    )


def _box(spec: mujoco.MjSpec, name: str, center: tuple[float, float], half: tuple[float, float], top: float) -> None:
    shade = 0.86 + 0.14 * math.tanh(top / 0.02)
    spec.worldbody.add_geom(
        name=f"ground_{name}",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[half[0], half[1], GROUND_THICKNESS_M / 2.0],
        pos=[center[0], center[1], top - GROUND_THICKNESS_M / 2.0],
        group=GROUND_GROUP,
        material="block",
        rgba=[0.62 * shade, 0.66 * shade, 0.70 * shade, 1.0],
    )


def flat(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds an infinite plane at z = 0."""
    _plane(spec, 0.0)


def slope(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds flat ground up to x = START_HALF_SIDE_M, then a ramp along +x, downhill if the angle is negative."""
    angle = math.radians(settings.slope_deg)
    length = 8.0
    half = 4.0
    drop = min(0.0, length * math.sin(angle))
    if drop < 0.0:
        _plane(spec, drop - 0.01)
        _box(spec, "start", (START_HALF_SIDE_M - half, 0.0), (half, half), 0.0)
    else:
        _plane(spec, 0.0)
    along = (math.cos(angle), math.sin(angle))
    normal = (-math.sin(angle), math.cos(angle))
    spec.worldbody.add_geom(
        name="ground_ramp",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[length / 2.0, half, GROUND_THICKNESS_M / 2.0],
        pos=[
            START_HALF_SIDE_M + along[0] * length / 2.0 - normal[0] * GROUND_THICKNESS_M / 2.0,
            0.0,
            along[1] * length / 2.0 - normal[1] * GROUND_THICKNESS_M / 2.0,
        ],
        quat=[math.cos(angle / 2.0), 0.0, -math.sin(angle / 2.0), 0.0],
        group=GROUND_GROUP,
        material="ramp",
    )


def blocks(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds square blocks whose heights are uniformly random in +-block_height [m]."""
    heights = np.random.default_rng(settings.seed)
    _plane(spec, -2.0 * settings.block_height - 0.01)
    _box(spec, "start", (0.0, 0.0), (START_HALF_SIDE_M, START_HALF_SIDE_M), 0.0)
    count = round(FIELD_HALF_SIDE_M / BLOCK_SIDE_M)
    half = BLOCK_SIDE_M / 2.0
    for row in range(-count, count + 1):
        for column in range(-count, count + 1):
            top = float(heights.uniform(-settings.block_height, settings.block_height))
            if max(abs(row), abs(column)) * BLOCK_SIDE_M > START_HALF_SIDE_M:
                _box(spec, f"{row}_{column}", (row * BLOCK_SIDE_M, column * BLOCK_SIDE_M), (half, half), top)


def bumps(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds a smooth height field in +-bump_height [m]: random waves 0.25 to 1 m long, none in the start area."""
    count = 2 * round(FIELD_HALF_SIDE_M / CELL_M) + 1
    axis = np.linspace(-FIELD_HALF_SIDE_M, FIELD_HALF_SIDE_M, count)
    x, y = np.meshgrid(axis, axis)
    random = np.random.default_rng(settings.seed)
    surface = np.zeros_like(x)
    for _ in range(24):
        heading, length, phase = random.uniform([0.0, 0.25, 0.0], [math.tau, 1.0, math.tau])
        surface += np.sin(math.tau / length * (x * math.cos(heading) + y * math.sin(heading)) + phase)
    edge = np.maximum(np.abs(x), np.abs(y))
    fade = np.clip((edge - START_HALF_SIDE_M) / 0.3, 0.0, 1.0)
    surface *= fade * fade * (3.0 - 2.0 * fade) / np.max(np.abs(surface))
    # MuJoCo maps the data to 0 ... 1
    lowest = float(surface.min())
    span = float(np.ptp(surface))
    spec.add_hfield(
        name="bumps",
        size=[FIELD_HALF_SIDE_M, FIELD_HALF_SIDE_M, max(span * settings.bump_height, 1e-6), GROUND_THICKNESS_M],
        nrow=count,
        ncol=count,
        userdata=((surface - lowest) / span).ravel().tolist(),
    )
    _plane(spec, -2.0 * settings.bump_height - 0.01)
    spec.worldbody.add_geom(
        name="ground_bumps",
        type=mujoco.mjtGeom.mjGEOM_HFIELD,
        hfieldname="bumps",
        pos=[0.0, 0.0, lowest * settings.bump_height],
        group=GROUND_GROUP,
        material="block",
    )


def obstacles(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds a square room around the origin, with boxes and pillars outside the start area."""
    _plane(spec, 0.0)
    half = settings.room_size / 2.0
    for number, (x, y) in enumerate(((1, 0), (0, 1), (-1, 0), (0, -1))):
        length = half + WALL_THICKNESS_M
        shape = (WALL_THICKNESS_M / 2 if x else length, WALL_THICKNESS_M / 2 if y else length)
        _obstacle(
            spec, f"wall_{number}", (x * (half + WALL_THICKNESS_M / 2), y * (half + WALL_THICKNESS_M / 2)), shape, 0.0
        )
    for number, item in enumerate(layout(settings)):
        _obstacle(spec, str(number), (item.x, item.y), item.size, item.yaw)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A box, or an upright cylinder."""

    x: float  # [m]
    y: float  # [m]
    yaw: float  # [rad]
    size: tuple[float, ...]  # [m] half sides of a box, or the radius of a cylinder

    @property
    def radius(self) -> float:
        """Radius of the circumscribed circle [m]."""
        return math.hypot(*self.size)


def layout(settings: WorldSettings) -> list[Obstacle]:
    """Returns random obstacles, at least obstacle_gap [m] from each other, the walls and the start."""
    rng = np.random.default_rng(settings.seed)
    half = settings.room_size / 2.0
    gap = settings.obstacle_gap
    placed: list[Obstacle] = []
    for _ in range(MAX_TRIES * settings.obstacle_count):
        x, y = rng.uniform(-half, half, 2).tolist()
        size = rng.uniform(*OBSTACLE_SIZES_M, int(rng.integers(1, 3))).tolist()  # one size: a cylinder, two: a box
        item = Obstacle(x, y, float(rng.uniform(0.0, math.pi)), tuple(size))
        inside = max(abs(x), abs(y)) + item.radius + gap <= half
        free = math.hypot(x, y) - item.radius >= gap
        apart = all(math.dist((x, y), (o.x, o.y)) >= gap + item.radius + o.radius for o in placed)
        if inside and free and apart:
            placed.append(item)
        if len(placed) == settings.obstacle_count:
            break
    return placed


def _obstacle(spec: mujoco.MjSpec, name: str, center: tuple[float, float], half: tuple[float, ...], yaw: float) -> None:
    round_ = len(half) == 1
    spec.worldbody.add_geom(
        name=f"{OBSTACLE_PREFIX}_{name}",
        type=mujoco.mjtGeom.mjGEOM_CYLINDER if round_ else mujoco.mjtGeom.mjGEOM_BOX,
        size=[half[0], OBSTACLE_HEIGHT_M / 2, 0.0] if round_ else [*half, OBSTACLE_HEIGHT_M / 2],
        pos=[*center, OBSTACLE_HEIGHT_M / 2],
        quat=[math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0)],
        group=GROUND_GROUP,
        material="block",
        rgba=[0.62, 0.55, 0.47, 1.0],
    )


TERRAINS: dict[str, Callable[[mujoco.MjSpec, WorldSettings], None]] = {
    "flat": flat,
    "slope": slope,
    "blocks": blocks,
    "bumps": bumps,
    "obstacles": obstacles,
}
