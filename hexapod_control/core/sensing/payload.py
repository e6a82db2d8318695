# SPDX-License-Identifier: Apache-2.0
"""What a standing robot carries, from the torques of its servos: mass and place.

The torques of a leg hold its own weight and the force F of the ground on its foot: torque = own weight - J^T F, with
the Jacobian J of the foot. The vertical forces of all feet give the weight of the robot and its center; what the robot
file does not explain of both is the payload. Two errors remain and give its standard deviations: torques that friction
hides or adds, and joints whose zeros are wrong, for which the force is computed again with each joint displaced.

A body that moves slowly to and fro over its planted feet is weighed best: friction then acts for as long in one
direction as in the other, and the steps of the reported torques average out.
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
LEAST_SHARE = 0.1  # of its friction that a joint hides over any motion, one standard deviation
SIGNIFICANT = 2.0  # standard deviations of its mass, above which a payload counts: all that friction can hide is 1.7
TURN = math.radians(0.5)  # of a joint that has moved: more than the steps and the noise of its angle
MUCH_BETTER = 0.7  # ratio of the standard deviations of two estimates
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

    def confirms(self, other: Payload) -> bool:
        """Whether it agrees with another estimate that is much better."""
        return other.mass_deviation < MUCH_BETTER * self.mass_deviation and not self.differs_from(other)

    def __str__(self) -> str:
        x, y = (1000.0 * value for value in self.place)
        mass = f"{self.mass:.2f} kg (deviation {self.mass_deviation:.2f})"
        if not self.is_significant:
            return f"{mass}: not used, friction may be the cause"
        return f"{mass} at x {x:.0f} mm, y {y:.0f} mm of base_link (deviation {1000.0 * self.place_deviation:.0f})"


NO_PAYLOAD = Payload(0.0, (0.0, 0.0))


class Weighing:
    """The mean of many samples of a robot that stands level on its feet, and whose body may move slowly.

    Dry friction has the direction in which a joint moved last. It hides its whole amount times the mean of these
    directions, and an unknown share of it until the joint has moved: the same in all legs, as they moved alike when the
    robot stood up or stopped, and another one in each joint. A tenth remains of it over any motion.
    """

    def __init__(self, robot: Robot) -> None:
        """`robot` is that of the file, without payload."""
        shape = (len(robot.legs), 3)
        self._robot = robot
        self._found = np.zeros(3)  # sums of the weight [N], and of its moments with x and y [N m]
        self._sum = np.zeros((2, *shape))  # of the joints and torques
        self._center = np.zeros(2)  # sum of the robot's center of mass [m]
        self._followed: Array = np.zeros(shape)  # [rad] at most TURN from the joints
        self._turned: Array = np.zeros(shape)  # direction of the last motion of each joint, 0 if it has not moved
        self._turns = np.zeros(shape)  # sums of these ...
        self._unmoved = np.zeros(shape)  # ... and of the samples before the first motion
        self.count = 0

    def take(self, joints: Array, torques: Array) -> None:
        """Takes joints (n, 3) [rad], and torques (n, 3) [N m] as their servos report them."""
        robot = self._robot
        for leg, angles, held in zip(robot.legs, joints, torques, strict=True):
            self._found += foot_force(leg, robot.foot_radius, angles, held)
        self._center += center_of_mass(robot, [(c, f, t) for c, f, t in joints.tolist()])[:2]
        self._sum += (joints, torques)
        before = self._followed if self.count else joints
        self._followed = np.clip(before, joints - TURN, joints + TURN)
        self._turned = np.where(self._followed == before, self._turned, np.sign(self._followed - before))
        self._turns += self._turned
        self._unmoved += self._turned == 0.0
        self.count += 1

    def payload(self) -> Payload:
        """What the robot carries beyond its file, after one or more samples."""
        robot = self._robot
        joints, torques = self._sum / self.count
        shares = np.maximum(np.abs(self._turns) + UNIFORM * self._unmoved, LEAST_SHARE * self.count) / self.count
        hidden = shares * _friction(robot, torques)
        # Errors (n, 3, 3) of weight and moments, one standard deviation each.
        by_friction: list[list[Array]] = []
        by_zeros: list[list[Array]] = []
        for leg, angles, held, deviation in zip(robot.legs, joints, torques, hidden, strict=True):
            load = foot_force(leg, robot.foot_radius, angles, held)
            moved = [(angles, held + step) for step in np.diag(deviation)]
            turned = [(angles + step, held) for step in ZERO_DEVIATION * np.eye(3)]
            for found, changed in ((by_friction, moved), (by_zeros, turned)):
                found.append([foot_force(leg, robot.foot_radius, *each) - load for each in changed])
        errors = np.concatenate([*by_friction, np.sum(by_friction, axis=0), *by_zeros])
        own = robot.mass * np.array([1.0, *self._center / self.count])
        excess = self._found / self.count / GRAVITY - own
        mass = math.copysign(max(abs(float(excess[0])), LEAST_MASS), excess[0])
        place = excess[1:] / mass
        spread = errors / GRAVITY
        spread[:, 1:] = (spread[:, 1:] - spread[:, :1] * place) / mass  # of the quotients
        of_mass, of_x, of_y = np.sqrt((spread * spread).sum(axis=0)).tolist()
        return Payload(mass, (float(place[0]), float(place[1])), of_mass, max(of_x, of_y))


def weigh(robot: Robot, joints: Array, torques: Array) -> Payload:
    """Estimates the payload of a robot that stands still: joints (n, 3) [rad] and reported torques (n, 3) [N m]."""
    weighing = Weighing(robot)
    weighing.take(joints, torques)
    return weighing.payload()


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
    force = float(np.linalg.lstsq(jacobian.T, own - torques, rcond=None)[0][2])
    x, y, _ = hip_to_base(leg, leg_forward(leg, (coxa, femur, tibia))[1])
    return force * np.array([1.0, x, y])


class Scale:
    """Weighs a robot on its feet: while it stands still, and over each motion of its body.

    An estimate at rest counts if the one before was the same. One that agrees with a much better one does not replace
    it.
    """

    def __init__(self, robot: Robot) -> None:
        """`robot` is that of the file, without payload."""
        self.payload: Payload | None = None
        self._robot = robot
        self.interrupt()

    def interrupt(self) -> None:
        """The robot walks, or does not stand as it has to."""
        self._since: float | None = None  # [s] of the first sample
        self._before: Payload | None = None  # the estimate at rest before
        self._moves = False
        self._weighing = Weighing(self._robot)

    def take(self, joints: Array, torques: Array, now: float, *, moves: bool = False) -> None:
        """Takes joints (n, 3) [rad] and reported torques (n, 3) [N m] at `now` [s]; `moves` if the body moves.

        A leg whose torques are all zero does not report them: these do not count.
        """
        if moves != self._moves:
            self._end(now)
            self.interrupt()
            self._moves = moves
        if self._since is None:
            self._since = now if moves else now + SETTLING_S
        if now < self._since or not torques.any(axis=1).all():
            return
        self._weighing.take(joints, torques)
        if not moves and now - self._since >= WEIGHING_S:
            self._end(now)
            self._since = now
            self._weighing = Weighing(self._robot)

    def _end(self, now: float) -> None:
        """Ends an estimate, if it has taken long enough."""
        if self._since is None or now - self._since < WEIGHING_S or not self._weighing.count:
            return
        found = self._weighing.payload()
        before = self._before
        steady = before is not None and abs(found.mass - before.mass) < STEADY_SHARE * self._robot.mass
        known = self.payload
        if (self._moves or steady) and not (known is not None and found.confirms(known)):
            self.payload = found
        self._before = found
