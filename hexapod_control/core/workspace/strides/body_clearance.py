"""Clearance between the femur of a leg and the box of the body, over whole stride regions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_batch import forward_over_arrays, joints_at_contacts
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.workspace.stance_regions import DIRECTIONS
from hexapod_control.core.workspace.strides.foot_paths import Points

CLEARANCE = 0.003  # [m] minimum between a femur and the body, unless it is less about the neutral foothold
POINT = 1e-9  # [m] in place of a link length of zero
FEMUR_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of the femur's length: points on it, from its axis


def clear_of_body(robot: Robot, leg: Leg, centers: Points, radii: Array) -> NDArray[np.bool_]:
    """True (C,) where the femur clears the body over the whole region about a center.

    `centers` (C,) [m, base_footprint] and `radii` (C,) [m] are those of the regions. The last center is the neutral
    foothold: if the femur is closer to the body there than CLEARANCE, that distance is sufficient everywhere.
    """
    around = np.array([0.0, *(complex(*direction) for direction in DIRECTIONS)])
    feet = centers[:, None] + radii[:, None] * around
    contacts = feet.real, feet.imag, np.zeros(feet.shape)
    joints = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
    no_tibia = replace(leg.tibia, length=POINT)
    nearest = np.full(len(centers), np.inf)
    for share in FEMUR_SHARES:
        part = replace(leg, femur=replace(leg.femur, length=max(share * leg.femur.length, POINT)), tibia=no_tibia)
        point = np.stack(hip_to_base(leg, forward_over_arrays(part, joints)), axis=-1)
        np.minimum(nearest, distance_from_body(robot, point).min(axis=-1) - leg.femur.radius, out=nearest)
    clear: NDArray[np.bool_] = nearest >= min(CLEARANCE, float(nearest[-1]))
    return clear


def distance_from_body(robot: Robot, points: Array) -> Array:
    """Returns signed distances (...) [m] of points (..., 3) from the box of the body, negative inside."""
    beyond = np.abs(points - np.array(robot.body.center)) - 0.5 * np.array(robot.body.size)
    distance: Array = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(axis=-1), 0.0)
    return distance
