# SPDX-License-Identifier: Apache-2.0
"""Closed-form kinematics of a leg with lateral and vertical offsets; knee up.

Frames and signs are those of core.robot. The coxa turns the plane of the leg towards the foot, whose lateral offset d
at the distance r from the coxa axis contributes an angle asin(d / r). In that plane femur and tibia are a two-link arm:
the law of cosines gives the tibia angle, from which the femur angle follows. Formulas:
docs/architecture/walking-mathematics.md, "Leg kinematics"; source: the articles listed in docs/sources.md.

The functions for one leg use plain floats: six legs take a few microseconds, twenty times less than with small numpy
arrays. `forward`, `inverse` and `joint_velocities` take and return arrays for a whole robot.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from math import acos, asin, atan2, cos, hypot, pi, sin, sqrt
from typing import NamedTuple, TypeVar

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Leg, Matrix, Robot, Vector

Coordinate = TypeVar("Coordinate", float, Array)

LegJoints = tuple[float, float, float]
"""Joint angles of one leg: coxa, femur, tibia [rad]."""

BENT_LEG: LegJoints = (0.0, 0.5, -1.5)  # [rad] knee up: used in place of previous joints where there are none

ON_AXIS = 1e-9  # [m] a target this close to the coxa axis has no direction
LIMIT_TOLERANCE = 1e-6  # [rad] beyond a joint limit that counts as within: rounding, largest near a stretched leg


class UnreachableReason(Enum):
    """Why a target cannot be reached; the value completes 'the target is ...'."""

    TOO_FAR = "too far away"
    TOO_NEAR = "too near"
    ON_AXIS = "on the coxa axis"  # which has no direction: the coxa keeps its angle
    JOINT_LIMIT = "outside the joint limits"

    def describe(self, excess: float) -> Statement:
        """The reason, and by how much: `excess` as in LegSolution. Completes 'the target is ...'."""
        unit = "mrad" if self is UnreachableReason.JOINT_LIMIT else "mm"
        reason = Statement(f"reach_{self.name.lower()}", self.value)
        if excess <= 0.0:
            return reason
        return Statement("reach_by", "{reason}, by {excess:.1f} {unit}", reason=reason, excess=1e3 * excess, unit=unit)


class LegSolution(NamedTuple):
    """Joints for one foot target; if it is out of reach (`reason`), those of the nearest pose in reach."""

    joints: LegJoints  # [rad]
    reason: UnreachableReason | None
    excess: float  # [m] beyond the reach limit, or [rad] beyond the joint limit; 0 if reached


LegResult = tuple[LegJoints, UnreachableReason | None, float]
"""The fields of a LegSolution, as a tuple that is faster to build."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Joints for the foot targets of all legs."""

    joints: Array  # (n, 3) [rad], read-only
    reasons: tuple[UnreachableReason | None, ...]
    excess: tuple[float, ...]  # per leg, as in LegSolution

    @property
    def reached(self) -> bool:
        """True if every target is in reach."""
        return not any(self.reasons)


def leg_forward(leg: Leg, joints: LegJoints) -> tuple[Vector, Vector]:
    """Knee and foot (ball center) of a leg [m] in its hip frame for joint angles [rad]."""
    coxa, femur, tibia = joints
    cos_coxa, sin_coxa = math.cos(coxa), math.sin(coxa)
    knee_r = leg.coxa.length + leg.femur.length * math.cos(femur)
    knee_z = leg.femur_vertical + leg.femur.length * math.sin(femur)
    foot_r = knee_r + leg.tibia.length * math.cos(femur + tibia)
    foot_z = knee_z + leg.tibia.length * math.sin(femur + tibia)
    d = leg.femur_lateral
    return (
        (knee_r * cos_coxa - d * sin_coxa, knee_r * sin_coxa + d * cos_coxa, knee_z),
        (foot_r * cos_coxa - d * sin_coxa, foot_r * sin_coxa + d * cos_coxa, foot_z),
    )


def femur_axis(leg: Leg, cosine: Coordinate, sine: Coordinate) -> tuple[Coordinate, Coordinate, Coordinate | float]:
    """Where the coxa ends and the femur turns [m, hip frame], for `cosine` and `sine` of the coxa's angle."""
    r = leg.coxa.length
    d = leg.femur_lateral
    return r * cosine - d * sine, r * sine + d * cosine, leg.femur_vertical


