# SPDX-License-Identifier: Apache-2.0
"""Settings of the simulated world, its lidar and its depth cameras."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hexapod_control.core.quantity import check_fields, choice, number
from hexapod_control.core.reality import IDEAL, REALITIES, SEED
from hexapod_control.core.robot import Robot
from hexapod_control.core.simulated_world import FRICTION, PAYLOAD, WORLDS
from hexapod_control.sim.servo_models import servo_model

BETWEEN_TARGETS = ("hold", "linear")
ONLY_IN = {  # worlds in which these settings have an effect
    "seed": ("blocks", "bumps", "obstacles", "stairs", "gaps", "stones", "table", "course", "posts"),
    "slope_deg": ("slope",),
    "block_height": ("blocks", "course"),
    "bump_height": ("bumps",),
    "obstacle_count": ("obstacles", "posts"),
    "obstacle_gap": ("obstacles", "posts"),
    "room_size": ("obstacles",),
    "way_yaw_deg": ("stairs", "gaps", "stones", "course", "posts"),
    "stair_rise": ("stairs", "course"),
    "stair_tread": ("stairs", "course"),
    "stair_count": ("stairs", "course"),
    "gap_width": ("gaps",),
    "stone_side": ("stones",),
    "stone_spacing": ("stones",),
    "drop": ("gaps", "stones", "table", "course"),
    "ceiling_height": ("posts",),
}
LIVE: Mapping[str, Any] = {"live": True}  # can be changed while the simulation runs
IN_LEGS = {  # sizes that fit a robot, as shares of its longest reach (`Leg.reach`)
    **{"stair_rise": 0.25, "stair_tread": 1.5, "gap_width": 0.3},
    **{"stone_side": 0.4, "stone_spacing": 0.6, "drop": 1.25},
}
CEILING_CLEARANCE_M = 0.02


def _size(name: str, lower: float, upper: float, meaning: str) -> Any:
    return number(0.0, "m", lower, upper, f"{meaning}; 0: {IN_LEGS[name]:g} of femur and tibia", **LIVE)


@dataclass(frozen=True, slots=True)
class WorldSettings:
    """Settings of ground, robot and servos; unit, bounds and description are in the metadata of the fields."""

    world: str = choice("flat", f"ground: {', '.join(WORLDS)}", **LIVE)
    seed: int = number(0, "", 0, 2**31 - 1, "seed of everything random in the ground", **LIVE)
    slope_deg: float = number(10.0, "deg", -40.0, 40.0, "angle of the slope, + is uphill along x", **LIVE)
    block_height: float = number(0.02, "m", 0.0, 0.1, "maximum height of a block above or below the start", **LIVE)
    bump_height: float = number(0.02, "m", 0.0, 0.2, "maximum height of a bump above or below the start", **LIVE)
    obstacle_count: int = number(8, "", 0, 100, "number of obstacles or posts; fewer if there is no room", **LIVE)
    obstacle_gap: float = number(
        0.9, "m", 0.1, 5.0, "minimum distance between obstacles, and to the walls; from post to post", **LIVE
    )
    room_size: float = number(5.0, "m", 2.0, 50.0, "side of the square room around the obstacles", **LIVE)
    way_yaw_deg: float = number(
        10.0, "deg", 0.0, 45.0, "largest angle to x of stairs, gaps, stones, course and posts, drawn by seed", **LIVE
    )
    stair_rise: float = _size("stair_rise", -1.0, 1.0, "height of a step, - begins downwards")
    stair_tread: float = _size("stair_tread", 0.0, 3.0, "depth of a step")
    stair_count: int = number(5, "", 1, 20, "number of steps, up and as many down", **LIVE)
    gap_width: float = _size("gap_width", 0.0, 1.0, "width of a gap")
    stone_side: float = _size("stone_side", 0.0, 1.0, "side of a stepping stone")
    stone_spacing: float = _size("stone_spacing", 0.0, 1.5, "from middle to middle of two stepping stones")
    drop: float = _size("drop", 0.0, 3.0, "height of a table, depth of gaps, of the floor beside stones and of a ledge")
    ceiling_height: float = number(
        0.0, "m", 0.0, 5.0, "ceiling above the ground; 0: 0.02 m above a standing robot", **LIVE
    )
    friction: float = FRICTION.field(**LIVE)
    payload: float = PAYLOAD.field(**LIVE)
    reality: str = choice(IDEAL, f"errors of servos, legs and sensors: {', '.join(REALITIES)}", **LIVE)
    reality_seed: int = SEED.field(**LIVE)
    servo_model: str = choice("", "servo of every joint, a name in servo_models.py; empty: that of the robot file")
    between_targets: str = choice(
        "hold", f"course of the target until the next one arrives: {', '.join(BETWEEN_TARGETS)}"
    )
    timestep: float = number(0.002, "s", 1e-4, 0.005, "step of the physics")

    def __post_init__(self) -> None:
        for name, known in (("world", WORLDS), ("reality", REALITIES), ("between_targets", BETWEEN_TARGETS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, is {getattr(self, name)!r}")
        if self.servo_model:
            servo_model(self.servo_model)
        check_fields(self)

    def fitted(self, robot: Robot) -> WorldSettings:
        """Returns these settings with the sizes that are 0 replaced by those that fit the robot."""
        reach = max(leg.reach for leg in robot.legs)
        sizes: dict[str, Any] = {name: share * reach for name, share in IN_LEGS.items()}
        sizes["ceiling_height"] = robot.walk.height + robot.body.top + CEILING_CLEARANCE_M
        return replace(self, **{name: size for name, size in sizes.items() if not getattr(self, name)})


@dataclass(frozen=True, slots=True)
class LidarSettings:
    """Settings of the simulated lidars; unit, bounds and description are in the metadata of the fields."""

    scan_rate: float = number(10.0, "Hz", 0.5, 50.0, "scans per simulated second, while there is a subscriber")
    scan_rays: int = number(360, "", 8, 3600, "rays of a scan, over 360 degrees")
    scan_noise: float = number(0.01, "m", 0.0, 0.5, "standard deviation of a range")
    scan_range_min: float = number(0.1, "m", 0.01, 1.0, "shortest range; what is nearer is -inf")
    scan_range_max: float = number(6.0, "m", 1.0, 100.0, "longest range; what is farther is inf")
    rings: int = number(32, "", 2, 128, "rings of the 3D lidar, on lidar/points while there is a subscriber")
    ring_rays: int = number(180, "", 8, 2048, "rays of a ring, over 360 degrees")
    ring_lowest_deg: float = number(-60.0, "deg", -90.0, 0.0, "elevation of the lowest ring")
    ring_highest_deg: float = number(30.0, "deg", 0.0, 90.0, "elevation of the highest ring")

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True)
class DepthSettings:
    """Errors of the simulated depth cameras and the 3D lidar; the fields' metadata tell unit and bounds."""

    depth_latency: float = number(0.08, "s", 0.0, 1.0, "from taking a depth image or a cloud to its delivery")
    depth_noise: float = number(0.01, "", 0.0, 0.2, "standard deviation of a range, as a share of it")
    depth_flying: float = number(0.3, "", 0.0, 1.0, "share of the pixels at an edge that lie between both surfaces")
    depth_missing: float = number(0.02, "", 0.0, 1.0, "share of the pixels without a return")

    def __post_init__(self) -> None:
        check_fields(self)
