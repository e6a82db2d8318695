"""The pose for transport: every leg folded onto itself, off the ground on which the body lies."""

from __future__ import annotations

import math

from hexapod_control.core.footing import belly_height
from hexapod_control.core.kinematics import Array, read_only
from hexapod_control.core.robot import Leg, Robot

INSIDE = 0.05  # [rad] the folded joints stay within their limits
UPRIGHT = 1.40  # [rad] a femur need not lean back over the body
CLEAR = 0.005  # [m] the folded feet stay above the ground


def raised(robot: Robot, joints: Array) -> Array:
    """Joints (n, 3) [rad] half-way: coxas straight and femurs up, the tibias as they are in `joints`."""
    return read_only([(_straight(leg), _up(leg), row[2]) for leg, row in zip(robot.legs, joints.tolist(), strict=True)])


def folded(robot: Robot) -> Array:
    """Joints (n, 3) [rad]: coxas straight, femurs up, tibias folded against them as far as the ground lets them."""
    return read_only([(_straight(leg), _up(leg), _down(robot, leg)) for leg in robot.legs])


def _straight(leg: Leg) -> float:
    return min(max(0.0, leg.coxa_joint.lower + INSIDE), leg.coxa_joint.upper - INSIDE)


def _up(leg: Leg) -> float:
    return min(leg.femur_joint.upper - INSIDE, UPRIGHT)


def _down(robot: Robot, leg: Leg) -> float:
    up = _up(leg)
    knee = leg.hip[2] + leg.femur_vertical + leg.femur.length * math.sin(up)
    lowest = robot.foot_radius + CLEAR - belly_height(robot)
    direction = math.asin(min(1.0, max(-1.0, (lowest - knee) / leg.tibia.length)))
    return min(max(direction - up, leg.tibia_joint.lower + INSIDE), leg.tibia_joint.upper - INSIDE)
