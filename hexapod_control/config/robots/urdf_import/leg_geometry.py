"""One leg of a URDF in the terms of a robot file: hip, lengths, offsets, and the mapping of its joint angles.

Everything is measured with all joints of the URDF at zero. The plane of the leg is perpendicular to the pitch axes;
only the position of the foot along them matters, so offsets of femur and tibia along the axes add up in
`lateral_offset`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hexapod_control.config.robots.draft.leg_draft import DraftJoint, LegGeometry
from hexapod_control.config.robots.draft.rotations import angles_of_rotation
from hexapod_control.config.robots.robot_keys import MAX_ANGLE_DEG
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfJoint
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS

MIN_DIRECTED_COXA_M = 1e-4  # a shorter coxa has no direction: the leg then points away from the middle of the body
SAME_LIMITS_RAD = 1e-3  # two limits this close are unset
WHOLE_TURN_RAD = math.radians(340.0)  # a larger range means that there is no limit
KEEP_ZERO_RAD = math.radians(30.0)  # of the coxa's mid-range: up to this the URDF's zero is used
UNSET_RANGE_DEG = {"coxa": (-60.0, 60.0), "femur": (-90.0, 120.0), "tibia": (-150.0, 0.0)}  # assumed


def leg_geometry(
    axes: Sequence[tuple[Array, Array]], foot: Array, joints: Sequence[UrdfJoint], middle: Array
) -> LegGeometry:
    """Geometry of the leg with these axes (point [m], direction) and foot [m] in base_link, at zero of the URDF.

    `middle` [m] of the body.
    """
    (hip, coxa_axis), (femur_start, femur_axis), (knee, tibia_axis) = axes
    up = coxa_axis * np.sign(coxa_axis[2])
    ahead = _ahead(up, femur_axis, femur_start - hip, femur_start - middle)
    left = np.cross(up, ahead)

    def in_plane(vector: Array) -> tuple[float, float]:
        x, y = float(vector @ ahead), float(vector @ up)
        return math.hypot(x, y), math.atan2(y, x)

    femur, femur_angle = in_plane(knee - femur_start)
    tibia, tibia_angle = in_plane(foot - knee)
    signs = [int(np.sign(coxa_axis @ up)), int(np.sign(-femur_axis @ left)), int(np.sign(-tibia_axis @ left))]
    zero = _coxa_zero(joints[0], signs[0])
    ours = (zero, femur_angle, tibia_angle - femur_angle)  # at zero of the URDF
    mapped = [_draft_joint(*each) for each in zip(JOINTS, joints, signs, ours, strict=True)]
    c, s = math.cos(zero), math.sin(zero)
    rotation = np.column_stack((c * ahead - s * left, s * ahead + c * left, up))
    roll, pitch, yaw = angles_of_rotation(rotation)
    return LegGeometry(
        hip=hip,
        yaw=yaw,
        tilt=(roll, pitch),
        coxa=float((femur_start - hip) @ ahead),
        lateral=float((foot - hip) @ left),
        vertical=float((femur_start - hip) @ up),
        femur=femur,
        tibia=tibia,
        joints=(mapped[0], mapped[1], mapped[2]),
    )


def _ahead(up: Array, femur_axis: Array, coxa: Array, outwards: Array) -> Array:
    """Direction of a leg at zero of the URDF: perpendicular to the femur axis, along the coxa or outwards."""
    across = femur_axis - (femur_axis @ up) * up
    ahead = np.cross(across / np.linalg.norm(across), up)
    length = float(coxa @ ahead)
    if abs(length) <= MIN_DIRECTED_COXA_M:  # too short to have a direction
        length = float(outwards @ ahead)
    return np.asarray(-ahead if length < 0.0 else ahead)


def _limits(joint: UrdfJoint) -> tuple[float, float] | None:
    """Range [rad] of a joint in the URDF; None if continuous, unset, zero or a whole turn."""
    if joint.kind == "continuous" or joint.lower is None or joint.upper is None:
        return None
    low, high = sorted((joint.lower, joint.upper))
    return (low, high) if SAME_LIMITS_RAD < high - low < WHOLE_TURN_RAD else None


def _coxa_zero(joint: UrdfJoint, sign: int) -> float:
    """Coxa angle [rad] of the robot file at the URDF's zero: 0 unless that is far from mid-range."""
    limits = _limits(joint)
    middle = 0.0 if limits is None else sign * (limits[0] + limits[1]) / 2.0
    return 0.0 if abs(middle) < KEEP_ZERO_RAD else -middle


def _draft_joint(kind: str, joint: UrdfJoint, sign: int, ours: float) -> DraftJoint:
    """The mapping of a joint whose angle in the robot file is `ours` [rad] at the URDF's zero."""
    limits = _limits(joint)
    ends = UNSET_RANGE_DEG[kind]
    if limits is not None:
        low, high = sorted(math.degrees(sign * limit + ours) for limit in limits)
        turns = _whole_turns(kind, low, high)
        ours += math.tau * turns
        ends = max(-MAX_ANGLE_DEG, low + 360.0 * turns), min(MAX_ANGLE_DEG, high + 360.0 * turns)
    else:
        ours = math.remainder(ours, math.tau)
    return DraftJoint(joint.name, sign, -sign * ours, *ends, limits is not None)


def _whole_turns(kind: str, low: float, high: float) -> int:
    """Full turns to add to a range [deg] so that it overlaps most with a leg's: tibia below 0, others around 0."""
    wanted = (-MAX_ANGLE_DEG, 0.0) if kind == "tibia" else (-90.0, 90.0)

    def shared(turns: int) -> float:
        return min(high + 360.0 * turns, wanted[1]) - max(low + 360.0 * turns, wanted[0])

    return max((0, 1, -1, 2, -2), key=shared)
