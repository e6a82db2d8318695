"""Quality of the line over windows of WINDOW_S: late and corrupt replies, and delays of this computer."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

from hexapod_control.servos.bus.bus_interface import BusCounters
from hexapod_control.servos.driver.telemetry import Diagnosis

WINDOW_S = 0.3  # over which replies are counted
LATE_SHARE = 0.5  # of late replies, at which the robot stops
NOISE_SHARE = 0.01  # of corrupt replies, at which goals are read back
MIN_CORRUPT = 2  # corrupt replies for either reaction to noise
NOISE_LIMIT = 0.1  # share of corrupt replies at which the robot stops
NOISE_WINDOWS = 2  # in which corrupt replies are counted
CLEAR_WINDOWS = 3  # without late replies, before the robot may walk again
MIN_REPORTED_PAUSE_S = 0.2  # of the driver in a window
PAUSE_REPORT_S = 5.0  # for which a pause is reported


class LineHealth:
    """Compares the counters of a bus over time. Times are steady [s]."""

    def __init__(self) -> None:
        self.late = False  # most replies are late: the control loop is too slow to walk
        self.noise = 0.0  # share of the replies that are corrupt; 0 if there are few
        self._windows: deque[tuple[int, int]] = deque(maxlen=NOISE_WINDOWS)  # corrupt and good replies
        self._wrong_goals = 0  # since the start
        self._before, self._excluded = BusCounters(), 0.0  # at the begin of the window
        self._begin = math.nan  # [s] of the window
        self._good_windows = 0
        self._lateness = 0.0  # [s]
        self._pause, self._paused = 0.0, -math.inf  # [s] duration of the last pause, and when it was noticed

    def update(self, counters: BusCounters, excluded: float, now: float) -> None:
        """Evaluates the counters; `excluded` [s] is the total delay of the driver by the computer."""
        if math.isnan(self._begin) or counters.received < self._before.received:  # a new bus
            self._start_window(counters, excluded, now)
        if now - self._begin < WINDOW_S:
            return
        received, late = counters.received - self._before.received, counters.late - self._before.late
        self._judge_lateness(late, received, counters.lateness)
        self._windows.append((counters.bad - self._before.bad, received))
        self._judge_noise()
        self._wrong_goals = counters.wrong_goals
        if excluded - self._excluded >= MIN_REPORTED_PAUSE_S:
            self._pause, self._paused = excluded - self._excluded, now
        self._start_window(counters, excluded, now)

    def _judge_lateness(self, late: int, received: int, lateness: float) -> None:
        if late and late >= LATE_SHARE * received:
            self.late, self._good_windows, self._lateness = True, 0, lateness
            return
        self._good_windows += 1
        self.late = self.late and self._good_windows < CLEAR_WINDOWS

    def _judge_noise(self) -> None:
        corrupt, good = (sum(counts) for counts in zip(*self._windows, strict=True))
        share = corrupt / max(corrupt + good, 1)
        self.noise = share if corrupt >= MIN_CORRUPT and share >= NOISE_SHARE else 0.0

    @property
    def stops(self) -> bool:
        """Whether the robot has to stop."""
        return self.late or self.noise >= NOISE_LIMIT

    def _start_window(self, counters: BusCounters, excluded: float, now: float) -> None:
        self._before, self._excluded, self._begin = replace(counters), excluded, now

    def diagnoses(self, now: float) -> list[Diagnosis]:
        """Diagnoses of present faults of the line or the computer."""
        found = []
        if self.late:
            text = f"replies are {1000.0 * self._lateness:.0f} ms late: computer or adapter too slow: the robot stops; "
            text += "end other programs, set the latency of the adapter to 1 ms"
            found.append(Diagnosis("late", True, text))
        if self.noise:
            stops = self.noise >= NOISE_LIMIT
            reaction = ", the robot stops" if stops else ""
            text = f"{100.0 * self.noise:.0f} % of the replies are corrupt{reaction}: goals are read back, "
            text += f"{self._wrong_goals} were wrong; check cables, plugs and the ground of the bus"
            found.append(Diagnosis("noise", stops, text))
        if now - self._paused < PAUSE_REPORT_S:
            text = f"the computer did not run the driver for {self._pause:.1f} s, the servos held: end other programs"
            found.append(Diagnosis("pause", False, text))
        return found
