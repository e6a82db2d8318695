# SPDX-License-Identifier: Apache-2.0
"""Adds the ground of the simulated world to a MuJoCo specification.

The world's z is up and z = 0 is the flat area around the origin where the robot starts. Ground geoms are
static, named `ground...` and in group 2, to which rays can be limited; obstacles are too, named `obstacle...`.
What hangs above the ground is in group 0, so that rays from above find the ground below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import mujoco
import numpy as np

from hexapod_control.sim.world_settings import WorldSettings

GROUND_GROUP = 2
OVERHEAD_GROUP = 0
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
WAY_START_M = 0.6  # from the origin to stairs, gaps, stones, rubble and posts
WAY_HALF_WIDTH_M = 1.2
WAY_SHIFT_M = 0.1  # largest lateral offset of a way
LANDING_M = 1.0  # flat ground between stairs up and down, and under a ceiling
END_M = 2.0  # flat ground at the end of a way
GAPS = 5
GAP_SPACING_M = (0.25, 0.5)  # shortest and longest ground between two gaps
RUBBLE_ROWS = 10  # of blocks
STONE_ROWS = 16
STONE_COLUMNS = 8  # on each side of the middle
STONE_SHIFT = 0.25  # largest displacement of a stone, as a share of the gap beside it
TABLE_HALF_SIDES_M = (0.8, 1.1)
TABLE_SHIFT_M = 0.2  # largest distance of its middle from the origin, along each side
POST_RADIUS_M = 0.03
POST_OFFSETS_M = (0.05, 0.2)  # of posts from the middle of the way, to alternate sides


def _plane(spec: mujoco.MjSpec, height: float) -> None:
    spec.worldbody.add_geom(
        name="ground",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=[0.0, 0.0, 0.05],
        pos=[0.0, 0.0, height],
        group=GROUND_GROUP,
        material="ground",
    )


def _box(
    spec: mujoco.MjSpec,
    name: str,
    center: tuple[float, float],
    half: tuple[float, float],
    top: float,
    *,
    thickness: float = GROUND_THICKNESS_M,
    yaw: float = 0.0,
) -> None:
    shade = 0.86 + 0.14 * math.tanh(top / 0.02)
    spec.worldbody.add_geom(
        name=f"ground_{name}",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[half[0], half[1], thickness / 2.0],
        pos=[center[0], center[1], top - thickness / 2.0],
        quat=[math.cos(yaw / 2.0), 0.0, 0.0, math.sin(yaw / 2.0)],
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


@dataclass(frozen=True, slots=True)
class Way:
    """Where stairs, gaps, stones, rubble and posts are: a straight strip that begins ahead of the robot.

    Its coordinates are the distance [m] along it, from its beginning, and across it, + to the left.
    """

    yaw: float  # [rad] of its direction, from x
    shift: float  # [m] of its middle to the left of the origin

    @classmethod
    def of(cls, settings: WorldSettings) -> Way:
        """The way of a world, drawn by its seed."""
        most = math.radians(settings.way_yaw_deg)
        yaw, shift = np.random.default_rng(settings.seed).uniform([-most, -WAY_SHIFT_M], [most, WAY_SHIFT_M])
        return cls(float(yaw), float(shift))

    def place(self, along: float, across: float = 0.0) -> tuple[float, float]:
        """Returns x and y [m] in the world."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        across += self.shift
        return WAY_START_M + c * along - s * across, s * along + c * across

    def ground(
        self,
        spec: mujoco.MjSpec,
        name: str,
        span: tuple[float, float],
        top: float,
        *,
        floor: float,
        across: tuple[float, float] = (-WAY_HALF_WIDTH_M, WAY_HALF_WIDTH_M),
    ) -> None:
        """Adds a box from `floor` to `top` [m], between two distances along the way and two across it."""
        half = ((span[1] - span[0]) / 2.0, (across[1] - across[0]) / 2.0)
        center = self.place((span[0] + span[1]) / 2.0, (across[0] + across[1]) / 2.0)
        _box(spec, name, center, half, top, thickness=max(top - floor, GROUND_THICKNESS_M), yaw=self.yaw)

    def start(self, spec: mujoco.MjSpec, floor: float) -> None:
        """Adds the flat ground of the robot, which ends where the way begins."""
        self.ground(spec, "start", (-2.0 * FIELD_HALF_SIDE_M, 0.0), 0.0, floor=floor, across=(-4.0, 4.0))


def _steps(spec: mujoco.MjSpec, way: Way, start: float, steps: Iterable[tuple[float, float]], floor: float) -> None:
    """Adds steps, each with its length and height [m], from a distance along the way on; none at the floor's height."""
    for number, (length, top) in enumerate(steps):
        if top != floor:
            way.ground(spec, f"step_{number}", (start, start + length), top, floor=floor)
        start += length


def _flight(settings: WorldSettings, count: int) -> list[tuple[float, float]]:
    """Length and height [m] of the first steps of the stairs."""
    return [(settings.stair_tread, level * settings.stair_rise) for level in range(1, count + 1)]


