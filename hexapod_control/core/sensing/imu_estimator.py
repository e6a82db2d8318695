"""Attitude, rate and acceleration of the body from readings of an IMU chip, and detection of frozen readings."""

from __future__ import annotations

from typing import NamedTuple

from hexapod_control.core.robot import Vector
from hexapod_control.core.sensing.attitude_filter import (
    LEVEL,
    AttitudeFilter,
    GyroBias,
    Quaternion,
    from_roll_pitch_yaw,
    inverse,
    product,
    rotated,
)

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
