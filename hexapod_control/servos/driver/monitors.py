# SPDX-License-Identifier: Apache-2.0
"""Measured values against their limits: supply, temperatures, quality of the line. Times are steady [s]; no I/O."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace
from enum import IntEnum

import numpy as np

from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.servos.bus.bus_interface import BusCounters, ServoFault
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.telemetry import Diagnosis
from hexapod_control.servos.settings.servo_section import Battery

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
        self._warn = warn
        self._limit = limit
        self._delay_s = delay_s
        self._hysteresis = hysteresis
        self._sit_timeout_s = sit_timeout_s
        # [s] steady time
        self._warn_since = math.nan
        self._limit_since = math.nan
        self._sit_since = math.nan

    def update(self, value: float, now: float) -> Severity:
        """Evaluates a value measured at `now` [s]. Returns the severity."""
        self._warn_since = self._since(self._warn_since, value >= self._warn, now)
        self._limit_since = self._since(self._limit_since, value >= self._limit, now)
        if self.severity < Severity.SIT and now - self._limit_since >= self._delay_s:
            self.severity = Severity.SIT
            self._sit_since = now
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
        self._time_constant_s = time_constant_s
        self._last = math.nan  # [s] steady time of the last value

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
        self._count = count
        self._window_s = window_s
        self._retries: deque[float] = deque()

    def take(self, now: float) -> bool:
        """Whether one more retry is allowed; if so, it is counted."""
        while self._retries and now - self._retries[0] >= self._window_s:
            self._retries.popleft()
        if len(self._retries) >= self._count:
            return False
        self._retries.append(now)
        return True


FILTER_TIME_S = 0.25  # time constant
BATTERY_HYSTERESIS = 0.3  # [V] above the warning limit, where a warning ends
DEFAULT_WARN_SHARE = 0.875  # of the rated voltage; 10.5 V at 12 V
DEFAULT_CRITICAL_SHARE = 0.73  # of the rated voltage; 8.8 V at 12 V


class BatteryMonitor:
    """Compares the filtered supply voltage with its limits."""

    def __init__(self, battery: Battery) -> None:
        """`battery` has the limits of the robot file; without any, they follow from the servos that are found."""
        self._limits_known = math.isfinite(battery.warn)
        self._volts = LowPass(FILTER_TIME_S)
        self._set(battery, "")

    def _set(self, battery: Battery, origin: str | Statement) -> None:
        self._battery = battery
        self._origin = origin
        self.ladder = EscalationLadder(-battery.warn, -battery.critical, battery.time, BATTERY_HYSTERESIS)

    @property
    def voltage(self) -> float | None:
        """The filtered supply [V]."""
        return self._volts.value

    @property
    def limits(self) -> tuple[float, float] | None:
        """Supply voltages [V] below which there is a warning, and the robot sits; None if unknown."""
        battery = self._battery
        return (battery.warn, battery.critical) if math.isfinite(battery.warn) else None

    def update(self, group: ServoGroup, now: float) -> None:
        """Evaluates the readings at a steady time [s]."""
        if not self._limits_known and group.rated_voltage is not None:
            rated = group.rated_voltage
            self._limits_known = True
            battery = Battery(DEFAULT_WARN_SHARE * rated, DEFAULT_CRITICAL_SHARE * rated)
            text = " (defaults for servos of {volts:g} V, set servos.battery)"
            self._set(battery, Statement("battery_defaults", text, volts=rated))
        voltage = group.voltage()
        if voltage is not None:
            self.ladder.update(-self._volts.update(voltage, now), now)
        self.ladder.elapse(now)

    def reset(self) -> Refusal | None:
        """Clears a past fault. Returns one that persists."""
        volts = self._volts.value
        if self.ladder.reset(None if volts is None else -volts):
            return None
        return Refusal("battery_low", "the battery is still at {volts:.1f} V: charge or replace it", volts=volts)

    def diagnoses(self) -> list[Diagnosis]:
        """Diagnosis of a supply that is or was too low."""
        severity = self.ladder.severity
        volts = self._volts.value
        if severity is Severity.OK or volts is None:
            return []
        kind, reaction = (
            ("battery_warns", "charge it soon")
            if severity is Severity.WARN
            else ("battery_critical", "the robot sits, then torque off; charge it")
        )
        text = "the battery is at {volts:.1f} V, warning at {warn:.3g} V, critical at {critical:.3g} V{origin}: "
        values = {"warn": self._battery.warn, "critical": self._battery.critical, "origin": self._origin}
        return [Diagnosis("battery", severity >= Severity.SIT, Statement(kind, text + reaction, volts=volts, **values))]


HEAT_WARNING_MARGIN = 10.0  # [degC] below the limit, where the warning begins
HEAT_HYSTERESIS = 5.0  # [degC] below that, where the warning ends
HOT_SPEED_SHARE = 0.7  # of the joint speeds, while a servo is hot


class HeatMonitor:
    """Compares the hottest servo with the limit. One that has reached it is reported until `reset`."""

    def __init__(self, limit: float) -> None:
        """`limit` is the temperature [degC] at which the robot sits."""
        self._limit = limit
        self.ladder = EscalationLadder(limit - HEAT_WARNING_MARGIN, limit, 0.0, HEAT_HYSTERESIS)
        self._hottest = -1  # index of the servo that has reached the limit
        self.fault = Statement("no_servo_hot", "")  # which servo has reached the limit, and how

    @property
    def speed_share(self) -> float:
        """Permitted share of the joint speeds, 0 to 1."""
        return HOT_SPEED_SHARE if self.ladder.severity >= Severity.WARN else 1.0

    def update(self, group: ServoGroup, now: float) -> None:
        """Evaluates the readings at a steady time [s]."""
        reporting, known = _reporting(group), _known(group)
        if not known and not reporting:
            return
        before = self.ladder.severity
        value = self._limit if reporting else max(known)
        if self.ladder.update(value, now) >= Severity.SIT > before:
            self._hottest = reporting[0] if reporting else int(np.nanargmax(group.readings.temperatures))
            name = group.describe([self._hottest])
            reached = "{servo} reached {value:.0f} degC, limit {limit:.0f}"
            self.fault = (
                Statement("servo_reported_heat", "{servo} reported overheating", servo=name)
                if reporting
                else Statement("servo_reached_heat", reached, servo=name, value=value, limit=self._limit)
            )

    def reset(self, group: ServoGroup | None) -> Refusal | None:
        """Clears a past fault. Returns one that persists."""
        if self.ladder.reset(max(_known(group) if group else (), default=-math.inf)):
            return None
        return Refusal("hot", "{fault}: let it cool", fault=self.text(group) if group else self.fault)

    def diagnoses(self, group: ServoGroup) -> list[Diagnosis]:
        """Diagnosis of the hottest servo, if it is or was too hot."""
        severity = self.ladder.severity
        if severity is Severity.OK:
            return []
        reactions = {
            Severity.WARN: ("heat_warns", "{fault}: slower now; let it rest"),
            Severity.SIT: ("heat_sits", "{fault}: the robot sits, then torque off; let it rest"),
            Severity.OFF: ("too_hot", "{fault}: let it cool, run hexapod reset, then hexapod arm"),
        }
        kind, text = reactions[severity]
        return [Diagnosis("heat", severity >= Severity.SIT, Statement(kind, text, fault=self.text(group)))]

    def text(self, group: ServoGroup) -> Statement:
        """The hottest servo with its value; for one that has reached the limit and cooled down, both values."""
        reporting = _reporting(group)
        if reporting:
            return Statement("servo_reports_heat", "{servo} reports overheating", servo=group.describe(reporting))
        temperatures = group.readings.temperatures
        if self.ladder.severity >= Severity.SIT and not max(temperatures) >= self._limit:
            text = "{fault}, is at {now:.0f} degC now"
            return Statement("heat_now", text, fault=self.fault, now=float(temperatures[self._hottest]))
        index = int(np.nanargmax(temperatures))
        text = "{servo} is at {now:.0f} degC, limit {limit:.0f}"
        values = {"now": float(temperatures[index]), "limit": self._limit}
        return Statement("servo_hot", text, servo=group.describe([index]), **values)


def _known(group: ServoGroup) -> list[float]:
    """The temperatures [degC] that were read."""
    return [degrees for degrees in group.readings.temperatures if not math.isnan(degrees)]


def _reporting(group: ServoGroup) -> list[int]:
    """Indices of servos that report overheating."""
    return group.readings.reporting(ServoFault.HEAT)


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
        self._before = BusCounters()  # at the start of the window
        self._excluded = 0.0  # the same
        self._begin = math.nan  # [s] of the window
        self._good_windows = 0
        self._lateness = 0.0  # [s]
        self._pause = 0.0  # [s] duration of the last pause
        self._paused = -math.inf  # [s] when it was noticed

    def update(self, counters: BusCounters, excluded: float, now: float) -> None:
        """Evaluates the counters; `excluded` [s] is the total delay of the driver by the computer."""
        if math.isnan(self._begin) or counters.received < self._before.received:  # a new bus
            self._start_window(counters, excluded, now)
        if now - self._begin < WINDOW_S:
            return
        received = counters.received - self._before.received
        late = counters.late - self._before.late
        self._judge_lateness(late, received, counters.lateness)
        self._windows.append((counters.bad - self._before.bad, received))
        self._judge_noise()
        self._wrong_goals = counters.wrong_goals
        if excluded - self._excluded >= MIN_REPORTED_PAUSE_S:
            self._pause = excluded - self._excluded
            self._paused = now
        self._start_window(counters, excluded, now)

    def _judge_lateness(self, late: int, received: int, lateness: float) -> None:
        if late and late >= LATE_SHARE * received:
            self.late = True
            self._good_windows = 0
            self._lateness = lateness
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
        self._before = replace(counters)
        self._excluded = excluded
        self._begin = now

    def diagnoses(self, now: float) -> list[Diagnosis]:
        """Diagnoses of present faults of the line or the computer."""
        found = []
        if self.late:
            text = "replies are {late:.0f} ms late: computer or adapter too slow: the robot stops; end other programs, "
            text += "set the latency of the adapter to 1 ms"
            found.append(Diagnosis("late", True, Statement("replies_late", text, late=1000.0 * self._lateness)))
        if self.noise:
            stops = self.noise >= NOISE_LIMIT
            kind, reaction = ("noise_stops", ", the robot stops") if stops else ("noise", "")
            text = f"{{share:.0f}} % of the replies are corrupt{reaction}: goals are read back, {{wrong}} were wrong; "
            text += "check cables, plugs and the ground of the bus"
            said = Statement(kind, text, share=100.0 * self.noise, wrong=self._wrong_goals)
            found.append(Diagnosis("noise", stops, said))
        if now - self._paused < PAUSE_REPORT_S:
            text = "the computer did not run the driver for {seconds:.1f} s, the servos held: end other programs"
            found.append(Diagnosis("pause", False, Statement("driver_paused", text, seconds=self._pause)))
        return found
