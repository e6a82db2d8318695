"""Severity of a measured value over time: escalation, low-pass filter, retry budget. Times are steady [s]; no I/O."""

from __future__ import annotations

import math
from collections import deque
from enum import IntEnum

MAX_RETRIES = 3  # within RETRY_WINDOW_S
RETRY_WINDOW_S = 300.0
SIT_TIMEOUT_S = 10.0  # for the robot to sit down, before the torque is switched off
MAX_WARN_DELAY_S = 0.5  # maximum time for which a value must be bad before the warning


class Severity(IntEnum):
    """Severity of a fault, by the reaction to it."""

    OK = 0
    WARN = 1
    SIT = 2  # the robot sits down
    OFF = 3  # torque off


class EscalationLadder:
    """Escalation from warning to sitting to torque off, for a value that is bad when high.

    SIT ends in OFF, or by `reset`. A value counts once it has been bad for `delay_s` without interruption.
    """

    def __init__(
        self, warn: float, limit: float, delay_s: float, hysteresis: float, sit_timeout_s: float = SIT_TIMEOUT_S
    ) -> None:
        """WARN ends when the value is `hysteresis` below `warn`; SIT becomes OFF after `sit_timeout_s`."""
        self.severity = Severity.OK
        self._warn, self._limit, self._delay_s, self._hysteresis = warn, limit, delay_s, hysteresis
        self._sit_timeout_s = sit_timeout_s
        self._warn_since = self._limit_since = self._sit_since = math.nan  # [s] steady time

    def update(self, value: float, now: float) -> Severity:
        """Evaluates a value measured at `now` [s]. Returns the severity."""
        self._warn_since = self._since(self._warn_since, value >= self._warn, now)
        self._limit_since = self._since(self._limit_since, value >= self._limit, now)
        if self.severity < Severity.SIT and now - self._limit_since >= self._delay_s:
            self.severity, self._sit_since = Severity.SIT, now
        elif self.severity is Severity.OK and now - self._warn_since >= min(self._delay_s, MAX_WARN_DELAY_S):
            self.severity = Severity.WARN
        elif self.severity is Severity.WARN and value < self._warn - self._hysteresis:
            self.severity = Severity.OK
        return self.elapse(now)

    def elapse(self, now: float) -> Severity:
        """Advances time to `now` [s] without a value. Returns the severity."""
        if self.severity is Severity.SIT and now - self._sit_since >= self._sit_timeout_s:
            self.severity = Severity.OFF
        return self.severity

    def note_seated(self) -> None:
        """Records that the robot sits: the torque may be switched off."""
        if self.severity is Severity.SIT:
            self.severity = Severity.OFF

    def reset(self, value: float | None) -> bool:
        """Returns to OK unless the value is still bad (None: unknown). Returns whether it did."""
        if self.severity >= Severity.SIT and value is not None and value >= self._warn - self._hysteresis:
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
    """First-order low-pass filter; the first value passes unfiltered."""

    def __init__(self, time_constant_s: float) -> None:
        self.value: float | None = None
        self._time_constant_s, self._last = time_constant_s, math.nan  # [s] steady time of the last value

    def update(self, value: float, now: float) -> float:
        """Filters a value measured at `now` [s]. Returns the filtered value."""
        if self.value is None:
            self.value = value
        else:
            self.value += (value - self.value) * (1.0 - math.exp(-max(0.0, now - self._last) / self._time_constant_s))
        self._last = now
        return self.value


class RetryBudget:
    """Allows at most `count` retries within `window_s`."""

    def __init__(self, count: int = MAX_RETRIES, window_s: float = RETRY_WINDOW_S) -> None:
        self._count, self._window_s = count, window_s
        self._retries: deque[float] = deque()

    def take(self, now: float) -> bool:
        """Whether one more retry is allowed; if so, it is counted."""
        while self._retries and now - self._retries[0] >= self._window_s:
            self._retries.popleft()
        if len(self._retries) >= self._count:
            return False
        self._retries.append(now)
        return True
