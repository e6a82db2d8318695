# SPDX-License-Identifier: Apache-2.0
"""What a standing robot carries, from the torques of its servos: mass and place.

The torques of a leg hold its own weight and the force F of the ground on its foot: torque = own weight - J^T F, with
the Jacobian J of the foot. The vertical forces of all feet give the weight of the robot and its center; what the robot
file does not explain of both is the payload. Two errors remain and give its standard deviations: torques that friction
hides or adds, and joints whose zeros are wrong, for which the force is computed again with each joint displaced.
See docs/architecture/walking-mathematics.md, "Payload from servo load".
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.robot import Leg, Point, Robot
from hexapod_control.core.statics.leg_compliance import foot_jacobian
from hexapod_control.core.statics.static_stability import GRAVITY, center_of_mass

ZERO_DEVIATION = math.radians(2.0)  # of the zeros of joints that were calibrated by hand
UNIFORM = 1.0 / math.sqrt(3.0)  # standard deviation of values between -1 and 1
SIGNIFICANT = 3.0  # standard deviations of its mass, above which a payload counts
LEAST_MASS = 1e-6  # [kg] that has a place
SETTLING_S = 1.0  # of rest before a robot weighs itself
WEIGHING_S = 2.0  # for each of two estimates ...
STEADY_SHARE = 0.02  # ... which differ by less than this share of the weight: the load does not change meanwhile


class Payload(NamedTuple):
    """What a robot carries beyond its file, with standard deviations."""

    mass: float  # [kg]; negative if the robot is lighter than its file says
    place: Point  # [m] in base_link
    mass_deviation: float = 0.0  # [kg]
    place_deviation: float = 0.0  # [m] along x or y, the larger one

    @property
    def is_significant(self) -> bool:
        """Whether this is more than errors of an unloaded robot."""
        return self.mass > SIGNIFICANT * self.mass_deviation

    def on(self, robot: Robot) -> Robot:
        """The robot with the payload as a part of its body, on its top: a standing robot cannot feel the height."""
        body = robot.body
        place = (*self.place, body.center[2] + body.size[2] / 2.0)
        mass = body.mass + self.mass
        x, y, z = (
            (body.mass * own + self.mass * at) / mass for own, at in zip(body.center_of_mass, place, strict=True)
        )
        return replace(robot, body=replace(body, mass=mass, center_of_mass=(x, y, z)))

    def differs_from(self, other: Payload) -> bool:
        """Whether the difference of mass or place is more than a standard deviation."""
        further = math.dist(self.place, other.place) > self.place_deviation
        return abs(self.mass - other.mass) > self.mass_deviation or (self.is_significant and further)

    def __str__(self) -> str:
        x, y = (1000.0 * value for value in self.place)
        mass = f"{self.mass:.2f} kg (deviation {self.mass_deviation:.2f})"
        if not self.is_significant:
            return f"{mass}: not used, friction may be the cause"
        return f"{mass} at x {x:.0f} mm, y {y:.0f} mm of base_link (deviation {1000.0 * self.place_deviation:.0f})"


NO_PAYLOAD = Payload(0.0, (0.0, 0.0))


def weigh(robot: Robot, joints: Array, torques: Array) -> Payload:
    """Estimates the payload of a robot that stands level on all its feet, from means over some seconds.

    Joints (n, 3) [rad], and torques (n, 3) [N m] as their servos report them.
    """
    found = np.zeros(3)  # weight [N], and its moments with x and y [N m]
    errors = []  # of `found`, one standard deviation each
    deviations = UNIFORM * _friction(robot, torques)
    for leg, angles, held, deviation in zip(robot.legs, joints, torques, deviations, strict=True):
        load = foot_force(leg, robot.foot_radius, angles, held)
        found += load
        errors += [foot_force(leg, robot.foot_radius, angles, held + step) - load for step in np.diag(deviation)]
        steps = ZERO_DEVIATION * np.eye(3)
        errors += [foot_force(leg, robot.foot_radius, angles + step, held) - load for step in steps]
    x, y, _ = center_of_mass(robot, [(c, f, t) for c, f, t in joints.tolist()])
    excess = found / GRAVITY - robot.mass * np.array([1.0, x, y])
    mass = math.copysign(max(abs(float(excess[0])), LEAST_MASS), excess[0])
    place = excess[1:] / mass
    spread = np.array(errors) / GRAVITY
    spread[:, 1:] = (spread[:, 1:] - spread[:, :1] * place) / mass  # of the quotients
    of_mass, of_x, of_y = np.sqrt((spread * spread).sum(axis=0)).tolist()
    return Payload(mass, (float(place[0]), float(place[1])), of_mass, max(of_x, of_y))


def _friction(robot: Robot, torques: Array) -> Array:
    """The largest dry friction (n, 3) [N m] of servos with torques [N m]."""
    traits = [[(j.traits.friction * j.stall_torque, j.traits.load_friction) for j in leg.joints] for leg in robot.legs]
    dry, by_load = np.moveaxis(np.array(traits), 2, 0)
    friction: Array = dry + by_load * np.abs(torques)
    return friction


def foot_force(leg: Leg, radius: float, angles: Array, torques: Array) -> Array:
    """The vertical force on a foot [N], and its moments (3,) with x and y of the foot in base_link [N m].

    Joint angles and torques (3,) [rad, N m] of the leg; `radius` [m] is that of the foot's ball.
    """
    coxa, femur, tibia = angles.tolist()
    *_, of_femur, of_tibia = leg.moments
    lower = GRAVITY * of_tibia * math.cos(femur + tibia)
    own = np.array([0.0, GRAVITY * of_femur * math.cos(femur) + lower, lower])
    jacobian = foot_jacobian(leg, (coxa, femur, tibia), radius)
    force = float(np.linalg.lstsq(jacobian.T, own - torques)[0][2])
    x, y, _ = hip_to_base(leg, leg_forward(leg, (coxa, femur, tibia))[1])
    return force * np.array([1.0, x, y])


class Scale:
    """Weighs a robot while it stands still: an estimate counts if the one before was the same."""

    def __init__(self, robot: Robot) -> None:
        """`robot` is that of the file, without payload."""
        self.payload: Payload | None = None  # the newest estimate that was steady
        self._robot = robot
        self._before: Payload | None = None
        self.interrupt()

    def interrupt(self) -> None:
        """The robot moves, or does not stand as it has to."""
        self._since: float | None = None  # [s] of the first sample
        self._before = None
        self._sum = np.zeros((2, len(self._robot.legs), 3))
        self._count = 0

    def take(self, joints: Array, torques: Array, now: float) -> None:
        """Takes joints (n, 3) [rad] and reported torques (n, 3) [N m] of a robot that stands still at `now` [s].

        A leg whose torques are all zero does not report them: these do not count.
        """
        if self._since is None:
            self._since = now + SETTLING_S
        if now < self._since or not torques.any(axis=1).all():
            return
        self._sum += (joints, torques)
        self._count += 1
        if now - self._since < WEIGHING_S:
            return
        payload = weigh(self._robot, *self._sum / self._count)
        before = self._before
        if before is not None and abs(payload.mass - before.mass) < STEADY_SHARE * self._robot.mass:
            self.payload = payload
        self.interrupt()
        self._since = now
        self._before = payload
