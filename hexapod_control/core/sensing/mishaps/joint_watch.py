"""Detects joints that do not follow their targets, such as those of a leg held by an obstacle.

Servos lag, so a joint counts as following if it is near any of its targets of the last LAG_S.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import JOINTS

LAG_S = 0.3  # [s] longest delay of a working servo, on a slow bus
MAX_ERROR_RAD = 0.2  # five times the deflection of loaded joints
LAGGING_TIME_S = 0.2  # with a greater error: the leg lags ...
STUCK_TIME_S = 0.6  # ... or, after this time, is stuck


class LaggingJoint(NamedTuple):
    """The joint that has been off its targets for longest."""

    leg: int  # row
    joint: int  # index in JOINTS
    error: float  # [rad] distance from the nearest target
    time: float  # [s] for which the error has been greater than MAX_ERROR_RAD


class JointWatch(Copyable):
    """Compares measured joints with the planned ones of the last LAG_S."""

    def __init__(self) -> None:
        """Starts without samples."""
        self.reset()

    def reset(self) -> None:
        """Clears all samples."""
        # Lowest and highest planned joints [rad], by half window of LAG_S / 2
        self._windows: list[tuple[list[float], list[float]]] = []
        self._age = 0.0  # [s] of the newest half window
        self._times: list[float] = []  # [s] with too great an error, by joint
        self._errors: list[float] = []  # [rad] by joint

    def step(self, dt: float, planned: Array, measured: Sequence[float] | None) -> None:
        """Compares planned (n, 3) and measured (3 n) joint angles [rad], `dt` [s] after the last time.

        `measured` is None if they are unknown.
        """
        if measured is None or len(self._times) != planned.size:
            self.reset()
            self._times = [0.0] * planned.size
        if measured is None:
            return
        self._age += dt
        targets = planned.ravel().tolist()
        if not self._windows or self._age > LAG_S / 2.0:
            self._windows, self._age = [*self._windows[-2:], (targets, targets)], 0.0
        low, high = self._windows[-1]
        self._windows[-1] = list(map(min, low, targets)), list(map(max, high, targets))
        lows, highs = zip(*self._windows, strict=True)
        ranges = zip(map(min, *lows, lows[0]), map(max, *highs, highs[0]), measured, strict=True)
        self._errors = [max(lowest - angle, angle - highest) for lowest, highest, angle in ranges]
        pairs = zip(self._times, self._errors, strict=True)
        self._times = [time + dt if error > MAX_ERROR_RAD else 0.0 for time, error in pairs]

    @property
    def latest(self) -> LaggingJoint | None:
        """The joint that lags most; None if all follow."""
        longest = max(self._times, default=0.0)
        if longest <= LAGGING_TIME_S:
            return None
        row = self._times.index(longest)
        leg, joint = divmod(row, len(JOINTS))
        return LaggingJoint(leg, joint, self._errors[row], longest)