def leg_inverse(leg: Leg, foot: Vector, previous: LegJoints) -> LegSolution:
    """Joints that bring the ball center to `foot` [m, hip frame], knee up.

    `previous` [rad] sets the coxa angle for a target without direction. A target out of reach is moved to the reach
    limit, an angle beyond a joint limit is clamped; `reason` says which, unless it is rounding: so the foot of any pose
    within the limits is in reach.
    """
    return LegSolution(*solve_leg(leg, hip_to_base(leg, foot), previous))


def solve_leg(leg: Leg, foot: Vector, previous: LegJoints) -> LegResult:
    """As `leg_inverse` for a foot in base_link [m], optimized for speed: called three times per leg and tick."""
    joints, reason, excess = solve_leg_unlimited(leg, foot, previous)
    coxa, femur, tibia = joints
    first, second, third = leg.coxa_joint, leg.femur_joint, leg.tibia_joint
    if (
        first.lower <= coxa <= first.upper
        and second.lower <= femur <= second.upper
        and third.lower <= tibia <= third.upper
    ):
        return joints, reason, excess
    clamped = clamp(leg, joints)
    beyond = max(abs(q - c) for q, c in zip(joints, clamped, strict=True))
    if beyond <= LIMIT_TOLERANCE:
        return clamped, reason, excess
    return clamped, reason or UnreachableReason.JOINT_LIMIT, excess or beyond


def solve_leg_unlimited(leg: Leg, foot: Vector, previous: LegJoints) -> LegResult:
    """As `solve_leg`, but without joint limits."""
    c, s, hip_x, hip_y, hip_z, d, coxa_length, vertical, a, b, a_squared, b_squared, twice_ab = leg.ik_constants
    x, y, z = foot
    x = x - hip_x
    y = y - hip_y
    z = z - hip_z
    if leg.rotation is None:
        x, y = c * x + s * y, c * y - s * x
    else:
        x, y, z = _into_tilted(leg.rotation, (x, y, z))
    reason: UnreachableReason | None = None
    excess = 0.0
    distance = hypot(x, y)
    if distance < ON_AXIS or distance < d or distance < -d:
        reason = UnreachableReason.ON_AXIS if distance < ON_AXIS else UnreachableReason.TOO_NEAR
        coxa = previous[0]
        radial = 0.0
        excess = abs(d) - distance
    else:
        radial = sqrt(distance * distance - d * d)
        coxa = atan2(y, x) - asin(d / distance)
        if abs(coxa) > pi:
            coxa = math.remainder(coxa, math.tau)

    u = radial - coxa_length
    w = z - vertical
    squared = u * u + w * w
    cosine = (squared - a_squared - b_squared) / twice_ab
    if cosine > 1.0:
        reason = reason or UnreachableReason.TOO_FAR
        excess = excess or sqrt(squared) - (a + b)
        cosine = 1.0
    elif cosine < -1.0:
        reason = reason or UnreachableReason.TOO_NEAR
        excess = excess or abs(a - b) - sqrt(squared)
        cosine = -1.0
    tibia = -acos(cosine)
    femur = atan2(w, u) - atan2(b * sin(tibia), a + b * cosine)
    if femur > pi:
        femur -= math.tau
    return (coxa, femur, tibia), reason, excess


def clamp(leg: Leg, joints: LegJoints) -> LegJoints:
    """Joint angles [rad] clamped to the leg's joint limits."""
    coxa, femur, tibia = (
        min(max(angle, joint.lower), joint.upper) for angle, joint in zip(joints, leg.joints, strict=True)
    )
    return coxa, femur, tibia


