# SPDX-License-Identifier: Apache-2.0
"""The body pose relative to the neutral stance, and its transform between base_link and base_footprint.

base_footprint is level, on the support plane, with the heading of the walk. A body pose puts base_link into
it at (x, y, height + z) with the rotation Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import math
from typing import NamedTuple

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Vector


class BodyPose(NamedTuple):
    """Offset of base_link from its pose in the neutral stance."""

    x: float = 0.0  # [m] forward
    y: float = 0.0  # [m] left
    z: float = 0.0  # [m] up, added to the walk height
    roll: float = 0.0  # [rad]
    pitch: float = 0.0  # [rad], + nose down
    yaw: float = 0.0  # [rad]

    @property
    def level(self) -> BodyPose:
        """The level pose over the feet at the same height."""
        return BodyPose(z=self.z)

    def towards(self, goal: BodyPose, share: float) -> BodyPose:
        """Interpolates each coordinate linearly between this pose (share 0) and the goal (share 1)."""
        return BodyPose(*(a + share * (b - a) for a, b in zip(self, goal, strict=True)))

    def rotation(self) -> tuple[Vector, Vector, Vector]:
        """Rotation matrix base_link -> base_footprint, row by row."""
        cr, sr = math.cos(self.roll), math.sin(self.roll)
        cp, sp = math.cos(self.pitch), math.sin(self.pitch)
        cy, sy = math.cos(self.yaw), math.sin(self.yaw)
        return (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )

    def quaternion(self) -> tuple[float, float, float, float]:
        """The rotation as a unit quaternion (x, y, z, w)."""
        cr, sr = math.cos(self.roll / 2), math.sin(self.roll / 2)
        cp, sp = math.cos(self.pitch / 2), math.sin(self.pitch / 2)
        cy, sy = math.cos(self.yaw / 2), math.sin(self.yaw / 2)
        return (
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        )


def quaternion_angles(x: float, y: float, z: float, w: float) -> Vector:
    """Roll, pitch and yaw [rad] of a unit quaternion: the inverse of `BodyPose.quaternion`."""
    return (
        math.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y)),
        math.asin(min(max(2.0 * (w * y - z * x), -1.0), 1.0)),
        math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z)),
    )


def rotation_angles(rotation: Array) -> Vector:
    """Roll, pitch and yaw [rad] of a rotation matrix (3, 3): the inverse of `BodyPose.rotation`."""
    return (
        math.atan2(rotation[2, 1], rotation[2, 2]),
        math.asin(min(max(-rotation[2, 0], -1.0), 1.0)),
        math.atan2(rotation[1, 0], rotation[0, 0]),
    )


NEUTRAL = BodyPose()


class Placement:
    """Transform between base_link and base_footprint for a body pose at a height."""

    __slots__ = ("_translation", "rotation")

    def __init__(self, pose: BodyPose, height: float) -> None:
        """`height` [m] of base_link above the ground in the neutral stance."""
        self.rotation = pose.rotation()  # rows of the matrix base_link -> base_footprint
        self._translation = (pose.x, pose.y, height + pose.z)

    def to_base(self, x: float, y: float, z: float) -> Vector:
        """A point of base_footprint [m] in base_link [m]."""
        (a, b, c), (d, e, f), (g, h, i) = self.rotation
        tx, ty, tz = self._translation
        x = x - tx
        y = y - ty
        z = z - tz
        return a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z

    def to_footprint(self, x: float, y: float, z: float) -> Vector:
        """A point of base_link [m] in base_footprint [m]."""
        tx, ty, tz = self._translation
        x, y, z = self.rotate(x, y, z)
        return x + tx, y + ty, z + tz

    def rotate(self, x: float, y: float, z: float) -> Vector:
        """A vector of base_link along the axes of base_footprint."""
        (a, b, c), (d, e, f), (g, h, i) = self.rotation
        return a * x + b * y + c * z, d * x + e * y + f * z, g * x + h * y + i * z
