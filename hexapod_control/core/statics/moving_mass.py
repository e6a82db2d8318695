# SPDX-License-Identifier: Apache-2.0
"""The center of mass of a robot on its feet, for a shifted body and displaced feet."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.static_stability import center_of_mass_in_footprint


@lru_cache(maxsize=32)
def neutral_center(robot: Robot, shift: Point = (0.0, 0.0)) -> Point:
    """Center of mass (x, y) [m] with a shifted body [m] over the neutral footholds.

    Raises ValueError if they are out of reach.
    """
    pose = BodyPose(*shift)
    joints = joints_in_pose(robot, robot.footholds, pose)
    if joints is None:
        raise ValueError("the neutral stance is out of reach")
    return center_of_mass_in_footprint(robot, joints, pose)


class MovingMass(NamedTuple):
    """The center of mass for displaced feet: to first order, each foot moves it by a share of its displacement."""

    center: complex  # [m] over the neutral footholds
    footholds: ComplexArray  # (legs,) [m] neutral
    shares: Array  # (legs,)

    @classmethod
    def of(cls, robot: Robot) -> MovingMass:
        """The center of mass of a robot. Raises ValueError if its neutral stance is out of reach."""
        center = complex(*neutral_center(robot))
        shares = []
        joints = joints_in_pose(robot, robot.footholds, NEUTRAL) or ()
        for leg, (_, femur, tibia) in zip(robot.legs, joints, strict=True):
            _, along, _, _, of_femur, of_tibia = leg.moments
            moment = along + of_femur * math.cos(femur) + of_tibia * math.cos(femur + tibia)
            shares.append(moment / robot.mass / max(math.dist(leg.foothold, leg.hip[:2]), leg.coxa.length))
        return cls(center, np.array([complex(*leg.foothold) for leg in robot.legs]), np.array(shares))

    def over(self, feet: ComplexArray) -> ComplexArray:
        """The center of mass (...) [m] for feet (..., legs) [m]."""
        centers: ComplexArray = self.center + (feet - self.footholds) @ self.shares
        return centers
