"""Schedule of the reads in a cycle: motion of all servos or in turn, health occasionally, pings of silent servos."""

from __future__ import annotations

import math
from functools import partial

from hexapod_control.servos.bus.bus_interface import Bus, ServoQuantity
from hexapod_control.servos.bus.bus_timing import TURNAROUND_S, BusBudget, duration
from hexapod_control.servos.driver.presence import Presence

MOTION = ServoQuantity.POSITION | ServoQuantity.SPEED | ServoQuantity.LOAD
HEALTH = ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE | ServoQuantity.FAULT
MAX_HEALTH_RATE_HZ = 3.0  # of every servo
MAX_HEALTH_SHARE = 0.08  # of the time on the line
BROWN_OUT_SHARE = 0.5  # of the servos silent at the same time means no power, or a bad line
SUPPLY_PERIOD_S = 0.4


class ReadSchedule:
    """Selects the servos of one bus to be read, in turn. Indices are in row order, times steady [s]."""

    def __init__(self, bus: Bus, count: int, budget: BusBudget, presence: Presence) -> None:
        """`budget` limits the servos read per cycle."""
        self._count, self._reads, self._presence = count, budget.reads, presence
        self._one_by_one = bus.timing(count, bus.can_read & MOTION).turnarounds > 1
        motion = partial(bus.timing, quantities=bus.can_read & MOTION)
        self._each = motion(1).read  # [s] at most, for the motion of one more servo
        self._idle = 1.0 / budget.rate - duration(motion, count, budget.reads)  # [s] of a cycle on the line
        health = bus.timing(1, bus.can_read & HEALTH)
        busy = health.read + health.turnarounds * TURNAROUND_S
        self._health_period = max(1.0 / (MAX_HEALTH_RATE_HZ * count), busy / MAX_HEALTH_SHARE)  # [s] between servos
        self._turn = self._health = self._ping = 0  # indices of the next motion read, last health read and last ping
        self._pinged: list[int] = []  # servos whose reply to a ping may still come
        self._health_due = self._supply_due = -math.inf

    def motion(self, taken: float = 0.0) -> list[list[int]]:
        """Servos whose motion is read now, by transaction: all at once if the bus supports it, else one by one.

        `taken` [s] of this cycle have gone into other reads.
        """
        present = [i for i in range(self._count) if not self._presence.quarantined(i)]
        if not present:
            return []
        start = next((n for n, i in enumerate(present) if i >= self._turn), 0)
        doubtful = [i for i in present if self._presence.misses[i]]  # first: the next cycles show whether they are lost
        others = [i for i in present[start:] + present[:start] if i not in doubtful]
        if self._one_by_one:  # until the cycle ends
            return [[index] for index in (doubtful + others)[: self._reads]]
        fewer = math.ceil((taken - self._idle) / self._each) if self._each and taken > self._idle else 0
        chosen = (doubtful + others)[: max(0, self._reads - fewer)]
        return [chosen] if chosen else []

    def has_time_after(self, taken: float) -> bool:
        """Whether there is time for health in a cycle of which other reads have `taken` some [s].

        Where servos are read one by one, fewer of them are read then.
        """
        return self._one_by_one or taken <= self._idle

    def was_read(self, index: int) -> None:
        """Records that a servo was read: the next turn starts after it."""
        self._turn = index + 1

    def pings(self, now: float) -> list[int]:
        """Quarantined servos to ping now: one per second; all if half of the servos are silent (a bad line).

        They stay the same until `was_pinged`.
        """
        if not self._pinged:
            self._pinged = self._next_pings(now)
        return self._pinged

    def was_pinged(self) -> None:
        """Ends the pings: no reply to them is awaited any more."""
        self._pinged = []

    def _next_pings(self, now: float) -> list[int]:
        away = [i for i in range(self._count) if self._presence.quarantined(i)]
        if len(away) >= BROWN_OUT_SHARE * self._count:
            if not self._one_by_one:
                return away
            self._ping = (self._ping + 1) % len(away)
            return [away[self._ping]]
        index = self._presence.due_ping(now)
        return [] if index is None else [index]

    def supply_due(self, now: float) -> bool:
        """Whether to read the board's supply now; if so, it counts as read."""
        if now < self._supply_due:
            return False
        self._supply_due = now + SUPPLY_PERIOD_S
        return True

    def health(self, now: float) -> int | None:
        """The servo whose health is to be read now, if any; it counts as read."""
        if now < self._health_due:
            return None
        self._health_due = now + self._health_period
        self._health = (self._health + 1) % self._count
        return None if self._presence.quarantined(self._health) else self._health
