"""Supervises the temperatures of all servos: slower when one is hot, sitting down at the limit, then torque off."""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.driver.group.servo_group import ServoGroup
from hexapod_control.servos.driver.health.escalation import EscalationLadder, Severity
from hexapod_control.servos.driver.telemetry import Diagnosis

WARNING_MARGIN = 10.0  # [degC] below the limit, where the warning begins
HYSTERESIS = 5.0  # [degC] below that, where the warning ends
HOT_SPEED_SHARE = 0.7  # of the joint speeds, while a servo is hot


class HeatMonitor:
    """Compares the hottest servo with the limit. One that has reached it is reported until `reset`."""

    def __init__(self, limit: float) -> None:
        """`limit` is the temperature [degC] at which the robot sits."""
        self._limit = limit
        self.ladder = EscalationLadder(limit - WARNING_MARGIN, limit, 0.0, HYSTERESIS)
        self._hottest = -1  # index of the servo that has reached the limit
        self.fault = ""  # which servo has reached the limit, and how

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
            reached = f"reached {value:.0f} degC, limit {self._limit:.0f}"
            self.fault = f"{name} {'reported overheating' if reporting else reached}"

    def reset(self, group: ServoGroup | None) -> str:
        """Clears a past fault. Returns one that persists, or an empty text."""
        if not self.ladder.reset(max(_known(group) if group else (), default=-math.inf)):
            return f"{self.text(group) if group else self.fault}: let it cool"
        return ""

    def diagnoses(self, group: ServoGroup) -> list[Diagnosis]:
        """Diagnosis of the hottest servo, if it is or was too hot."""
        severity = self.ladder.severity
        if severity is Severity.OK:
            return []
        reactions = {
            Severity.WARN: "slower now; let it rest",
            Severity.SIT: "the robot sits, then torque off; let it rest",
            Severity.OFF: "let it cool, call reset_fault, then arm",
        }
        return [Diagnosis("heat", severity >= Severity.SIT, f"{self.text(group)}: {reactions[severity]}")]

    def text(self, group: ServoGroup) -> str:
        """The hottest servo with its value; for one that has reached the limit and cooled down, both values."""
        reporting = _reporting(group)
        if reporting:
            return f"{group.describe(reporting)} reports overheating"
        temperatures = group.readings.temperatures
        if self.ladder.severity >= Severity.SIT and not max(temperatures) >= self._limit:
            return f"{self.fault}, is at {temperatures[self._hottest]:.0f} degC now"
        index = int(np.nanargmax(temperatures))
        return f"{group.describe([index])} is at {temperatures[index]:.0f} degC, limit {self._limit:.0f}"


def _known(group: ServoGroup) -> list[float]:
    """The temperatures [degC] that were read."""
    return [degrees for degrees in group.readings.temperatures if not math.isnan(degrees)]


def _reporting(group: ServoGroup) -> list[int]:
    """Indices of servos that report overheating."""
    return group.readings.reporting(ServoFault.HEAT)
