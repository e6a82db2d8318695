"""How fast simulated time passes: beside the machine's, and no farther ahead than its controller can follow.

All times are handed in: no clock in it.
"""

from __future__ import annotations

import math

CATCH_UP = 0.1  # [s] of simulated time in one go; what is more than that behind is dropped and counted
LEAD = 2.0  # periods of the targets that the world may be ahead of the last of them
WAIT = 1.0  # [s] of the machine's time for the next targets; then the world goes on without
LEAST_PERIOD = 0.02  # [s] taken as the targets' period at least


class RealTimePacer:
    """Simulated time that is due, at a factor of the machine's steady time."""

    def __init__(self, factor: float, now: float) -> None:
        """Starts at the steady time `now` [s]."""
        self._factor, self._reference = factor, now
        self._owed = 0.0
        self.dropped = 0  # times that the world has fallen behind

    def owe(self, now: float) -> None:
        """Comes to a steady time [s]."""
        self._owed += (now - self._reference) * self._factor
        self._reference = now
        if self._owed > CATCH_UP:
            self.dropped += 1
            self._owed = CATCH_UP

    def take(self, seconds: float) -> bool:
        """Whether so much [s] is due; if so, it is taken."""
        if self._owed < seconds:
            return False
        self._owed -= seconds
        return True

    def take_all(self) -> float:
        """All that is due [s]."""
        owed, self._owed = self._owed, 0.0
        return owed

    def restart(self, now: float) -> None:
        """Goes on from a steady time [s]: what passed before never was."""
        self._reference, self._owed = now, 0.0


class ControllerLead:
    """How far a world that makes the time is ahead of the targets it gets.

    A controller that gets no time on a busy machine would miss ticks and lose way, which no robot does: so the world
    waits for it.
    """

    def __init__(self) -> None:
        self._stamp = -math.inf  # [s] simulated time of the last targets
        self._period = LEAST_PERIOD
        self._heard = -math.inf  # [s] steady time at which they came

    def heard(self, stamp: float, now: float) -> None:
        """Targets of a simulated time [s] have come at a steady time [s]."""
        between = stamp - self._stamp
        if LEAST_PERIOD <= between <= CATCH_UP:
            self._period = between
        self._stamp, self._heard = stamp, now

    def too_far(self, time: float, now: float) -> bool:
        """Whether the simulated time [s] has to wait at a steady time [s]."""
        return time - self._stamp > LEAD * self._period and now - self._heard <= WAIT
