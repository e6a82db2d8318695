"""Pace of simulated time: real time times a factor, with a bounded lead over the controller's targets.

All times are arguments: nothing here reads a clock.
"""

from __future__ import annotations

import math

MAX_CATCH_UP_S = 0.1  # simulated time in one step; a larger delay is dropped and counted
MAX_LEAD_PERIODS = 2.0  # periods of the targets by which the world may be ahead: the longest time step of a tick
MAX_WAIT_S = 3.0  # real time to wait for targets before the world continues without them
MIN_PERIOD_S = 0.02  # smallest assumed period of the targets
ROUNDING_S = 1e-6  # rounding error of times that are sums of steps


class RealTimePacer:
    """Tells how much simulated time is due: the steady time of the machine times a factor."""

    def __init__(self, factor: float, now: float) -> None:
        """Starts at the steady time `now` [s]."""
        self._factor = factor
        self._reference = now
        self._owed = 0.0  # [s]
        self.dropped = 0  # number of times that a delay was dropped

    def advance_to(self, now: float) -> None:
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
        owed = self._owed
        self._owed = 0.0
        return owed

    def restart(self, now: float) -> None:
        """Starts again at a steady time [s]; discards the time owed."""
        self._reference = now
        self._owed = 0.0


class ControllerLead:
    """Limits how far a world that publishes /clock may be ahead of the targets it receives.

    On a busy machine the controller would miss ticks and walk too short a distance, so the world waits for it. The
    period of the targets is the smallest interval between them: a longer one means a late tick, and must not permit the
    next tick to be later still. A longer period is accepted only after the world has waited MAX_WAIT_S in vain.
    """

    def __init__(self) -> None:
        self._stamp = -math.inf  # [s] simulated time of the last targets
        self._period = MIN_PERIOD_S
        self._received = -math.inf  # [s] steady time at which they were received

    def note_targets(self, stamp: float, now: float) -> None:
        """Records that targets with a simulated time [s] were received at a steady time [s]."""
        between = stamp - self._stamp
        slower = now - self._received > MAX_WAIT_S
        if MIN_PERIOD_S <= between <= MAX_CATCH_UP_S and (slower or between < self._period):
            self._period = between
        self._stamp = stamp
        self._received = now

    def must_wait(self, end: float, now: float) -> bool:
        """Whether a step that ends at a simulated time [s] has to wait at a steady time [s]."""
        lead = end - self._stamp
        return lead > MAX_LEAD_PERIODS * self._period + ROUNDING_S and now - self._received <= MAX_WAIT_S
