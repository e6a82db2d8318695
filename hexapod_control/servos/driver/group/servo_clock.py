"""Servo time: steady time without the scheduling delays of this computer."""

from __future__ import annotations

from collections.abc import Callable

from hexapod_control.servos.bus.bus_interface import BusCounters

ALLOWED_CYCLES = 2.0  # cycle periods between two calls that are not a delay, without waits for replies


class ServoClock:
    """A clock that stops while the driver is not scheduled: such a pause does not make a servo silent."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is steady time [s]."""
        self.excluded = 0.0  # [s] total delay of the driver by the computer since the start
        self._clock, self._last = clock, clock()
        self._counters, self._waited, self._allowed = BusCounters(), 0.0, 0.0
        self._received, self._heard = 0, 0.0  # number of replies, and time of the last one [s]

    def follow(self, counters: BusCounters, period: float) -> None:
        """Follows a newly opened bus with this cycle period [s]."""
        self._counters, self._waited, self._received = counters, counters.waited, counters.received
        self._allowed, self._last = ALLOWED_CYCLES * period, self._clock()
        self._heard = self()

    def __call__(self) -> float:
        """Servo time [s]. A pause since the last call counts only up to ALLOWED_CYCLES, plus the waits for replies."""
        now, waited = self._clock(), self._counters.waited
        pause = now - self._last - (waited - self._waited)
        if pause > self._allowed:
            self.excluded += pause - self._allowed
        self._last, self._waited = now, waited
        return now - self.excluded

    def silence(self) -> float:
        """Time [s] since the last answer of any servo."""
        now = self()
        if self._counters.received != self._received:
            self._received, self._heard = self._counters.received, now
        return now - self._heard
