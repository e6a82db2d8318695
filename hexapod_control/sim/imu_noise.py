"""What a small IMU makes of the truth: noise on rates and accelerations, and a heading that wanders.

Roll and pitch are held by gravity; the heading of a gyro without a compass is not. Figures of the class of a BNO085
without its compass: rate noise 0.1 deg/s, acceleration noise 0.03 m/s^2, heading 0.36 deg after a minute.
"""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.core.kinematics.arrays import Array

RATE = math.radians(0.1)  # [rad/s]
ACCELERATION = 0.03  # [m/s^2]
HEADING = 0.0008  # [rad / sqrt(s)]


class ImuNoise:
    """Errors of one IMU over time, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        """Starts with the true heading."""
        self._rng = np.random.default_rng(seed)
        self.heading = 0.0  # [rad] error so far

    def step(self, dt: float) -> tuple[Array, Array]:
        """Lets `dt` [s] pass; errors (3,) of rate [rad/s] and acceleration [m/s^2] of the sample after it."""
        self.heading += float(self._rng.normal(0.0, HEADING * math.sqrt(max(dt, 0.0))))
        return self._rng.normal(0.0, RATE, 3), self._rng.normal(0.0, ACCELERATION, 3)
