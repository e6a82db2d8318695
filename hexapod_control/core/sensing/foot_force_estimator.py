# SPDX-License-Identifier: Apache-2.0
"""Estimates vertical foot forces from servo torques.

A servo torque moves the leg and supports the robot. The part for the motion is subtracted from the reported torque: a
term in the speed (the torque-speed line of a DC motor, zero for a servo that reports its current), one in the
acceleration (inertia of the rotor), dry friction, and the weight of the leg. The remaining torques of femur and tibia
give the force on the foot by the transposed Jacobian of the leg.

The coefficients of the first three terms are in no data sheet, and an error of 20 % makes feet in the air seem to
touch. They are therefore estimated by recursive least squares with forgetting: a foot that moves up or down quickly
under the body is in the air, so its servos report the torques of its motion. The inertia of the leg itself is small
against that of the rotors behind their gears, and part of the same coefficient. Rows are legs, columns femur and tibia.
See docs/architecture/walking-mathematics.md, "Foot force from servo load".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import FRICTION_SHARE, Joint, Robot
from hexapod_control.core.statics.static_stability import GRAVITY, MIN_SUPPORTING_FEET

ESTIMATED_CONTACT_SHARE = 0.5  # of an even share of the weight: a foot with more load touches the ground ...
RELEASE_SHARE = 0.4  # ... until its load is below this; the touch threshold is raised by ...
INERTIAL_UNCERTAINTY_SHARE = 0.1  # ... this share of the force equivalent to the torque of the leg's own motion
MIN_TIBIA_SINE = 0.1  # of the tibia's angle: in a straight leg femur and tibia torques are linearly dependent
FLIGHT_SPEED = 0.12  # [m/s] vertical, relative to the body: a faster foot is in the air ...
STANDING_SPEED = 0.05  # [m/s] ... if MIN_SUPPORTING_FEET are slower than this
MAX_SAMPLE_INTERVAL_S = 0.05  # between two samples; longer intervals give no acceleration
MOTOR_TIME_CONSTANT_S = 0.02  # mechanical time constant of small motors: 10 to 30 ms
FRICTION_SPEED = 0.1  # [rad/s] at which dry friction has almost its full value
GUESS_UNCERTAINTY = 1.0  # relative standard deviation of the initial guess
LEARNED_SAMPLES = 60.0  # samples of rising feet, before forces are valid: about one step of each
MAX_ERROR_SHARE = 0.25  # share of them that may seem to touch; on blocks of 20 mm, one in eight hits an edge
TORQUE_NOISE_SHARE = 0.06  # of the stall torque: standard deviation of reported torques
FORGETTING_FACTOR = 0.9995  # per sample with a foot in the air: old samples fade in about a minute of walking


class ServoTorqueModel:
    """Torques of femur and tibia servos for the motion of the leg: linear in speed, acceleration and direction.

    Recursive least squares in information form, with the initial guess as prior. All legs share the coefficients.
    """

    def __init__(self, joints: tuple[Joint, Joint]) -> None:
        """Starts with a guess from stall torque and no-load speed."""
        guess = []
        for joint in joints:
            damping = joint.stall_torque / joint.no_load_speed
            guess.append((damping, MOTOR_TIME_CONSTANT_S * damping, FRICTION_SHARE * joint.stall_torque))
        self.coefficients: Array = np.array(guess)  # (2, 3) [N m s/rad, N m s^2/rad, N m]
        # Information matrices and vectors, of the prior and of the measured torques
        self._prior = np.einsum("ij,jk->ijk", (GUESS_UNCERTAINTY * self.coefficients) ** -2, np.eye(3))
        self._prior_vector = np.einsum("ijk,ik->ij", self._prior, self.coefficients)
        self._noise = np.array([TORQUE_NOISE_SHARE * joint.stall_torque for joint in joints])
        self._information = np.zeros((2, 3, 3))
        self._vector = np.zeros((2, 3))

    def learn(self, motion: Array, torques: Array) -> None:
        """Updates the coefficients with torques (k, 2) [N m] of legs in the air and their `motion` (k, 2, 3)."""
        scaled = motion / self._noise[:, None]
        self._information = FORGETTING_FACTOR * self._information + np.einsum("kij,kil->ijl", scaled, scaled)
        self._vector = FORGETTING_FACTOR * self._vector + np.einsum("kij,ki->ij", scaled, torques / self._noise)
        vector = (self._prior_vector + self._vector)[:, :, None]
        self.coefficients = np.linalg.solve(self._prior + self._information, vector)[:, :, 0]

    def torques(self, motion: Array) -> Array:
        """Returns the torques (n, 2) [N m] that `motion` (n, 2, 3) needs."""
        torques: Array = np.einsum("nij,ij->ni", motion, self.coefficients)
        return torques


class TorqueSample(NamedTuple):
    """One sample of the femur and tibia servos; all arrays (n, 2)."""

    times: Array  # [s]
    speeds: Array  # [rad/s]
    torques: Array  # [N m] without the weight of the leg
    changes: Array  # [rad/s^2] of the speeds since the sample before


class FootForceEstimator:
    """Estimates the foot forces of one robot, sample by sample."""

    def __init__(self, robot: Robot) -> None:
        """Starts without loads and with a guessed torque model."""
        legs = robot.legs
        count = len(robot.legs)
        self._lengths = np.array([(leg.femur.length, leg.tibia.length) for leg in legs])
        self._weights = GRAVITY * np.array([leg.moments[-2:] for leg in legs])  # [N m]
        self._even_load = robot.mass * GRAVITY / count  # [N]
        self.torque_model = ServoTorqueModel((legs[0].femur_joint, legs[0].tibia_joint))
        nothing = np.zeros((count, 2))
        self._last = TorqueSample(np.full((count, 2), -np.inf), nothing, nothing, nothing)
        self._in_flight = np.zeros(count, dtype=bool)  # feet that moved fast at the last sample
        self._forces = np.zeros(count)
        # of rising feet, with forgetting
        self._samples = 0.0
        self._false_contacts = 0.0

    @property
    def learning(self) -> bool:
        """True until enough samples of feet in the air have been taken: during the first steps."""
        return self._samples < LEARNED_SAMPLES

    @property
    def error(self) -> float:
        """Share (0 to 1) of the samples of rising feet in which a contact force is estimated: they are in the air."""
        return self._false_contacts / self._samples if self._samples else 0.0

    @property
    def valid(self) -> bool:
        """True if the model is learned and hardly any feet in the air seem to touch."""
        return not self.learning and self.error <= MAX_ERROR_SHARE

    def update(self, joints: Array, speeds: Array, torques: Array, times: Array) -> Array | None:
        """Returns vertical forces (n,) [N] on the feet, 0 in the air; None while learning or if they are not valid.

        Joints (n, 3) [rad], their speeds [rad/s], the reported torques [N m] and their times [s].
        A leg without a new sample keeps its load. The body is assumed level.
        """
        out, up, weights = self._geometry(joints)
        last = self._last
        elapsed = times[:, 1:] - last.times
        new: NDArray[np.bool_] = np.all(elapsed > 0.0, axis=1)
        follows: NDArray[np.bool_] = new & np.all(elapsed < MAX_SAMPLE_INTERVAL_S, axis=1)
        changes = np.where(follows[:, None], speeds[:, 1:] - last.speeds, 0.0) / np.where(elapsed > 0.0, elapsed, 1.0)
        sample = (times[:, 1:], speeds[:, 1:], torques[:, 1:] - weights, changes)
        self._last = now = TorqueSample(*np.where(new[:, None], sample, last))
        vertical_speeds = (up * now.speeds).sum(axis=1)
        in_air = self._learn(last, now, follows, np.abs(vertical_speeds))
        # `changes` is the acceleration midway between two samples; this extrapolates it to the second one.
        needed = self.torque_model.torques(_motion(now.speeds, 1.5 * now.changes - 0.5 * last.changes))
        levers = _levers(out, up)
        forces = (levers * (needed - now.torques)).sum(axis=1)
        uncertainties = INERTIAL_UNCERTAINTY_SHARE * np.abs(levers * needed).sum(axis=1)
        touch_thresholds = ESTIMATED_CONTACT_SHARE * self._even_load + uncertainties
        in_air &= vertical_speeds > 0.0  # a descending foot may be about to touch
        self._count_false_contacts(np.abs(forces)[in_air] > touch_thresholds[in_air])
        thresholds = np.where(self._forces > 0.0, RELEASE_SHARE * self._even_load, touch_thresholds)
        self._forces = np.where(follows, np.where(forces > thresholds, forces, 0.0), self._forces)
        return self._forces if self.valid else None

    def _geometry(self, joints: Array) -> tuple[Array, Array, Array]:
        """Jacobians (n, 2) [m/rad] of the feet, outwards and upwards, and torques (n, 2) [N m] of the legs' weight."""
        angles = joints[:, 1:].cumsum(axis=1)
        along = np.cos(angles)
        parts = np.array((-self._lengths * np.sin(angles), self._lengths * along, self._weights * along))
        parts[:, :, 0] += parts[:, :, 1]  # the femur also carries the tibia
        out, up, weights = parts
        return out, up, weights

    def _learn(
        self, last: TorqueSample, now: TorqueSample, follows: NDArray[np.bool_], speeds: Array
    ) -> NDArray[np.bool_]:
        """Learns from feet in the air at both samples. Returns which; `speeds` (n,) [m/s] are vertical, >= 0."""
        before = self._in_flight
        self._in_flight = speeds > FLIGHT_SPEED
        in_air = self._in_flight & before & follows
        if np.count_nonzero(speeds < STANDING_SPEED) < MIN_SUPPORTING_FEET:
            in_air[:] = False
        if in_air.any():
            motion = _motion(0.5 * (now.speeds + last.speeds), now.changes)
            self.torque_model.learn(motion[in_air], 0.5 * (now.torques + last.torques)[in_air])
        return in_air

    def _count_false_contacts(self, false_contacts: NDArray[np.bool_]) -> None:
        """Counts samples of feet in the air, and those among them in which a contact force was estimated."""
        for false_contact in false_contacts.tolist():
            self._samples = FORGETTING_FACTOR * self._samples + 1.0
            self._false_contacts = FORGETTING_FACTOR * self._false_contacts + false_contact


