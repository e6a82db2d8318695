"""Detects joints that do not follow their targets, such as those of a caught leg.

Servos lag, so a joint counts as following if it is near any of its targets of the last LAG_S.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array

LAG_S = 0.3  # of a servo with a slow bus
MAX_ERROR_RAD = 0.2  # five times the deflection of loaded joints
LAGGING_TIME_S = 0.2  # beyond MAX_ERROR_RAD: the leg lags ...
STUCK_TIME_S = 0.6  # ... and is stuck


class LaggingJoint(NamedTuple):
    """The joint that has been off its targets for longest."""

    leg: int
    joint: int
    error: float  # [rad]
    time: float  # [s]


class JointWatch:
    """Compares measured joints with the planned ones of the last LAG_S."""

    __slots__ = ("_age", "_errors", "_times", "_windows")

    def __init__(self) -> None:
        """Starts without samples."""
        self.reset()

    def reset(self) -> None:
        """Clears all samples."""
        self._windows: list[tuple[Array, Array]] = []  # lowest and highest planned joints of the last half windows
        self._age = 0.0  # [s] of the newest half window
        self._times: Array = np.zeros(0)
        self._errors: Array = np.zeros(0)

    def step(self, dt: float, planned: Array, measured: Array | None) -> None:
        """Takes planned and measured joints (n, 3) [rad], `dt` [s] after the last time; None if unknown."""
        if measured is None or self._times.shape != planned.shape:
            self.reset()
            self._times = np.zeros(planned.shape)
        if measured is None:
            return
        self._age += dt
        if not self._windows or self._age > LAG_S / 2.0:
            self._windows, self._age = [*self._windows[-2:], (planned, planned)], 0.0
        low, high = self._windows[-1]
        self._windows[-1] = np.minimum(low, planned), np.maximum(high, planned)
        low, high = (np.array(ends) for ends in zip(*self._windows, strict=True))
        self._errors = np.maximum(low.min(axis=0) - measured, measured - high.max(axis=0))
        self._times = np.where(self._errors > MAX_ERROR_RAD, self._times + dt, 0.0)

    @property
    def latest(self) -> LaggingJoint | None:
        """The joint that lags most; None if all follow."""
        if not self._times.size or self._times.max() <= LAGGING_TIME_S:
            return None
        leg, joint = np.unravel_index(int(self._times.argmax()), self._times.shape)
        return LaggingJoint(int(leg), int(joint), float(self._errors[leg, joint]), float(self._times[leg, joint]))
