"""Supervises the supply of the servos: warning, sitting down, torque off.

The limits are those of the robot file, else shares of the servos' rated voltage.
"""

from __future__ import annotations

import math

from hexapod_control.servos.driver.group.servo_group import ServoGroup
from hexapod_control.servos.driver.health.escalation import EscalationLadder, LowPass, Severity
from hexapod_control.servos.driver.telemetry import Diagnosis
from hexapod_control.servos.settings.servo_section import Battery

FILTER_TIME_S = 0.25  # time constant
HYSTERESIS = 0.3  # [V] above the warning limit, where a warning ends
DEFAULT_WARN_SHARE = 0.875  # of the rated voltage; 10.5 V at 12 V
DEFAULT_CRITICAL_SHARE = 0.73  # of the rated voltage; 8.8 V at 12 V


class BatteryMonitor:
    """Compares the filtered supply voltage with its limits."""

    def __init__(self, battery: Battery) -> None:
        """`battery` has the limits of the robot file; without any, they follow from the servos that are found."""
        self._limits_known = math.isfinite(battery.warn)
        self._volts = LowPass(FILTER_TIME_S)
        self._set(battery, "")

    def _set(self, battery: Battery, origin: str) -> None:
        self._battery, self._origin = battery, origin
        self.ladder = EscalationLadder(-battery.warn, -battery.critical, battery.time, HYSTERESIS)

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
            rated, self._limits_known = group.rated_voltage, True
            battery = Battery(DEFAULT_WARN_SHARE * rated, DEFAULT_CRITICAL_SHARE * rated)
            self._set(battery, f" (defaults for servos of {rated:g} V, set servos.battery)")
        voltage = group.voltage()
        if voltage is not None:
            self.ladder.update(-self._volts.update(voltage, now), now)
        self.ladder.elapse(now)

    def reset(self) -> str:
        """Clears a past fault. Returns one that persists, or an empty text."""
        volts = self._volts.value
        if not self.ladder.reset(None if volts is None else -volts):
            return f"the battery is still at {volts:.1f} V: charge or replace it"
        return ""

    def diagnoses(self) -> list[Diagnosis]:
        """Diagnosis of a supply that is or was too low."""
        severity, volts = self.ladder.severity, self._volts.value
        if severity is Severity.OK or volts is None:
            return []
        bound = f"warning at {self._battery.warn:.3g} V, critical at {self._battery.critical:.3g} V{self._origin}"
        reaction = "charge it soon" if severity is Severity.WARN else "the robot sits, then torque off; charge it"
        return [Diagnosis("battery", severity >= Severity.SIT, f"the battery is at {volts:.1f} V, {bound}: {reaction}")]
