"""The pose for transport: every leg folded onto itself, off the ground on which the body lies."""

from __future__ import annotations

import math

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.robot import Leg, Robot

INSIDE = 0.05  # [rad] distance of the folded joints from their limits
CLEAR = 0.005  # [m] height of the folded feet above the ground
CHOICES = 40  # candidate femur angles


def raised(robot: Robot, joints: Array) -> Array:
    """Returns intermediate joint angles (n, 3) [rad]: coxas straight, femurs up, tibias as in `joints`.

    No femur moves down, because with the feet on the ground that would lift the body.
    """
    return read_only(
        [
            (_straight(leg), max(_up(robot, leg), row[1]), row[2])
            for leg, row in zip(robot.legs, joints.tolist(), strict=True)
        ]
    )


def folded(robot: Robot) -> Array:
    """Returns joint angles (n, 3) [rad]: coxas straight, femurs up and tibias down so that the legs extend least."""
    rows = []
    for leg in robot.legs:
        up = _up(robot, leg)
        rows.append((_straight(leg), up, _down(robot, leg, up)))
    return read_only(rows)


def _straight(leg: Leg) -> float:
    return min(max(0.0, leg.coxa_joint.lower + INSIDE), leg.coxa_joint.upper - INSIDE)


def _up(robot: Robot, leg: Leg) -> float:
    """Returns the femur angle [rad] of the most compact folded leg."""
    lowest, highest = max(0.0, leg.femur_joint.lower + INSIDE), leg.femur_joint.upper - INSIDE
    choices = [lowest + (highest - lowest) * k / CHOICES for k in range(CHOICES + 1)]
    return min(choices, key=lambda up: _extension(leg, up, _down(robot, leg, up)))


def _extension(leg: Leg, femur: float, tibia: float) -> float:
    """Horizontal distance [m] of knee or foot from the femur axis, whichever is larger."""
    knee = leg.femur.length * math.cos(femur)
    return max(knee, knee + leg.tibia.length * math.cos(femur + tibia))


def _down(robot: Robot, leg: Leg, up: float) -> float:
    """Returns the tibia angle [rad] folded against a femur as far as the ground allows."""
    knee = leg.hip[2] + leg.femur_vertical + leg.femur.length * math.sin(up)
    lowest = robot.foot_radius + CLEAR - belly_height(robot)
    direction = math.asin(min(1.0, max(-1.0, (lowest - knee) / leg.tibia.length)))
    return min(max(direction - up, leg.tibia_joint.lower + INSIDE), leg.tibia_joint.upper - INSIDE)
