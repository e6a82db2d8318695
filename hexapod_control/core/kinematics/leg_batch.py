# SPDX-License-Identifier: Apache-2.0
"""Kinematics of one leg for many foot positions at once: `leg_kinematics` over arrays, for tables and searches.

Coordinates and angles are separate arrays of one shape: numpy is several times slower on the columns of one array.
A difference of two angles is computed as one arctangent, so that no angle has to be wrapped.
See docs/architecture/walking-mathematics.md, "Leg kinematics".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import BENT_LEG, ON_AXIS, base_to_hip
from hexapod_control.core.robot import Leg, Robot

Mask = NDArray[np.bool_]

Coordinates = tuple[Array, Array, Array]
"""x, y and z [m], or angles of coxa, femur and tibia [rad]."""

BLOCK = 4096  # targets solved together, so that intermediate results fit the cache of a core


class StepGeometry(NamedTuple):
    """Geometry of a step that is common to all legs and footholds."""

    foot_radius: float  # [m] of the ball
    height: float  # [m] of base_link above the ground
    lift: float  # [m]

    @classmethod
    def of(cls, robot: Robot, height: float) -> StepGeometry:
        """The steps of a robot with base_link at a height [m]."""
        return cls(robot.foot_radius, height, robot.walk.lift_height)


class BatchSolution(NamedTuple):
    """Joints for many targets of one leg's foot."""

    joints: Coordinates  # [rad] ignoring joint limits; for a target out of reach, of the nearest point
    reached: Mask  # True if the target is in reach and all joints are within their limits


def forward_over_arrays(leg: Leg, joints: Coordinates) -> Coordinates:
    """Ball centers [m, hip frame] for joint angles [rad]: `leg_forward` over arrays."""
    coxa, femur, tibia = joints
    c = np.cos(coxa)
    s = np.sin(coxa)
    d = leg.femur_lateral
    lower = femur + tibia
    r = leg.coxa.length + leg.femur.length * np.cos(femur) + leg.tibia.length * np.cos(lower)
    z = leg.femur_vertical + leg.femur.length * np.sin(femur) + leg.tibia.length * np.sin(lower)
    return r * c - d * s, r * s + d * c, z


def inverse_over_arrays(leg: Leg, feet: Coordinates) -> BatchSolution:
    """Joints for ball centers [m, hip frame]: `leg_inverse` over arrays, from BENT_LEG and without clamping.

    NaN targets are not reached.
    """
    return _in_blocks(feet, lambda x, y, z: _solve(leg, _target(leg, x, y, z)))


def joints_at_contacts(leg: Leg, radius: float, height: float, contacts: Coordinates) -> BatchSolution:
    """Joints for contact points (x, y) and heights z [m, base_footprint], under a level body.

    `ball_center_and_joints` over arrays, from BENT_LEG; `radius` [m] is that of the foot, `height` [m] of base_link.
    """
    coxa, femur, tibia = BENT_LEG
    bent = _arc(radius, np.array(femur + tibia))
    bent_x, bent_y = bent * math.cos(coxa), bent * math.sin(coxa)

    def solve(x: Array, y: Array, z: Array) -> BatchSolution:
        shift_x, shift_y = _rolled(leg, radius, _target(leg, x + bent_x, y + bent_y, z))
        return _solve(leg, _target(leg, x + shift_x, y + shift_y, z))

    return _in_blocks(base_to_hip(leg, (contacts[0], contacts[1], contacts[2] + (radius - height))), solve)


