"""When is something wrong, and how wrong: pure state machines of measured values and a steady time [s]; no I/O."""

from __future__ import annotations

import math
from collections import deque
from enum import IntEnum

QUARANTINE_MISSES = 3  # consecutive: from then on the servo is only pinged
PING_PERIOD = 1.0  # [s]
BACK_OFF_BOUNDS = (0.25, 2.0)  # [s] between two tries to open the port: first, greatest
RETRY_LIMIT = (3, 300.0)  # at most so many in so many seconds
SIT_TIMEOUT = 10.0  # [s] for the robot to sit before the torque goes


class Severity(IntEnum):
    """How bad it is."""

    OK = 0
    WARN = 1
    SIT = 2
    OFF = 3


class EscalationLadder:
    """Warn, sit once, off, for a value that is bad when it is high; it never climbs back from SIT.

    A value counts when it has been bad for `patience` seconds without a break.
    """

    def __init__(self, warn: float, limit: float, patience: float, back: float, sitting: float = SIT_TIMEOUT) -> None:
        """WARN ends when the value is `back` below `warn`; from SIT to OFF it is at most `sitting` [s]."""
        self.rung = Severity.OK
        self._warn, self._limit, self._patience, self._back = warn, limit, patience, back
        self._sitting = sitting
        self._warm = self._bad = self._sat = math.nan  # [s] since when

    def update(self, value: float, now: float) -> Severity:
        """The rung after a value."""
        self._warm = self._since(self._warm, value >= self._warn, now)
        self._bad = self._since(self._bad, value >= self._limit, now)
        if self.rung < Severity.SIT and now - self._bad >= self._patience:
            self.rung, self._sat = Severity.SIT, now
        elif self.rung is Severity.OK and now - self._warm >= min(self._patience, 0.5):
            self.rung = Severity.WARN
        elif self.rung is Severity.WARN and value < self._warn - self._back:
            self.rung = Severity.OK
        return self.wait(now)

    def wait(self, now: float) -> Severity:
        """The rung when time passes without a value."""
        if self.rung is Severity.SIT and now - self._sat >= self._sitting:
            self.rung = Severity.OFF
        return self.rung

    def seated(self) -> None:
        """The robot sits: nothing keeps the torque on any more."""
        if self.rung is Severity.SIT:
            self.rung = Severity.OFF

    def reset(self, value: float | None) -> bool:
        """Begins again if the value is well again; whether it does."""
        if self.rung >= Severity.SIT and value is not None and value >= self._warn - self._back:
            return False
        self.rung = Severity.OK
        self._warm = self._bad = self._sat = math.nan
        return True

    @staticmethod
    def _since(since: float, bad: bool, now: float) -> float:
        if not bad:
            return math.nan
        return now if math.isnan(since) else since


class LowPass:
    """A filtered value; the first one counts at once."""

    def __init__(self, time: float) -> None:
        """Time constant [s]."""
        self.value: float | None = None
        self._time, self._then = time, math.nan

    def update(self, value: float, now: float) -> float:
        """The filtered value."""
        if self.value is None:
            self.value = value
        else:
            self.value += (value - self.value) * (1.0 - math.exp(-max(0.0, now - self._then) / self._time))
        self._then = now
        return self.value


class Presence:
    """Who answers: consecutive misses, quarantine and loss of servos by row index."""

    def __init__(self, count: int, lost_after: float, now: float) -> None:
        """All are taken to have answered at `now`; lost is who has not for `lost_after` [s]."""
        self.misses = [0] * count  # consecutive
        self.total = [0] * count
        self.heard = [now] * count
        self._lost_after = lost_after
        self._pinged = [-math.inf] * count

    def answered(self, index: int, now: float) -> bool:
        """A servo has answered; whether it had been quarantined."""
        back = self.quarantined(index)
        self.misses[index], self.heard[index] = 0, now
        return back

    def missed(self, index: int) -> bool:
        """A servo has not answered; whether that is the miss from which on it is quarantined."""
        self.misses[index] += 1
        self.total[index] += 1
        return self.misses[index] == QUARANTINE_MISSES

    def send_away(self, index: int, now: float) -> None:
        """A servo is known to be away for a while: quarantined, the first ping in a fifth of a period."""
        self.misses[index] = max(self.misses[index], QUARANTINE_MISSES)
        self._pinged[index] = now - 0.8 * PING_PERIOD

    def quarantined(self, index: int) -> bool:
        """Whether a servo is left out of the cycle."""
        return self.misses[index] >= QUARANTINE_MISSES

    def lost(self, index: int, now: float) -> bool:
        """Whether a servo is given up."""
        return self.quarantined(index) and now - self.heard[index] >= self._lost_after

    def ping(self, now: float) -> int | None:
        """The quarantined servo that is due for a ping, if any; it counts as pinged."""
        for index in range(len(self.misses)):
            if self.quarantined(index) and now - self._pinged[index] >= PING_PERIOD:
                self._pinged[index] = now
                return index
        return None


class BackOff:
    """When to try again: soon, then less often."""

    def __init__(self) -> None:
        self._wait, self._next = BACK_OFF_BOUNDS[0], -math.inf

    def failed(self, now: float) -> float:
        """A try has failed; when the next one is due [s]."""
        self._next = now + self._wait
        self._wait = min(2.0 * self._wait, BACK_OFF_BOUNDS[1])
        return self._next

    @property
    def next(self) -> float:
        """When the next try is due [s]."""
        return self._next

    def reset(self) -> None:
        """It worked."""
        self._wait, self._next = BACK_OFF_BOUNDS[0], -math.inf


class RetryBudget:
    """At most so many acts in so many seconds."""

    def __init__(self, most: int = RETRY_LIMIT[0], within: float = RETRY_LIMIT[1]) -> None:
        self._most, self._within = most, within
        self._acts: deque[float] = deque()

    def take(self, now: float) -> bool:
        """Whether one more is allowed; if so it counts."""
        while self._acts and now - self._acts[0] >= self._within:
            self._acts.popleft()
        if len(self._acts) >= self._most:
            return False
        self._acts.append(now)
        return True
