"""The time in which servos can answer: steady time without the delays of this computer."""

from __future__ import annotations

from collections.abc import Callable

from hexapod_control.servos.bus.bus_interface import BusCounters

ALLOWED_CYCLES = 2.0  # that may pass between two looks at the clock, apart from waiting for replies


class ServoClock:
    """Stands still while this computer does not run the driver: a servo is not silent because nobody listens to it."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is steady time [s]."""
        self.excluded = 0.0  # [s] by which the computer has delayed the driver since the start
        self._clock, self._last = clock, clock()
        self._counters, self._waited, self._allowed = BusCounters(), 0.0, 0.0
        self._received, self._heard = 0, 0.0  # replies, and when the last one came [s]

    def follow(self, counters: BusCounters, period: float) -> None:
        """Belongs to a newly opened bus from now on, with this period of a cycle [s]."""
        self._counters, self._waited, self._received = counters, counters.waited, counters.received
        self._allowed, self._last = ALLOWED_CYCLES * period, self._clock()
        self._heard = self()

    def __call__(self) -> float:
        """Time [s]. What passed since the last call, beyond two cycles and the time waited for replies, is excluded."""
        now, waited = self._clock(), self._counters.waited
        pause = now - self._last - (waited - self._waited)
        if pause > self._allowed:
            self.excluded += pause - self._allowed
        self._last, self._waited = now, waited
        return now - self.excluded

    def silence(self) -> float:
        """Time [s] since any servo has answered."""
        now = self()
        if self._counters.received != self._received:
            self._received, self._heard = self._counters.received, now
        return now - self._heard