def _in_blocks(feet: Coordinates, solve: Callable[[Array, Array, Array], BatchSolution]) -> BatchSolution:
    """Solves for feet, broadcast to one shape, in blocks of at most BLOCK."""
    shape = np.broadcast_shapes(*(axis.shape for axis in feet))
    if math.prod(shape) <= BLOCK:
        joints, reached = solve(*feet)
        coxa, femur, tibia = (angle if angle.shape == shape else np.broadcast_to(angle, shape) for angle in joints)
        return BatchSolution((coxa, femur, tibia), reached)
    x, y, z = (np.broadcast_to(axis, shape).ravel() for axis in feet)
    angles = np.empty((3, x.size))
    reached = np.empty(x.size, dtype=np.bool_)
    for start in range(0, x.size, BLOCK):
        part = slice(start, start + BLOCK)
        angles[:, part], reached[part] = solve(x[part], y[part], z[part])
    coxa, femur, tibia = angles.reshape(3, *shape)
    return BatchSolution((coxa, femur, tibia), reached.reshape(shape))


class _Target(NamedTuple):
    """Targets in the plane of the leg, in which femur and tibia move."""

    off_axis: Mask  # False if the target is so close to the coxa axis that the coxa keeps the angle of BENT_LEG
    squared: Array  # [m^2] distance from the coxa axis
    plane_x: Array  # [m^2] x and y of the direction of the plane in the hip frame, times `squared`
    plane_y: Array
    outward: Array  # [m] from the femur axis
    upward: Array  # [m]
    cosine: Array  # of the tibia angle; beyond +-1 if the target is out of reach


def _target(leg: Leg, x: Array, y: Array, z: Array) -> _Target:
    """Ball centers [m, hip frame] in the plane of the leg."""
    d = leg.femur_lateral
    a = leg.femur.length
    b = leg.tibia.length
    squared = x * x + y * y
    off_axis = (squared >= d * d) & (squared >= ON_AXIS * ON_AXIS)
    radial = np.sqrt(np.where(off_axis, squared - d * d, 0.0))
    u = radial - leg.coxa.length
    w = z - leg.femur_vertical
    cosine = (u * u + w * w - (a * a + b * b)) / (2.0 * a * b)
    return _Target(off_axis, squared, x * radial + d * y, y * radial - d * x, u, w, cosine)


def _arc(radius: float, lower: Array) -> Array:
    """Distance [m] that a ball has rolled outwards, for the angle [rad] of its tibia to the horizontal."""
    lean = lower + 0.5 * math.pi
    return -radius * (lean - math.tau * np.rint(lean / math.tau))


def _rolled(leg: Leg, radius: float, target: _Target) -> tuple[Array, Array]:
    """As `rolling_shift` [m, hip frame], but from the target: coxa and femur angle need not be computed."""
    a = leg.femur.length
    b = leg.tibia.length
    u = target.outward
    w = target.upward
    cosine = np.clip(target.cosine, -1.0, 1.0)
    # of the foot, seen along the tibia
    along = b + a * cosine
    across = a * np.sqrt(1.0 - cosine * cosine)
    arc = _arc(radius, np.arctan2(w * along - u * across, u * along + w * across))
    share = arc / np.where(target.off_axis, target.squared, 1.0)
    x, y = math.cos(BENT_LEG[0]), math.sin(BENT_LEG[0])
    shift_x = np.where(target.off_axis, share * target.plane_x, arc * x)
    return shift_x, np.where(target.off_axis, share * target.plane_y, arc * y)


def _solve(leg: Leg, target: _Target) -> BatchSolution:
    """Inverse kinematics of targets in the plane of the leg."""
    a = leg.femur.length
    b = leg.tibia.length
    u = target.outward
    w = target.upward
    coxa = np.where(target.off_axis, np.arctan2(target.plane_y, target.plane_x), BENT_LEG[0])
    reached = target.off_axis & (np.abs(target.cosine) <= 1.0)
    cosine = np.clip(target.cosine, -1.0, 1.0)
    tibia = -np.arccos(cosine)
    # of the foot, seen along the femur
    along = a + b * cosine
    across = b * np.sqrt(1.0 - cosine * cosine)
    femur = np.arctan2(w * along + u * across, u * along - w * across)
    for joint, angle in zip(leg.joints, (coxa, femur, tibia), strict=True):
        reached &= (angle >= joint.lower) & (angle <= joint.upper)
    return BatchSolution((coxa, femur, tibia), reached)
