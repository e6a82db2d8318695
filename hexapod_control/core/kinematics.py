"""Closed-form kinematics of a leg with lateral and vertical offsets; knee up.

Frames and signs are those of core.robot. Per leg the functions work in the hip frame with plain floats (a
tick of six legs costs a few microseconds that way, twenty times less than small numpy arrays); `forward` and
`inverse` are the same for a whole robot in base_link, with arrays at the border.

Source of the method: the two-link circle intersection and the lateral offset asin(offset / distance) of the
articles listed in docs/sources.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.robot import Leg, Robot, Vector

Array = NDArray[np.float64]
Row = tuple[float, float, float]
"""Joint angles of one leg: coxa, femur, tibia [rad]."""

ON_AXIS = 1e-9  # [m] nearer than this to the coxa axis the direction of a target has no meaning


class Reach(Enum):
    """Why a target cannot be reached; the value is the end of the sentence 'the target is ...'."""

    TOO_FAR = "too far away"
    TOO_NEAR = "too near"
    ON_AXIS = "on the coxa axis, which has no direction; the coxa stays where it is"
    JOINT_LIMIT = "outside the joint limits"


class LegSolution(NamedTuple):
    """Joints for one foot target; if `reason` is set the joints are the nearest that can be had."""

    joints: Row  # [rad]
    reason: Reach | None
    excess: float  # [m] beyond the reach limit, or [rad] beyond the joint limit; 0 if reached


@dataclass(frozen=True, slots=True)
class Solution:
    """Joints for all feet."""

    joints: Array  # (n, 3) [rad], read-only
    reasons: tuple[Reach | None, ...]
    excess: tuple[float, ...]  # per leg, as in LegSolution

    @property
    def reached(self) -> bool:
        """True if every foot can be where it was asked to be."""
        return not any(self.reasons)


def read_only(values: object) -> Array:
    """A float64 copy that cannot be written to."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def leg_forward(leg: Leg, joints: Row) -> tuple[Vector, Vector]:
    """Knee and foot (ball centre) of a leg [m] in its hip frame for joint angles [rad]."""
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


def leg_inverse(leg: Leg, foot: Vector, previous: Row) -> LegSolution:
    """Joints that bring the ball centre to `foot` [m, hip frame], knee up.

    `previous` [rad] gives the coxa its angle where the target has no direction. A target out of reach is
    pulled back to the reach limit, an angle beyond a joint limit is clamped; the reason says which.
    """
    x, y, z = foot
    d = leg.femur_lateral
    reason: Reach | None = None
    excess = 0.0
    distance = math.hypot(x, y)
    if distance < max(ON_AXIS, abs(d)):
        reason = Reach.ON_AXIS if distance < ON_AXIS else Reach.TOO_NEAR
        coxa, radial, excess = previous[0], 0.0, abs(d) - distance
    else:
        radial = math.sqrt(distance * distance - d * d)
        coxa = math.atan2(y, x) - math.asin(d / distance)
        if abs(coxa) > math.pi:
            coxa = math.remainder(coxa, math.tau)

    u = radial - leg.coxa.length
    w = z - leg.femur_vertical
    a, b = leg.femur.length, leg.tibia.length
    squared = u * u + w * w
    bend = (squared - a * a - b * b) / (2.0 * a * b)
    if bend > 1.0:
        reason, excess = reason or Reach.TOO_FAR, excess or math.sqrt(squared) - (a + b)
        bend = 1.0
    elif bend < -1.0:
        reason, excess = reason or Reach.TOO_NEAR, excess or abs(a - b) - math.sqrt(squared)
        bend = -1.0
    tibia = -math.acos(bend)
    femur = math.atan2(w, u) - math.atan2(b * math.sin(tibia), a + b * bend)
    if femur > math.pi:
        femur -= math.tau

    joints = (coxa, femur, tibia)
    first, second, third = leg.coxa_joint, leg.femur_joint, leg.tibia_joint
    if (
        first.lower <= coxa <= first.upper
        and second.lower <= femur <= second.upper
        and third.lower <= tibia <= third.upper
    ):
        return LegSolution(joints, reason, excess)
    clamped = clamp(leg, joints)
    beyond = max(abs(q - c) for q, c in zip(joints, clamped, strict=True))
    return LegSolution(clamped, reason or Reach.JOINT_LIMIT, excess or beyond)


