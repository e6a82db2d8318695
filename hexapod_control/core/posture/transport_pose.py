# SPDX-License-Identifier: Apache-2.0
"""The joint angles for transport: the body lies on the ground, and every leg is folded above it."""

from __future__ import annotations

import math

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.robot import Leg, Robot

LIMIT_MARGIN = 0.05  # [rad] distance of the folded joints from their limits
FOOT_CLEARANCE = 0.005  # [m] height of the folded feet above the ground
FEMUR_STEPS = 40  # between the candidate femur angles


def raised(robot: Robot, joints: Array) -> Array:
    """Returns joint angles (n, 3) [rad] on the way to `folded`: coxas straight, femurs up, tibias as in `joints`.

    A femur that is higher already stays there: moving it down could lift the body.
    """
    return read_only(
        [
            (_straight_coxa(leg), max(_folded_femur(robot, leg), femur), tibia)
            for leg, (_, femur, tibia) in zip(robot.legs, joints.tolist(), strict=True)
        ]
    )


def folded(robot: Robot) -> Array:
    """Returns joint angles (n, 3) [rad]: coxas straight, femurs and tibias folded so that the legs extend least."""
    rows = []
    for leg in robot.legs:
        femur = _folded_femur(robot, leg)
        rows.append((_straight_coxa(leg), femur, _folded_tibia(robot, leg, femur)))
    return read_only(rows)


def _straight_coxa(leg: Leg) -> float:
    """The coxa angle [rad] within its limits that is nearest to 0."""
    return min(max(0.0, leg.coxa_joint.lower + LIMIT_MARGIN), leg.coxa_joint.upper - LIMIT_MARGIN)


def _folded_femur(robot: Robot, leg: Leg) -> float:
    """Returns the femur angle [rad] of the most compact folded leg."""
    lowest = max(0.0, leg.femur_joint.lower + LIMIT_MARGIN)
    highest = leg.femur_joint.upper - LIMIT_MARGIN
    choices = [lowest + (highest - lowest) * k / FEMUR_STEPS for k in range(FEMUR_STEPS + 1)]
    return min(choices, key=lambda femur: _extension(leg, femur, _folded_tibia(robot, leg, femur)))


def _extension(leg: Leg, femur: float, tibia: float) -> float:
    """Horizontal distance [m] of knee or foot from the femur axis, whichever is larger."""
    knee = leg.femur.length * math.cos(femur)
    return max(knee, knee + leg.tibia.length * math.cos(femur + tibia))


def _folded_tibia(robot: Robot, leg: Leg, femur: float) -> float:
    """Returns the tibia angle [rad], folded against the femur (angle [rad]) as far as the ground allows."""
    knee = leg.hip[2] + leg.femur_vertical + leg.femur.length * math.sin(femur)
    lowest = robot.foot_radius + FOOT_CLEARANCE - belly_height(robot)
    direction = math.asin(min(1.0, max(-1.0, (lowest - knee) / leg.tibia.length)))
    return min(max(direction - femur, leg.tibia_joint.lower + LIMIT_MARGIN), leg.tibia_joint.upper - LIMIT_MARGIN)
