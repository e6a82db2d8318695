"""Kinematics of one leg for many feet at once: `leg_kinematics` over arrays, for tables and searches.

Coordinates and angles are separate arrays of one shape, as numpy is several times slower on columns of a wider one.
Each difference of two angles is computed as one arctangent, so that nothing has to be wrapped.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, ON_AXIS, base_to_hip
from hexapod_control.core.robot import Leg

Mask = NDArray[np.bool_]

Coordinates = tuple[Array, Array, Array]
"""x, y and z [m], or angles of coxa, femur and tibia [rad]."""

BLOCK = 4096  # feet solved together, so that intermediate results fit the cache of a core


class BatchSolution(NamedTuple):
    """Joints for many targets of one leg's foot."""

    joints: Coordinates  # [rad] ignoring joint limits; for a target out of reach, of the nearest point
    reached: Mask  # True if the target is in reach and all joints are within their limits


def forward_over_arrays(leg: Leg, joints: Coordinates) -> Coordinates:
    """Ball centres [m, hip frame] for joint angles [rad]: `leg_forward` over arrays."""
    coxa, femur, tibia = joints
    c, s, d = np.cos(coxa), np.sin(coxa), leg.femur_lateral
    lower = femur + tibia
    r = leg.coxa.length + leg.femur.length * np.cos(femur) + leg.tibia.length * np.cos(lower)
    z = leg.femur_vertical + leg.femur.length * np.sin(femur) + leg.tibia.length * np.sin(lower)
    return r * c - d * s, r * s + d * c, z


def inverse_over_arrays(leg: Leg, feet: Coordinates) -> BatchSolution:
    """Joints for ball centres [m, hip frame]: `leg_inverse` over arrays, from BENT_LEG and without clamping.

    NaN targets are not reached.
    """
    shape = np.broadcast_shapes(*(axis.shape for axis in feet))
    x, y, z = (np.broadcast_to(axis, shape).ravel() for axis in feet)
    joints = np.empty((3, x.size))
    reached = np.empty(x.size, dtype=np.bool_)
    for start in range(0, x.size, BLOCK):
        part = slice(start, start + BLOCK)
        joints[:, part], reached[part] = _solve(leg, x[part], y[part], z[part])
    coxa, femur, tibia = joints.reshape(3, *shape)
    return BatchSolution((coxa, femur, tibia), reached.reshape(shape))


def joints_at_contacts(leg: Leg, radius: float, height: float, contacts: Coordinates) -> BatchSolution:
    """Joints for contact points [m, base_footprint] that are lifted by their z, under a level body.

    `ball_centre_and_joints` over arrays, from BENT_LEG; `radius` [m] is that of the foot, `height` [m] of base_link.
    """
    x, y, z = base_to_hip(leg, (contacts[0], contacts[1], contacts[2] + (radius - height)))
    shift_x, shift_y = _rolled(radius, *(np.array(angle) for angle in BENT_LEG))
    rolled = inverse_over_arrays(leg, (x + shift_x, y + shift_y, z))
    shift_x, shift_y = _rolled(radius, *rolled.joints)
    return inverse_over_arrays(leg, (x + shift_x, y + shift_y, z))


def _rolled(radius: float, coxa: Array, femur: Array, tibia: Array) -> tuple[Array, Array]:
    """From the contact point to below the ball's centre [m, hip frame]."""
    lean = femur + tibia + 0.5 * math.pi  # of the tibia from the vertical
    arc = -radius * (lean - math.tau * np.rint(lean / math.tau))
    return arc * np.cos(coxa), arc * np.sin(coxa)


def _solve(leg: Leg, x: Array, y: Array, z: Array) -> BatchSolution:
    d, a, b = leg.femur_lateral, leg.femur.length, leg.tibia.length
    square = x * x + y * y
    reached = (square >= d * d) & (square >= ON_AXIS * ON_AXIS)
    radial = np.sqrt(np.where(reached, square - d * d, 0.0))
    coxa = np.where(reached, np.arctan2(y * radial - d * x, x * radial + d * y), BENT_LEG[0])

    u, w = radial - leg.coxa.length, z - leg.femur_vertical
    cosine = (u * u + w * w - (a * a + b * b)) / (2.0 * a * b)
    reached &= np.abs(cosine) <= 1.0
    cosine = np.clip(cosine, -1.0, 1.0)
    tibia = -np.arccos(cosine)
    along, across = a + b * cosine, b * np.sqrt(1.0 - cosine * cosine)  # of the foot, seen along the femur
    femur = np.arctan2(w * along + u * across, u * along - w * across)
    for joint, angle in zip(leg.joints, (coxa, femur, tibia), strict=True):
        reached &= (angle >= joint.lower) & (angle <= joint.upper)
    return BatchSolution((coxa, femur, tibia), reached)