def clamp(leg: Leg, joints: Row) -> Row:
    """Joint angles [rad] pulled inside the leg's joint limits."""
    coxa, femur, tibia = (
        min(max(angle, joint.lower), joint.upper) for angle, joint in zip(joints, leg.joints, strict=True)
    )
    return coxa, femur, tibia


def leg_velocity(leg: Leg, joints: Row, velocity: Vector) -> Row:
    """Joint speeds [rad/s] that move the foot with `velocity` [m/s, hip frame]; 0 along a singular direction."""
    coxa, femur, tibia = joints
    cos_coxa, sin_coxa = math.cos(coxa), math.sin(coxa)
    radial_speed = velocity[0] * cos_coxa + velocity[1] * sin_coxa
    across_speed = velocity[1] * cos_coxa - velocity[0] * sin_coxa
    a, b = leg.femur.length, leg.tibia.length
    total = femur + tibia
    radial = leg.coxa.length + a * math.cos(femur) + b * math.cos(total)
    # A coxa turn moves the foot by (-lateral, radial): the lateral part has to be taken back by the leg's plane.
    coxa_speed = across_speed / radial if abs(radial) > 1e-6 else 0.0
    plane_speed = radial_speed + leg.femur_lateral * coxa_speed
    sin_tibia = math.sin(tibia)
    if abs(sin_tibia) < 1e-6:
        return coxa_speed, 0.0, 0.0
    femur_speed = (plane_speed * math.cos(total) + velocity[2] * math.sin(total)) / (a * sin_tibia)
    total_speed = -(plane_speed * math.cos(femur) + velocity[2] * math.sin(femur)) / (b * sin_tibia)
    return coxa_speed, femur_speed, total_speed - femur_speed


def hip_to_base(leg: Leg, point: Vector) -> Vector:
    """A point of the hip frame [m] in base_link [m]."""
    c, s = math.cos(leg.hip_yaw), math.sin(leg.hip_yaw)
    return (
        leg.hip[0] + c * point[0] - s * point[1],
        leg.hip[1] + s * point[0] + c * point[1],
        leg.hip[2] + point[2],
    )


def base_to_hip(leg: Leg, point: Vector) -> Vector:
    """A point of base_link [m] in the hip frame [m]."""
    c, s = math.cos(leg.hip_yaw), math.sin(leg.hip_yaw)
    x, y = point[0] - leg.hip[0], point[1] - leg.hip[1]
    return c * x + s * y, c * y - s * x, point[2] - leg.hip[2]


def forward(robot: Robot, joints: Array) -> Array:
    """Ball centres (n, 3) [m] in base_link for joints (n, 3) [rad]."""
    return read_only(
        [
            hip_to_base(leg, leg_forward(leg, row)[1])
            for leg, row in zip(robot.legs, np.asarray(joints).tolist(), strict=True)
        ]
    )


def inverse(robot: Robot, feet: Array, previous: Array) -> Solution:
    """Joints for ball centres `feet` (n, 3) [m] in base_link, with the previous joints (n, 3) [rad]."""
    solutions = [
        leg_inverse(leg, base_to_hip(leg, foot), row)
        for leg, foot, row in zip(robot.legs, np.asarray(feet).tolist(), np.asarray(previous).tolist(), strict=True)
    ]
    return Solution(
        read_only([s.joints for s in solutions]),
        tuple(s.reason for s in solutions),
        tuple(s.excess for s in solutions),
    )


def joint_velocities(robot: Robot, joints: Array, velocities: Array) -> Array:
    """Joint speeds (n, 3) [rad/s] at joints (n, 3) [rad] for foot velocities (n, 3) [m/s] in base_link."""
    rows = []
    for leg, row, (vx, vy, vz) in zip(
        robot.legs, np.asarray(joints).tolist(), np.asarray(velocities).tolist(), strict=True
    ):
        c, s = math.cos(leg.hip_yaw), math.sin(leg.hip_yaw)
        rows.append(leg_velocity(leg, row, (c * vx + s * vy, c * vy - s * vx, vz)))
    return read_only(rows)
