"""Heading change between two joint samples, from an IMU where it is valid and from the feet otherwise.

The IMU's heading is used as long as new samples arrive. For joints without a new IMU sample the feet fill in; the next
IMU sample then counts only for what the feet have not reported yet, so nothing is counted twice. An IMU that repeats
exactly the same heading while the feet turn by more than MAX_FROZEN_TURN is frozen: it is ignored from then on, and
the turn that it missed is added once.
"""

from __future__ import annotations

from typing import NamedTuple

from hexapod_control.core.kinematics.se2 import wrap

MAX_AGE_S = 0.2  # beyond which the IMU's heading is not used
MAX_LEAD_S = 0.01  # by which a heading may be newer than the joints it is used for
MAX_FROZEN_TURN = 0.1  # [rad] the feet may turn while the IMU repeats the same heading


class HeadingSample(NamedTuple):
    """A heading of the IMU."""

    time: float  # [s]
    yaw: float  # [rad]


class HeadingFusion:
    """Per joint sample: `change`, then `add_fitted_turn` with the turn that the feet gave for it."""

    def __init__(self) -> None:
        self.newest: HeadingSample | None = None
        self.frozen = False  # whether the last call of `change` ignored the IMU because it is frozen
        self.lost = False  # whether it had no heading that is new enough
        self._used: HeadingSample | None = None  # the last one that was used
        self._used_now = False  # whether the last call of `change` used a new one, or lost the IMU
        self._by_feet = 0.0  # [rad] turn of the feet since then
        self._fitted_turn = 0.0  # [rad] turn of the feet in the last joint sample
        self._unchanged = 0.0  # [rad] turn of the feet since the IMU's heading last changed

    def take(self, time: float, yaw: float) -> None:
        """Takes a heading [rad] of the IMU at a time [s]."""
        self.newest = HeadingSample(time, yaw)

    def change(self, now: float) -> float | None:
        """Heading change [rad] since the last joint sample by the IMU; None if the feet have to give it."""
        before = self._used
        change = self._change(now)
        self._used_now = self._used is not before
        return change

    def add_fitted_turn(self, turn: float) -> None:
        """Takes the turn [rad] that the feet made in the joint sample of the last call of `change`."""
        self._fitted_turn = turn
        if not self._used_now:
            self._by_feet += turn

    def _change(self, now: float) -> float | None:
        self.frozen = False
        newest, used = self.newest, self._used
        self.lost = newest is None or abs(now - newest.time) > MAX_AGE_S
        if newest is None or self.lost:
            self._used, self._unchanged = None, 0.0
            return None
        if used is not None and (newest.time == used.time or newest.time > now + MAX_LEAD_S):
            return None
        by_feet, self._used, self._by_feet = self._by_feet, newest, 0.0
        if used is None:
            return None
        change, valid = wrap(newest.yaw - used.yaw), abs(self._unchanged) <= MAX_FROZEN_TURN
        self._unchanged = 0.0 if change else self._unchanged + self._fitted_turn
        if abs(self._unchanged) <= MAX_FROZEN_TURN:
            return change - by_feet if valid else None
        self.frozen = True
        return self._unchanged if valid else None  # what was missed so far, once
