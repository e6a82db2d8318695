"""Pace of simulated time: real time times a factor, and no farther ahead than the controller can follow.

All times are arguments; there is no clock here.
"""

from __future__ import annotations

import math

MAX_CATCH_UP_S = 0.1  # simulated time in one step; a larger delay is dropped and counted
MAX_LEAD_PERIODS = 2.0  # periods of the targets by which the world may be ahead of the newest targets
MAX_WAIT_S = 1.0  # real time to wait for the next targets; then the world goes on without them
MIN_PERIOD_S = 0.02  # smallest period of the targets that is assumed


class RealTimePacer:
    """Simulated time that is due: a factor times the steady time of the machine."""

    def __init__(self, factor: float, now: float) -> None:
        """Starts at the steady time `now` [s]."""
        self._factor, self._reference = factor, now
        self._owed = 0.0
        self.dropped = 0  # how often the world was too slow

    def owe(self, now: float) -> None:
        """Advances to a steady time [s]."""
        self._owed += (now - self._reference) * self._factor
        self._reference = now
        if self._owed > MAX_CATCH_UP_S:
            self.dropped += 1
            self._owed = MAX_CATCH_UP_S

    def take(self, seconds: float) -> bool:
        """Takes a step [s] if it is due; returns whether it was."""
        if self._owed < seconds:
            return False
        self._owed -= seconds
        return True

    def take_all(self) -> float:
        """Takes and returns all time that is due [s]."""
        owed, self._owed = self._owed, 0.0
        return owed

    def restart(self, now: float) -> None:
        """Starts again at a steady time [s]; discards the time owed."""
        self._reference, self._owed = now, 0.0


class ControllerLead:
    """How far a world that publishes /clock is ahead of the targets it receives.

    On a busy machine the controller would miss ticks and walk less far than commanded, so the world waits for it.
    """

    def __init__(self) -> None:
        self._stamp = -math.inf  # [s] simulated time of the last targets
        self._period = MIN_PERIOD_S
        self._received = -math.inf  # [s] steady time at which they were received

    def note_targets(self, stamp: float, now: float) -> None:
        """Notes that targets with a simulated time [s] were received at a steady time [s]."""
        between = stamp - self._stamp
        if MIN_PERIOD_S <= between <= MAX_CATCH_UP_S:
            self._period = between
        self._stamp, self._received = stamp, now

    def must_wait(self, time: float, now: float) -> bool:
        """Whether the simulated time [s] has to wait at a steady time [s]."""
        return time - self._stamp > MAX_LEAD_PERIODS * self._period and now - self._received <= MAX_WAIT_S
