"""Presence of servos: consecutive misses, quarantine and loss, by index in row order. Times are steady [s]; no I/O."""

from __future__ import annotations

import math

QUARANTINE_MISSES = 3  # consecutive ones, after which the servo is only pinged
PING_PERIOD_S = 1.0
FIRST_PING_S = 0.2 * PING_PERIOD_S  # after a restart, during which a servo is silent


class Presence:
    """Tracks the answers and misses of every servo."""

    def __init__(self, count: int, lost_after: float, now: float) -> None:
        """All servos count as present at `now`; one is lost after `lost_after` [s] without an answer."""
        self.misses = [0] * count  # consecutive
        self.total = [0] * count  # misses since the start
        self.last_answer = [now] * count
        self._lost_after = lost_after
        self._pinged = [-math.inf] * count

    def answered(self, index: int, now: float) -> None:
        """Records an answer, which ends a quarantine."""
        self.misses[index], self.last_answer[index] = 0, now

    def missed(self, index: int) -> None:
        """Counts a miss; too many in a row quarantine the servo."""
        self.misses[index] += 1
        self.total[index] += 1

    def quarantine(self, index: int, now: float) -> None:
        """Quarantines a servo that is known to restart; it is pinged after FIRST_PING_S."""
        self.misses[index] = max(self.misses[index], QUARANTINE_MISSES)
        self._pinged[index] = now - (PING_PERIOD_S - FIRST_PING_S)

    def quarantined(self, index: int) -> bool:
        """Whether a servo is excluded from the cycle."""
        return self.misses[index] >= QUARANTINE_MISSES

    def lost(self, index: int, now: float) -> bool:
        """Whether a servo has been silent for too long."""
        return self.quarantined(index) and now - self.last_answer[index] >= self._lost_after

    def due_ping(self, now: float) -> int | None:
        """The quarantined servo whose ping is due, if any; it counts as pinged."""
        for index in range(len(self.misses)):
            if self.quarantined(index) and now - self._pinged[index] >= PING_PERIOD_S:
                self._pinged[index] = now
                return index
        return None