def leg_velocity(leg: Leg, joints: LegJoints, velocity: Vector) -> LegJoints:
    """Joint speeds [rad/s] that move the foot with `velocity` [m/s, hip frame]; 0 for joints in a singular pose."""
    coxa, femur, tibia = joints
    vx, vy, vz = velocity
    cos_coxa, sin_coxa = cos(coxa), sin(coxa)
    radial_speed = vx * cos_coxa + vy * sin_coxa
    across_speed = vy * cos_coxa - vx * sin_coxa
    a = leg.femur.length
    b = leg.tibia.length
    total = femur + tibia
    cos_femur, cos_total = cos(femur), cos(total)
    radial = leg.coxa.length + a * cos_femur + b * cos_total
    # The coxa moves the foot by (-lateral, radial) per radian; femur and tibia have to compensate the lateral part.
    coxa_speed = across_speed / radial if abs(radial) > 1e-6 else 0.0
    plane_speed = radial_speed + leg.femur_lateral * coxa_speed
    sin_tibia = sin(tibia)
    if abs(sin_tibia) < 1e-6:
        return coxa_speed, 0.0, 0.0
    femur_speed = (plane_speed * cos_total + vz * sin(total)) / (a * sin_tibia)
    total_speed = -(plane_speed * cos_femur + vz * sin(femur)) / (b * sin_tibia)
    return coxa_speed, femur_speed, total_speed - femur_speed


def hip_to_base(
    leg: Leg, point: tuple[Coordinate, Coordinate, Coordinate]
) -> tuple[Coordinate, Coordinate, Coordinate]:
    """A point of the hip frame [m], or arrays of points, in base_link [m]."""
    c, s = leg.hip_direction
    if leg.rotation is not None:
        (a, b, e), (f, g, h), (i, j, k) = leg.rotation
        x, y, z = point
        return (
            leg.hip[0] + a * x + b * y + e * z,
            leg.hip[1] + f * x + g * y + h * z,
            leg.hip[2] + i * x + j * y + k * z,
        )
    return (
        leg.hip[0] + c * point[0] - s * point[1],
        leg.hip[1] + s * point[0] + c * point[1],
        leg.hip[2] + point[2],
    )


def base_to_hip(
    leg: Leg, point: tuple[Coordinate, Coordinate, Coordinate]
) -> tuple[Coordinate, Coordinate, Coordinate]:
    """A point of base_link [m], or arrays of points, in the hip frame [m]."""
    c, s = leg.hip_direction
    x, y, z = point
    hip_x, hip_y, hip_z = leg.hip
    x = x - hip_x
    y = y - hip_y
    if leg.rotation is not None:
        return _into_tilted(leg.rotation, (x, y, z - hip_z))
    return c * x + s * y, c * y - s * x, z - hip_z


def _into_tilted(
    rotation: Matrix, vector: tuple[Coordinate, Coordinate, Coordinate]
) -> tuple[Coordinate, Coordinate, Coordinate]:
    """A vector of base_link [m], or arrays of vectors, along the axes of a tilted hip frame."""
    (a, b, c), (d, e, f), (g, h, i) = rotation
    x, y, z = vector
    return a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z


def forward(robot: Robot, joints: Array) -> Array:
    """Ball centers (n, 3) [m] in base_link for joints (n, 3) [rad]."""
    return read_only(
        [
            hip_to_base(leg, leg_forward(leg, angles)[1])
            for leg, angles in zip(robot.legs, np.asarray(joints).tolist(), strict=True)
        ]
    )


def inverse(robot: Robot, feet: Array, previous: Array) -> Solution:
    """Joints for ball centers `feet` (n, 3) [m] in base_link, with the previous joints (n, 3) [rad]."""
    solutions = [
        solve_leg(leg, foot, angles)
        for leg, foot, angles in zip(robot.legs, np.asarray(feet).tolist(), np.asarray(previous).tolist(), strict=True)
    ]
    joints, reasons, excess = zip(*solutions, strict=True)
    return Solution(read_only(joints), reasons, excess)


def joint_velocities(robot: Robot, joints: Array, velocities: Array) -> Array:
    """Joint speeds (n, 3) [rad/s] at joints (n, 3) [rad] for foot velocities (n, 3) [m/s] in base_link."""
    speeds = []
    for leg, angles, (vx, vy, vz) in zip(
        robot.legs, np.asarray(joints).tolist(), np.asarray(velocities).tolist(), strict=True
    ):
        c, s = leg.hip_direction
        velocity = (c * vx + s * vy, c * vy - s * vx, vz)
        if leg.rotation is not None:
            velocity = _into_tilted(leg.rotation, (vx, vy, vz))
        speeds.append(leg_velocity(leg, angles, velocity))
    return read_only(speeds)