def _motion(speeds: Array, accelerations: Array) -> Array:
    """Returns the regressors (n, 2, 3) of the torque model for speeds [rad/s] and accelerations [rad/s^2] (n, 2)."""
    return np.array((speeds, accelerations, np.tanh(speeds / FRICTION_SPEED))).transpose(1, 2, 0)


def _levers(out: Array, up: Array) -> Array:
    """Returns the vertical force on a foot per torque (n, 2) [1/m], by inverting the Jacobians of `_geometry`."""
    determinant = out[:, 0] * up[:, 1] - out[:, 1] * up[:, 0]
    minimum = MIN_TIBIA_SINE * np.hypot(out[:, 0] - out[:, 1], up[:, 0] - up[:, 1]) * np.hypot(out[:, 1], up[:, 1])
    determinant = np.where(np.abs(determinant) < minimum, np.copysign(minimum, determinant), determinant)
    levers: Array = (np.array((-out[:, 1], out[:, 0])) / determinant).T
    return levers


MAX_AGE_S = 0.2  # of usable measured forces
MIN_LOAD_SHARE = 0.02  # of the weight; a foot with a smaller measured force does not support the robot


class SupportForces:
    """The support forces of all feet: the measured ones while they arrive, else the planned ones."""

    def __init__(self, robot: Robot) -> None:
        self._min_load = MIN_LOAD_SHARE * robot.mass * GRAVITY  # [N]
        self._planned: list[float] = [0.0] * len(robot.legs)  # [N]
        self._measured: list[float] = []  # [N]
        self._measured_at = -math.inf  # [s]
        self._plans = 1  # since the last measured forces

    def needs_plan(self) -> bool:
        """Counts a plan, and returns whether it is needed: not while measured forces arrive as often as plans."""
        self._plans += 1
        return self._plans > 1

    def plan(self, forces: Sequence[float]) -> None:
        """Stores the planned forces [N]; 0 for a foot in the air."""
        self._planned = list(forces)

    def plan_none(self) -> None:
        """Clears the planned forces, as for a motion in joint space."""
        self._planned = [0.0] * len(self._planned)

    def measure(self, forces: Sequence[float], time: float) -> None:
        """Stores the forces [N] measured at `time` [s]."""
        self._measured = [force if force > self._min_load else 0.0 for force in forces]
        self._measured_at = time
        self._plans = 0

    def at(self, now: float) -> list[float]:
        """Returns the forces [N] at time `now` [s]; 0 for a foot in the air."""
        return self._measured if abs(now - self._measured_at) <= MAX_AGE_S else self._planned
