# SPDX-License-Identifier: Apache-2.0
"""The geometry of a leg before it is in a robot file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hexapod_control.config.robots.draft.rotations import rotation_from_angles
from hexapod_control.core.kinematics.arrays import Array

PLACES = {
    1: ("",),
    2: ("front", "rear"),
    3: ("front", "middle", "rear"),
    4: ("front", "middle_front", "middle_rear", "rear"),
}  # second part of the names of legs, front to rear, by the number of legs per side


@dataclass(frozen=True, slots=True)
class DraftJoint:
    """A joint of a drafted leg and its mapping: URDF angle = sign * (joint angle of the robot file) + offset."""

    name: str  # in the URDF; empty without one
    sign: int  # 1 or -1
    offset: float  # [rad]
    lower: float  # [deg] in the robot file
    upper: float  # [deg] in the robot file
    range_known: bool  # False if the limits are assumed

    def urdf_angle(self, angle: float) -> float:
        """URDF angle [rad] for a joint angle [rad] of the robot file."""
        return self.sign * angle + self.offset


@dataclass(frozen=True, slots=True)
class LegGeometry:
    """Geometry of a leg in base_link. For a URDF with ideal axes it is exact to rounding."""

    hip: Array  # (3,) [m]
    yaw: float  # [rad]
    tilt: tuple[float, float]  # [rad] roll and pitch of the hip before it is turned by yaw
    coxa: float  # [m] length, like femur and tibia
    lateral: float  # [m] offset of the femur axis, left of the coxa axis
    vertical: float  # [m] offset of the femur axis, above the hip
    femur: float  # [m]
    tibia: float  # [m]
    joints: tuple[DraftJoint, DraftJoint, DraftJoint]

    @property
    def length(self) -> float:
        """Length [m] of the stretched leg."""
        return self.coxa + self.femur + self.tibia

    def foot(self, angles: Sequence[float]) -> Array:
        """Foot position (3,) [m] in base_link for joint angles [rad] of the robot file."""
        coxa, femur, tibia = angles
        radial = self.coxa + self.femur * math.cos(femur) + self.tibia * math.cos(femur + tibia)
        height = self.vertical + self.femur * math.sin(femur) + self.tibia * math.sin(femur + tibia)
        turned = rotation_from_angles(*self.tilt, self.yaw) @ rotation_from_angles(0.0, 0.0, coxa)
        return np.asarray(self.hip + turned @ np.array([radial, self.lateral, height]))
