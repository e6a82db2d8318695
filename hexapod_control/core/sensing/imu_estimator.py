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

MAX_STEP_S = 0.1  # of integration; longer steps count as this
LATE_PERIODS = 2.5  # between two readings; then the second one is late
FROZEN_S = 0.25  # of identical readings: frozen, as a working chip has noise in every reading


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
        self._mounting, self._filter = from_roll_pitch_yaw(mounting), AttitudeFilter()

    def update(
        self, acceleration: Vector, rate: Vector, orientation: Quaternion | None, dt: float, at_rest: bool
    ) -> BodyReading:
        """Processes readings of the chip `dt` [s] after the last ones; `orientation` if it estimates its own."""
        turned, felt = rate, acceleration
        if self._mounting != LEVEL:
            turned, felt = rotated(self._mounting, rate), rotated(self._mounting, acceleration)
        if orientation is not None:  # such a chip corrects its own gyro bias
            return BodyReading(product(orientation, inverse(self._mounting)), turned, felt)
        corrected = self.gyro.update(turned, felt, dt, at_rest)
        return BodyReading(self._filter.update(corrected, felt, min(dt, MAX_STEP_S)), corrected, felt)


class Freshness:
    """Detects late and frozen readings."""

    def __init__(self, period: float) -> None:
        """`period` [s] of the readings."""
        self._limit = LATE_PERIODS * period
        self.late = 0  # late readings
        self._raw, self._same = b"", 0.0  # [s] since the last change of the readings

    def take(self, raw: bytes, dt: float) -> None:
        """Processes a reading `dt` [s] after the last one."""
        self.late += dt > self._limit
        self._same = self._same + dt if raw == self._raw else 0.0
        self._raw = raw

    @property
    def frozen(self) -> bool:
        """Whether the readings are frozen."""
        return self._same >= FROZEN_S
