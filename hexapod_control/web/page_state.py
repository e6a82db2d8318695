"""What the page is shown: the robot's shape once, its state thirty times a second. Pure: arrays in, JSON out.

Frames: joints are those of the robot file; `body` puts base_link over the level base_footprint, from the feet that
stand; velocities are (vx, vy, wz) in base_footprint.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import center_of_mass

LOADED = 0.3  # [N] on a foot that stands, where nobody says what is planned
LOW = 0.004  # [m] above the lowest foot: stands, where nobody says anything


@dataclass(slots=True)
class RobotShape:
    """The newest of everything; None is not known (yet)."""

    joints: Array | None = None  # (n, 3) [rad]
    support: Array | None = None  # (n,) [N] planned
    forces: Array | None = None  # (n,) [N] measured
    odometry: tuple[float, float, float] | None = None  # [m], [m], [rad]
    commanded: tuple[float, float, float] | None = None  # [m/s], [m/s], [rad/s]
    achieved: tuple[float, float, float] | None = None
    margin: float | None = None  # [m]
    height: float = 0.0  # [m] of base_link, last known
    tilt: tuple[float, float] = field(default=(0.0, 0.0))  # [rad] roll, pitch


def shape(robot: Robot) -> dict[str, Any]:
    """The robot's geometry [m] for the drawing."""
    return {
        "name": robot.name,
        "size": robot.body.size,
        "center": robot.body.center,
        "foot_radius": robot.foot_radius,
        "height": robot.walk.height,
        "mass": robot.mass,
        "legs": [
            {
                "name": leg.name,
                "hip": leg.hip,
                "yaw": leg.hip_yaw,
                "coxa": leg.coxa.length,
                "femur": leg.femur.length,
                "tibia": leg.tibia.length,
                "lateral": leg.femur_lateral,
                "vertical": leg.femur_vertical,
                "foothold": leg.foothold,
            }
            for leg in robot.legs
        ],
    }


def planted(picture: RobotShape, feet: Array) -> list[bool]:
    """Which feet stand: the planner's word, else the contacts, else the lowest ones."""
    if picture.support is not None:
        return [bool(force > 0.0) for force in picture.support]
    if picture.forces is not None and picture.forces.max() > LOADED:
        return [bool(force > LOADED) for force in picture.forces]
    return [bool(z < feet[:, 2].min() + LOW) for z in feet[:, 2]]


def level(robot: Robot, feet: Array, stands: Sequence[bool]) -> tuple[float, float, float] | None:
    """Height [m], roll and pitch [rad] of base_link over the plane of the standing feet; None without a plane."""
    points = feet[np.array(stands, dtype=bool)]
    if len(points) < 3:
        return None
    middle = points.mean(axis=0)
    offset = points - middle
    (xx, xy), (_, yy) = offset[:, :2].T @ offset[:, :2]
    xz, yz = offset[:, :2].T @ offset[:, 2]
    determinant = xx * yy - xy * xy
    if determinant < 1e-9:
        return None
    a, b = (xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant
    norm = math.sqrt(1.0 + a * a + b * b)
    height = (a * middle[0] + b * middle[1] - middle[2]) / norm + robot.foot_radius
    return float(height), math.atan2(-b, 1.0), math.asin(a / norm)


def drawing(robot: Robot, picture: RobotShape) -> dict[str, Any]:
    """The fields of one `state` message."""
    fields: dict[str, Any] = {
        "odom": _rounded(picture.odometry),
        "commanded": _rounded(picture.commanded),
        "achieved": _rounded(picture.achieved),
        "margin": _rounded(picture.margin),
        "joints": None,
    }
    if picture.joints is None:
        return fields
    feet = np.asarray(forward(robot, picture.joints))
    stands = planted(picture, feet)
    seen = level(robot, feet, stands)
    if seen is not None:
        picture.height, picture.tilt = seen[0], seen[1:]
    fields["joints"] = _rounded(np.ravel(picture.joints).tolist())
    fields["planted"] = [int(value) for value in stands]
    fields["body"] = _rounded((picture.height, *picture.tilt))
    fields["mass"] = _rounded(center_of_mass(robot, picture.joints.tolist()))
    return fields


def _rounded(value: Any, digits: int = 4) -> Any:
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_rounded(item, digits) for item in value]
    return round(float(value), digits) if math.isfinite(value) else None
