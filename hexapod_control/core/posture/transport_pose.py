"""The pose for transport: every leg folded onto itself, off the ground on which the body lies."""

from __future__ import annotations

import math

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.robot import Leg, Robot

INSIDE = 0.05  # [rad] the folded joints stay within their limits
CLEAR = 0.005  # [m] the folded feet stay above the ground
CHOICES = 40  # femurs that are tried


def raised(robot: Robot, joints: Array) -> Array:
    """Intermediate joints (n, 3) [rad]: coxas straight and femurs up, the tibias as they are in `joints`.

    No femur goes down: with the feet on the ground that would lift the body.
    """
    return read_only(
        [
            (_straight(leg), max(_up(robot, leg), row[1]), row[2])
            for leg, row in zip(robot.legs, joints.tolist(), strict=True)
        ]
    )


def folded(robot: Robot) -> Array:
    """Joints (n, 3) [rad]: coxas straight, and the femurs up and the tibias down so that the legs stick out least."""
    rows = []
    for leg in robot.legs:
        up = _up(robot, leg)
        rows.append((_straight(leg), up, _down(robot, leg, up)))
    return read_only(rows)


def _straight(leg: Leg) -> float:
    return min(max(0.0, leg.coxa_joint.lower + INSIDE), leg.coxa_joint.upper - INSIDE)


def _up(robot: Robot, leg: Leg) -> float:
    """The femur [rad] with which the folded leg sticks out least."""
    lowest, highest = max(0.0, leg.femur_joint.lower + INSIDE), leg.femur_joint.upper - INSIDE
    choices = [lowest + (highest - lowest) * k / CHOICES for k in range(CHOICES + 1)]
    return min(choices, key=lambda up: _sticks_out(leg, up, _down(robot, leg, up)))


def _sticks_out(leg: Leg, femur: float, tibia: float) -> float:
    """How far [m] knee or foot are out from the femur's axis."""
    knee = leg.femur.length * math.cos(femur)
    return max(knee, knee + leg.tibia.length * math.cos(femur + tibia))


def _down(robot: Robot, leg: Leg, up: float) -> float:
    """The tibia [rad] folded against a femur as far as the ground lets it."""
    knee = leg.hip[2] + leg.femur_vertical + leg.femur.length * math.sin(up)
    lowest = robot.foot_radius + CLEAR - belly_height(robot)
    direction = math.asin(min(1.0, max(-1.0, (lowest - knee) / leg.tibia.length)))
    return min(max(direction - up, leg.tibia_joint.lower + INSIDE), leg.tibia_joint.upper - INSIDE)