def stairs(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds stairs, a landing, and stairs back to the height of the start; first downwards if the rise is negative."""
    way = Way.of(settings)
    *flight, (tread, top) = _flight(settings, settings.stair_count)
    floor = min(0.0, top)
    _plane(spec, floor)
    if floor < 0.0:
        way.start(spec, floor)
    steps = [*flight, (tread + LANDING_M, top), *reversed(flight), (END_M, 0.0)]
    _steps(spec, way, 0.0, steps, floor)


def gaps(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds GAPS gaps across the way, `drop` deep, at random distances."""
    way = Way.of(settings)
    floor = -settings.drop
    _plane(spec, floor)
    way.start(spec, floor)
    lengths = np.random.default_rng((settings.seed, 1)).uniform(*GAP_SPACING_M, GAPS - 1).tolist()
    steps = [step for length in (*lengths, END_M) for step in ((settings.gap_width, floor), (length, 0.0))]
    _steps(spec, way, 0.0, steps, floor)


def stones(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds rows of square stones, each slightly displaced, above a floor that is `drop` lower."""
    way = Way.of(settings)
    random = np.random.default_rng((settings.seed, 1))
    spacing = settings.stone_spacing
    half = min(settings.stone_side, spacing) / 2.0
    slack = STONE_SHIFT * (spacing - 2.0 * half)
    _plane(spec, -settings.drop)
    way.start(spec, -settings.drop)
    for row in range(STONE_ROWS):
        for column in range(-STONE_COLUMNS, STONE_COLUMNS + 1):
            u, v = random.uniform(-slack, slack, 2).tolist()
            u += (row + 1) * spacing - half
            v += column * spacing
            name = f"stone_{row}_{column}"
            way.ground(spec, name, (u - half, u + half), 0.0, floor=-settings.drop, across=(v - half, v + half))
    end = (STONE_ROWS + 1) * spacing - 2.0 * half
    way.ground(spec, "end", (end, end + END_M), 0.0, floor=-settings.drop)


def table(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds a rectangular table on which the robot stands, of random size, place and yaw."""
    random = np.random.default_rng(settings.seed)
    half = random.uniform(*TABLE_HALF_SIDES_M, 2).tolist()
    shift = random.uniform(-TABLE_SHIFT_M, TABLE_SHIFT_M, 2).tolist()
    _plane(spec, -settings.drop)
    _box(
        spec,
        "table",
        tuple(shift),
        tuple(half),
        0.0,
        thickness=settings.drop,
        yaw=float(random.uniform(-math.pi, math.pi)),
    )


def course(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds a field of rubble, flat ground, stairs, and a landing that ends at a ledge."""
    way = Way.of(settings)
    random = np.random.default_rng((settings.seed, 1))
    flight = _flight(settings, settings.stair_count)
    _, top = flight[-1]
    floor = min(0.0, top) - settings.drop
    _plane(spec, floor)
    way.start(spec, floor)
    for row in range(RUBBLE_ROWS):
        for column in range(round(2.0 * WAY_HALF_WIDTH_M / BLOCK_SIDE_M)):
            height = float(random.uniform(-settings.block_height, settings.block_height))
            left = column * BLOCK_SIDE_M - WAY_HALF_WIDTH_M
            span = (row * BLOCK_SIDE_M, (row + 1) * BLOCK_SIDE_M)
            way.ground(spec, f"{row}_{column}", span, height, floor=floor, across=(left, left + BLOCK_SIDE_M))
    steps = [(LANDING_M, 0.0), *flight, (LANDING_M, top)]
    _steps(spec, way, RUBBLE_ROWS * BLOCK_SIDE_M, steps, floor)


def posts(spec: mujoco.MjSpec, settings: WorldSettings) -> None:
    """Adds posts at alternate sides of the middle of the way, and behind them a ceiling."""
    way = Way.of(settings)
    random = np.random.default_rng((settings.seed, 1))
    side = 1.0 if random.random() < 0.5 else -1.0
    _plane(spec, 0.0)
    for number in range(settings.obstacle_count):
        across = side * float(random.uniform(*POST_OFFSETS_M))
        center = way.place(number * settings.obstacle_gap, across)
        _obstacle(spec, f"post_{number}", center, (POST_RADIUS_M,), 0.0)
        side = -side
    thickness = WALL_THICKNESS_M
    x, y = way.place(settings.obstacle_count * settings.obstacle_gap + LANDING_M / 2.0)
    spec.worldbody.add_geom(
        name=f"{OBSTACLE_PREFIX}_ceiling",
        type=mujoco.mjtGeom.mjGEOM_BOX,
        size=[LANDING_M / 2.0, WAY_HALF_WIDTH_M, thickness / 2.0],
        pos=[x, y, settings.ceiling_height + thickness / 2.0],
        quat=[math.cos(way.yaw / 2.0), 0.0, 0.0, math.sin(way.yaw / 2.0)],
        group=OVERHEAD_GROUP,
        material="block",
        rgba=[0.62, 0.55, 0.47, 0.5],
    )


TERRAINS: dict[str, Callable[[mujoco.MjSpec, WorldSettings], None]] = {
    "flat": flat,
    "slope": slope,
    "blocks": blocks,
    "bumps": bumps,
    "obstacles": obstacles,
    "stairs": stairs,
    "gaps": gaps,
    "stones": stones,
    "table": table,
    "course": course,
    "posts": posts,
}
