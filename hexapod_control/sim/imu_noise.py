"""Noise model of a small IMU: white noise on rates and accelerations, and a random walk of the heading.

Gravity corrects roll and pitch; nothing corrects the heading of a gyro without a magnetometer. Figures of a BNO085
without its magnetometer: rate noise 0.1 deg/s, acceleration noise 0.03 m/s^2, heading 0.36 deg after a minute.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.kinematics.arrays import Array

RATE_NOISE_RAD_S = math.radians(0.1)  # standard deviation
ACCELERATION_NOISE_M_S2 = 0.03  # standard deviation
HEADING_DRIFT = 0.0008  # [rad / sqrt(s)]


class ImuNoise:
    """The errors of one IMU over time, reproducible by a seed."""

    def __init__(self, seed: int) -> None:
        """Starts without heading error."""
        self._rng = np.random.default_rng(seed)
        self.heading = 0.0  # [rad] error so far

    def step(self, dt: float) -> tuple[Array, Array]:
        """Advances by `dt` [s]. Returns the errors (3,) of angular rate [rad/s] and acceleration [m/s^2]."""
        noise = self._rng.standard_normal(7)
        self.heading += float(noise[0]) * HEADING_DRIFT * math.sqrt(max(dt, 0.0))
        return RATE_NOISE_RAD_S * noise[1:4], ACCELERATION_NOISE_M_S2 * noise[4:]
