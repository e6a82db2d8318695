# SPDX-License-Identifier: Apache-2.0
"""Attitude, rate and acceleration of the body from readings of an IMU chip, and detection of frozen readings.

The attitude comes from a complementary filter, which also estimates the bias of the gyro. The rates are integrated
exactly, as if constant over a sample; the measured acceleration corrects roll and pitch slowly towards gravity, and
never the heading. Quaternions are (w, x, y, z) and rotate vectors from the body into the world, whose z points up.
Plain floats are faster than arrays of three elements. Source: R. Mahony, T. Hamel and J.-M. Pflimlin, Nonlinear
complementary filters on the special orthogonal group, IEEE Transactions on Automatic Control 53 (2008).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Vector
from hexapod_control.core.statics.static_stability import GRAVITY

Quaternion = tuple[float, float, float, float]

LEVEL: Quaternion = (1.0, 0.0, 0.0, 0.0)
TIME_CONSTANT_S = 2.0  # of the correction by gravity
MAX_GRAVITY_ERROR = 0.15  # relative deviation from gravity of a usable acceleration
STILL_TIME_S = 1.0  # without motion, in which the bias is measured
STILL_SPREADS = (0.03,) * 3 + (0.4,) * 3  # maximum spreads of rates [rad/s] and accelerations [m/s^2] at rest
MAX_BIAS = 0.35  # [rad/s] 20 deg/s, the maximum zero-rate output of an MPU6050
MAX_BIAS_CHANGE = 0.02  # [rad/s] of a measured bias; a larger change is a motion
BIAS_SHARE = 0.3  # weight of a new measurement of the bias


def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """The quaternion product a b: the rotation `b`, followed by `a`."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def inverse(q: Quaternion) -> Quaternion:
    """The inverse of a unit quaternion: its conjugate."""
    return q[0], -q[1], -q[2], -q[3]


def rotated(q: Quaternion, vector: Vector) -> Vector:
    """A vector v rotated by a unit quaternion (w, u): v + w t + u x t with t = 2 u x v."""
    w, ux, uy, uz = q
    x, y, z = vector
    tx = 2.0 * (uy * z - uz * y)
    ty = 2.0 * (uz * x - ux * z)
    tz = 2.0 * (ux * y - uy * x)
    return x + w * tx + uy * tz - uz * ty, y + w * ty + uz * tx - ux * tz, z + w * tz + ux * ty - uy * tx


def rotation(vector: Vector) -> Quaternion:
    """The quaternion of a rotation vector: a rotation about its direction by its length [rad]."""
    angle = math.hypot(*vector)
    scale = 0.5 - angle * angle / 48.0 if angle < 1e-4 else math.sin(angle / 2.0) / angle
    return math.cos(angle / 2.0), vector[0] * scale, vector[1] * scale, vector[2] * scale


def from_roll_pitch_yaw(angles: Vector) -> Quaternion:
    """The rotation by yaw about z, then pitch about the new y, then roll about the new x [rad]."""
    roll, pitch, yaw = angles
    x, y, z, w = BodyPose(roll=roll, pitch=pitch, yaw=yaw).quaternion()
    return w, x, y, z


class AttitudeFilter:
    """Complementary filter for the attitude of one IMU. The heading starts at 0."""

    def __init__(self, time_constant: float = TIME_CONSTANT_S) -> None:
        """`time_constant` [s] of the correction by gravity."""
        self.attitude = LEVEL
        self._time_constant = time_constant
        self._begun = False

    def update(self, rate: Vector, acceleration: Vector, dt: float) -> Quaternion:
        """The attitude after `dt` [s] with a rate [rad/s] and an acceleration [m/s^2, + up at rest] of the body."""
        turned = product(self.attitude, rotation((rate[0] * dt, rate[1] * dt, rate[2] * dt)))
        size = math.hypot(*acceleration)
        if abs(size - GRAVITY) < MAX_GRAVITY_ERROR * GRAVITY:
            share = -math.expm1(-dt / self._time_constant) if self._begun else 1.0
            turned = product(_towards_up(rotated(turned, acceleration), share), turned)
            self._begun = True
        norm = math.hypot(*turned)
        self.attitude = turned[0] / norm, turned[1] / norm, turned[2] / norm, turned[3] / norm
        return self.attitude


def _towards_up(measured: Vector, share: float) -> Quaternion:
    """A share (0 to 1) of the rotation about a horizontal axis that maps a vector of the world to the vertical."""
    x, y, z = measured
    level = math.hypot(x, y)
    if level == 0.0:
        return LEVEL if z >= 0.0 else rotation((share * math.pi, 0.0, 0.0))
    angle = share * math.atan2(level, z)
    return rotation((angle * y / level, -angle * x / level, 0.0))


