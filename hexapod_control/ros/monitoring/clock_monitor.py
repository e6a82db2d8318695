# SPDX-License-Identifier: Apache-2.0
"""Monitors /clock for nodes with use_sim_time. Independent of ROS; all times are steady [s].

A paused simulation publishes the same time again and again; one that has ended or hangs publishes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, Protocol

MAX_START_TIME_S = 1.5  # for the first message
MAX_SILENCE_S = 1.0  # between two messages
LATE_S = 0.15  # silence of /clock after which it counts as the cause of missing targets or commands


class HasSeconds(Protocol):
    """A builtin_interfaces/Time message."""

    sec: int
    nanosec: int


class ClockState(Enum):
    """State of /clock."""

    STARTING = "starting"
    MISSING = "missing"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPED = "stopped"


class ClockMonitor:
    """Monitors the /clock messages of one node and reports their absence."""

    def __init__(self, started: float, report: Callable[[str], None], stopped: Callable[[], None]) -> None:
        """`report` is called with a text while /clock is missing or stopped; `stopped` once each time it stops."""
        self._started = started
        self._report = report
        self._stopped = stopped
        self._heard: float | None = None  # arrival of the last message
        self._advanced = started  # arrival of the last new time
        self._time = (0, 0)
        self._state = ClockState.STARTING

    def wrap_callback(self, callback: Callable[[Any], None], now: Callable[[], float]) -> Callable[[Any], None]:
        """Wraps a callback of /clock so that every message is recorded; `now` returns the steady time [s]."""

        @wraps(callback)
        def record(message: Any) -> None:
            self.note(message.clock, now())
            callback(message)

        return record

    def note(self, time: HasSeconds, now: float) -> None:
        """Records a message that arrived at steady time `now` [s]."""
        if (time.sec, time.nanosec) != self._time:
            self._time = (time.sec, time.nanosec)
            self._advanced = now
        self._heard = now

    def check(self, now: float) -> ClockState:
        """Returns the state of /clock and reports it if needed; call it regularly."""
        before = self._state
        self._state = self._present(now)
        if self._state is ClockState.STOPPED and before is not ClockState.STOPPED:
            self._stopped()
        if self._state is ClockState.STOPPED:
            self._report(self._stopped_text)
        elif self._state is ClockState.MISSING:
            self._report(
                "use_sim_time is true but /clock is silent, so nothing moves: start the simulation with its clock, "
                "or set use_sim_time to false"
            )
        return self._state

    def cause(self, question: str, now: float) -> str:
        """Returns why targets or commands have stopped: a text about /clock if it is silent, else `question`."""
        late = self._heard is not None and now - self._heard > LATE_S
        return self._stopped_text if late else question

    def _present(self, now: float) -> ClockState:
        if self._heard is None:
            return ClockState.MISSING if now - self._started >= MAX_START_TIME_S else ClockState.STARTING
        if now - self._heard > MAX_SILENCE_S:
            return ClockState.STOPPED
        return ClockState.PAUSED if now - self._advanced > MAX_SILENCE_S else ClockState.RUNNING

    @property
    def _stopped_text(self) -> str:
        return f"/clock has stopped at {self._time[0] + 1e-9 * self._time[1]:.2f} s: is the simulator running?"
