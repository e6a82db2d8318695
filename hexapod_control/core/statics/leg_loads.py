# SPDX-License-Identifier: Apache-2.0
"""What the weight does to the legs that bear it: how far they sag, how hard friction holds their feet, which torque.

In the plane of a leg, femur and tibia servo are springs. A load on the foot bends them, so the body sinks and the foot
would slide outwards. A horizontal force of the ground, as far as friction goes, keeps it in place, and makes the leg
stiffer. With the lever arms r (horizontal) and z (vertical) from femur and tibia joint to the foot, the compliance of
the foot is C_zz = sum r^2 / k vertically, C_rr = sum z^2 / k horizontally, and C_rz = -sum r z / k couples the two.
The foot stays if the horizontal force is -C_rz / C_rr times the load. The coxa axis is taken as vertical.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array, ComplexArray
from hexapod_control.core.kinematics.leg_batch import joints_at_contacts
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.robot import Leg, Robot
from hexapod_control.core.statics.static_stability import GRAVITY

FRICTION = 0.5  # coefficient of friction of a foot, a cautious value
TINY = 1e-12  # [m/N], [m]
STRAIGHT = 1e-9  # [m/N] added to the compliance of a foot, which a straight leg does not have along it


class LoadedLeg(NamedTuple):
    """A leg with its foot at some points on the ground, in the plane of the leg."""

    arms: tuple[ComplexArray, ComplexArray]  # [m] from femur and tibia joint to the foot: horizontal + i vertical
    stiffness: tuple[float, float]  # [N m/rad] of femur and tibia servo

    @classmethod
    def at(cls, robot: Robot, leg: Leg, points: ComplexArray) -> LoadedLeg:
        """A leg of a robot at its nominal height, with its foot at points x + i y [m, base_footprint]."""
        contacts = (points.real, points.imag, np.zeros(points.shape))
        _, femur, tibia = joints_at_contacts(leg, robot.foot_radius, robot.walk.height, contacts).joints
        knee = leg.femur.length * np.exp(1j * femur)
        foot = leg.tibia.length * np.exp(1j * (femur + tibia))
        return cls((knee + foot, foot), (leg.femur_joint.stiffness, leg.tibia_joint.stiffness))

    @property
    def demand(self) -> Array:
        """The coefficient of friction that keeps the foot in place while the body sinks."""
        return np.abs(self._pull)

    @property
    def _pull(self) -> Array:
        """Horizontal over vertical force at which the foot stays in place, outwards positive."""
        rr = self._compliance(*(arm.imag**2 for arm in self.arms))
        pull: Array = -self._coupling / np.maximum(rr, TINY)
        return pull

    @property
    def _coupling(self) -> Array:
        """C_rz [m/N]."""
        return self._compliance(*(-arm.real * arm.imag for arm in self.arms))

    def _compliance(self, of_femur: Array, of_tibia: Array) -> Array:
        """A compliance [m/N] of the foot, for products of lever arms [m2] of both servos."""
        compliance: Array = of_femur / self.stiffness[0] + of_tibia / self.stiffness[1]
        return compliance

    def sag(self) -> Array:
        """Sag of the body at the leg per load [m/N]."""
        zz = self._compliance(*(arm.real**2 for arm in self.arms))
        sags: Array = zz + self._coupling * np.clip(self._pull, -FRICTION, FRICTION)
        return sags


def weight_torques(leg: Leg, joints: LegJoints) -> tuple[float, float, float]:
    """Torques [N m] that hold the weight of a leg in the air."""
    *_, of_femur, of_tibia = leg.moments
    _, femur, tibia = joints
    foot = GRAVITY * of_tibia * math.cos(femur + tibia)
    return 0.0, GRAVITY * of_femur * math.cos(femur) + foot, foot


def greatest_torque_share(
    robot: Robot, feet: ComplexArray, planted: NDArray[np.bool_], center: complex | ComplexArray
) -> float:
    """The greatest of the torques of `bearing_torques`, as a share of the stall torque."""
    stall = np.array([[joint.stall_torque for joint in leg.joints] for leg in robot.legs])
    return float((np.abs(bearing_torques(robot, feet, planted, center)) / stall).max())


def bearing_torques(
    robot: Robot, feet: ComplexArray, planted: NDArray[np.bool_], center: complex | ComplexArray
) -> Array:
    """Torques (..., legs, 3) [N m] with which the servos bear the weight.

    `feet` (..., legs) and the center of mass `center` (...) are x + i y [m, base_footprint], `planted` (..., legs). The
    legs are springs, and planted feet stay where they are: the body sinks, shifts and tilts until it is in balance.
    """
    arms = feet - np.asarray(center)[..., None]
    jacobians = _jacobians(robot, feet)
    soft = np.array([[1.0 / joint.stiffness for joint in leg.joints] for leg in robot.legs])
    compliances = (jacobians * soft[:, None, :]) @ jacobians.swapaxes(-1, -2) + STRAIGHT * np.eye(3)
    stiffnesses = np.linalg.inv(compliances) * planted[..., None, None]
    moves = np.zeros((*feet.shape, 3, 6))  # of a foot, by displacement and rotation of the body about its center
    moves[..., [0, 1, 2], [0, 1, 2]] = 1.0
    moves[..., 1, 3] = robot.walk.height
    moves[..., 2, 3] = arms.imag
    moves[..., 0, 4] = -robot.walk.height
    moves[..., 2, 4] = -arms.real
    moves[..., 0, 5] = -arms.imag
    moves[..., 1, 5] = arms.real
    forces = stiffnesses @ moves
    weight = np.array([0.0, 0.0, robot.mass * GRAVITY, 0.0, 0.0, 0.0])
    total = (moves.swapaxes(-1, -2) @ forces).sum(axis=-3)
    # numpy 1 takes an operand with one axis less for vectors, not for one matrix
    moved = np.linalg.solve(total, np.broadcast_to(weight[:, None], (*total.shape[:-1], 1)))
    torques: Array = (jacobians.swapaxes(-1, -2) @ (forces @ moved[..., None, :, :]))[..., 0]
    return torques


def _jacobians(robot: Robot, feet: ComplexArray) -> Array:
    """Jacobians (..., legs, 3, 3) [m/rad] of feet (..., legs) [m, base_footprint] on the ground by the joint angles."""
    jacobians = np.zeros((*feet.shape, 3, 3))
    for row, leg in enumerate(robot.legs):
        from_hip = feet[..., row] - complex(*leg.hip[:2])
        arms = LoadedLeg.at(robot, leg, feet[..., row]).arms
        outward = from_hip / np.maximum(np.abs(from_hip), TINY)
        columns = (1j * from_hip, -arms[0].imag * outward, -arms[1].imag * outward)
        jacobians[..., row, 0, :] = np.stack([column.real for column in columns], axis=-1)
        jacobians[..., row, 1, :] = np.stack([column.imag for column in columns], axis=-1)
        jacobians[..., row, 2, 1:] = np.stack([arm.real for arm in arms], axis=-1)
    return jacobians
