"""Severity of a measured value over time: escalation, low-pass filter, retry budget. Times are steady [s]; no I/O."""

from __future__ import annotations

import math
from collections import deque
from enum import IntEnum

MAX_RETRIES = 3  # in RETRY_WINDOW_S
RETRY_WINDOW_S = 300.0
SIT_TIMEOUT_S = 10.0  # for the robot to sit down, before the torque is switched off
MAX_WARN_DELAY_S = 0.5  # a value must be bad at most this long before the warning


class Severity(IntEnum):
    """Severity of a fault."""

    OK = 0
    WARN = 1
    SIT = 2
    OFF = 3


class EscalationLadder:
    """Escalation from warning to sitting to torque off, for a value that is bad when high; only `reset` ends SIT.

    A value counts once it has been bad for `delay_s` without interruption.
    """

    def __init__(self, warn: float, limit: float, delay_s: float, back: float, sitting: float = SIT_TIMEOUT_S) -> None:
        """WARN ends when the value is `back` below `warn`; SIT becomes OFF after `sitting` [s]."""
        self.severity = Severity.OK
        self._warn, self._limit, self._delay_s, self._back = warn, limit, delay_s, back
        self._sitting = sitting
        self._warn_since = self._limit_since = self._sit_since = math.nan  # [s] steady time

    def update(self, value: float, now: float) -> Severity:
        """Evaluates a value measured at `now` [s]. Returns the severity."""
        self._warn_since = self._since(self._warn_since, value >= self._warn, now)
        self._limit_since = self._since(self._limit_since, value >= self._limit, now)
        if self.severity < Severity.SIT and now - self._limit_since >= self._delay_s:
            self.severity, self._sit_since = Severity.SIT, now
        elif self.severity is Severity.OK and now - self._warn_since >= min(self._delay_s, MAX_WARN_DELAY_S):
            self.severity = Severity.WARN
        elif self.severity is Severity.WARN and value < self._warn - self._back:
            self.severity = Severity.OK
        return self.elapse(now)

    def elapse(self, now: float) -> Severity:
        """Advances time to `now` [s] without a value. Returns the severity."""
        if self.severity is Severity.SIT and now - self._sit_since >= self._sitting:
            self.severity = Severity.OFF
        return self.severity

    def note_seated(self) -> None:
        """Records that the robot sits, so that the torque may be switched off."""
        if self.severity is Severity.SIT:
            self.severity = Severity.OFF

    def reset(self, value: float | None) -> bool:
        """Returns to OK if the value (None: unknown) is good. Returns whether it is."""
        if self.severity >= Severity.SIT and value is not None and value >= self._warn - self._back:
            return False
        self.severity = Severity.OK
        self._warn_since = self._limit_since = self._sit_since = math.nan
        return True

    @staticmethod
    def _since(since: float, bad: bool, now: float) -> float:
        if not bad:
            return math.nan
        return now if math.isnan(since) else since


class LowPass:
    """First-order low-pass; the first value passes unfiltered."""

    def __init__(self, time: float) -> None:
        """`time` is the time constant [s]."""
        self.value: float | None = None
        self._time, self._then = time, math.nan

    def update(self, value: float, now: float) -> float:
        """Filters a value measured at `now` [s]. Returns the filtered value."""
        if self.value is None:
            self.value = value
        else:
            self.value += (value - self.value) * (1.0 - math.exp(-max(0.0, now - self._then) / self._time))
        self._then = now
        return self.value


class RetryBudget:
    """Allows at most `count` retries within `within` seconds."""

    def __init__(self, count: int = MAX_RETRIES, within: float = RETRY_WINDOW_S) -> None:
        self._count, self._within = count, within
        self._retries: deque[float] = deque()

    def take(self, now: float) -> bool:
        """Returns whether one more retry is allowed, and counts it if so."""
        while self._retries and now - self._retries[0] >= self._within:
            self._retries.popleft()
        if len(self._retries) >= self._count:
            return False
        self._retries.append(now)
        return True
