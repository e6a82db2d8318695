"""Heading change between two joint samples: from an IMU if it is valid, else from the feet.

The turn of the feet is the heading change of the body by the fit of the standing feet (odometry.py). It is used for
joint samples without a new IMU sample, and then subtracted from the next change of the IMU, so that no turn counts
twice. An IMU that repeats exactly the same heading while the feet turn by more than MAX_FROZEN_TURN is frozen: it is
ignored, and the missed turn is added once.
"""

from __future__ import annotations

from typing import NamedTuple

from hexapod_control.core.kinematics.se2 import wrap

MAX_AGE_S = 0.2  # of a usable heading of the IMU
MAX_LEAD_S = 0.01  # by which a heading may be newer than the joint sample
MAX_FROZEN_TURN = 0.1  # [rad] turn of the feet while the IMU repeats the same heading


class HeadingSample(NamedTuple):
    """A heading of the IMU."""

    time: float  # [s]
    yaw: float  # [rad]


class HeadingFusion:
    """Fuses IMU and feet. For each joint sample call `change`, then `add_fitted_turn` with the turn of the feet."""

    def __init__(self) -> None:
        self.newest: HeadingSample | None = None
        self.frozen = False  # whether the last call of `change` ignored the IMU because it is frozen
        self.lost = False  # whether there was no recent heading in the last call of `change`
        self._used: HeadingSample | None = None  # the last sample that was used
        self._used_changed = False  # whether the last call of `change` used a new sample, or lost the IMU
        self._by_feet = 0.0  # [rad] turn of the feet since the last sample that was used
        self._fitted_turn = 0.0  # [rad] turn of the feet in the last joint sample
        self._unchanged = 0.0  # [rad] turn of the feet since the IMU's heading last changed

    def take(self, time: float, yaw: float) -> None:
        """Processes a heading [rad] of the IMU with its time [s]."""
        self.newest = HeadingSample(time, yaw)

    def change(self, now: float) -> float | None:
        """Returns the heading change [rad] by the IMU since the last joint sample; `now` [s] is the time of this one.

        None if the feet must be used.
        """
        before = self._used
        change = self._change(now)
        self._used_changed = self._used is not before
        return change

    def add_fitted_turn(self, turn: float) -> None:
        """Processes the turn [rad] of the feet in the joint sample of the last call of `change`."""
        self._fitted_turn = turn
        if not self._used_changed:
            self._by_feet += turn

    def _change(self, now: float) -> float | None:
        self.frozen = False
        newest, used = self.newest, self._used
        self.lost = newest is None or abs(now - newest.time) > MAX_AGE_S
        if newest is None or self.lost:
            self._used = None
            self._unchanged = 0.0
            return None
        if used is not None and (newest.time == used.time or newest.time > now + MAX_LEAD_S):
            return None
        by_feet = self._by_feet
        self._used = newest
        self._by_feet = 0.0
        if used is None:
            return None
        change = wrap(newest.yaw - used.yaw)
        valid = abs(self._unchanged) <= MAX_FROZEN_TURN
        self._unchanged = 0.0 if change else self._unchanged + self._fitted_turn
        if abs(self._unchanged) <= MAX_FROZEN_TURN:
            return change - by_feet if valid else None
        self.frozen = True
        return self._unchanged if valid else None  # the missed turn, once