class GyroBias:
    """The bias of a gyro, measured whenever the robot is still for STILL_TIME_S."""

    def __init__(self) -> None:
        """Starts with an unknown bias, taken as 0."""
        self.bias: Vector = (0.0, 0.0, 0.0)  # [rad/s]
        self.known = False
        self._window = StillWindow()

    def update(self, rate: Vector, acceleration: Vector, dt: float, at_rest: bool) -> Vector:
        """Returns the rate [rad/s] without its bias. `at_rest`: the robot is not commanded to move."""
        if not at_rest or not self._window.take(rate, acceleration, dt):
            self._window = StillWindow()
        elif self._window.time >= STILL_TIME_S:
            self._measured(self._window.mean)
            self._window = StillWindow()
        x, y, z = self.bias
        return rate[0] - x, rate[1] - y, rate[2] - z

    def _measured(self, mean: Vector) -> None:
        """Updates the bias with the mean rate [rad/s] of a period without motion, unless it is implausible."""
        change = [new - old for new, old in zip(mean, self.bias, strict=True)]
        if max(map(abs, change)) > (MAX_BIAS_CHANGE if self.known else MAX_BIAS):
            return
        share = BIAS_SHARE if self.known else 1.0
        x, y, z = (old + share * new for old, new in zip(self.bias, change, strict=True))
        self.bias = (x, y, z)
        self.known = True


class StillWindow:
    """The samples of a period, and whether the IMU moved in it."""

    def __init__(self) -> None:
        self.time = 0.0  # [s]
        self._count = 0
        self._sum = (0.0, 0.0, 0.0)
        self._low: Sequence[float] = ()
        self._high: Sequence[float] = ()

    @property
    def mean(self) -> Vector:
        """Mean of the rates [rad/s]."""
        x, y, z = self._sum
        return x / self._count, y / self._count, z / self._count

    def take(self, rate: Vector, acceleration: Vector, dt: float) -> bool:
        """Processes a sample `dt` [s] after the last one. Returns False if it moved."""
        sample = (*rate, *acceleration)
        self._low = tuple(map(min, self._low, sample)) if self._count else sample
        self._high = tuple(map(max, self._high, sample)) if self._count else sample
        x, y, z = self._sum
        self._sum = (x + rate[0], y + rate[1], z + rate[2])
        self._count, self.time = self._count + 1, self.time + dt
        return all(map(_within, self._low, self._high, STILL_SPREADS))


def _within(low: float, high: float, spread: float) -> bool:
    return high - low < spread


MAX_STEP_S = 0.1  # longest step of the integration; longer ones are cut to it
LATE_PERIODS = 2.5  # time between two readings from which the second one counts as late
FROZEN_S = 0.25  # time of identical readings from which they count as frozen: a working chip always has noise


class BodyReading(NamedTuple):
    """An estimate in the axes of the body."""

    attitude: Quaternion
    rate: Vector  # [rad/s] without the bias of the gyro
    acceleration: Vector  # [m/s^2] including gravity: + up at rest


class ImuEstimator:
    """Attitude and motion of a body, from an IMU chip on it."""

    def __init__(self, mounting: Vector) -> None:
        """`mounting` [rad] is roll, pitch and yaw of the chip's axes in the body."""
        self.gyro = GyroBias()
        self._mounting = from_roll_pitch_yaw(mounting)
        self._filter = AttitudeFilter()

    def update(
        self, acceleration: Vector, rate: Vector, orientation: Quaternion | None, dt: float, at_rest: bool
    ) -> BodyReading:
        """Returns the estimate for readings `dt` [s] after the last ones, in the axes of the chip.

        Acceleration [m/s^2], rate [rad/s], and `orientation` if the chip estimates it. `at_rest`: the robot is not
        commanded to move.
        """
        if self._mounting != LEVEL:
            rate, acceleration = rotated(self._mounting, rate), rotated(self._mounting, acceleration)
        if orientation is not None:  # such a chip corrects its own gyro bias
            return BodyReading(product(orientation, inverse(self._mounting)), rate, acceleration)
        rate = self.gyro.update(rate, acceleration, dt, at_rest)
        return BodyReading(self._filter.update(rate, acceleration, min(dt, MAX_STEP_S)), rate, acceleration)


class Freshness:
    """Detects late and frozen readings."""

    def __init__(self, period: float) -> None:
        """`period` [s] in which readings are expected."""
        self._limit = LATE_PERIODS * period
        self.late = 0  # number of late readings
        # [s] since the last change of the readings
        self._raw = b""
        self._same = 0.0

    def take(self, raw: bytes, dt: float) -> None:
        """Processes a reading `dt` [s] after the last one."""
        self.late += dt > self._limit
        self._same = self._same + dt if raw == self._raw else 0.0
        self._raw = raw

    @property
    def frozen(self) -> bool:
        """True while identical readings repeat for FROZEN_S."""
        return self._same >= FROZEN_S
