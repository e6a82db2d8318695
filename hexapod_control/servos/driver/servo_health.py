"""What is wrong with the servos of an open bus, what the planner ought to do about it, and when the torque must go."""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.driver.fault_timers import SIT_TIMEOUT, EscalationLadder, LowPass, RetryBudget, Severity
from hexapod_control.servos.driver.servo_group import BROWN_OUT_SHARE, ServoGroup
from hexapod_control.servos.driver.telemetry import Diagnosis, PlannerRequest
from hexapod_control.servos.settings.servo_section import OnLost, ServoSettings

HEAT_WARNING_MARGIN = 10.0  # [degC] below the limit: warn
HEAT_HYSTERESIS = 5.0  # [degC] below that: no more warning
VOLTAGE_FILTER_TIME = 0.25  # [s] of the voltage's filter
BATTERY_HYSTERESIS = 0.3  # [V] above the warning: a battery that was changed
BROWN_OUT_SILENCE = 0.15  # [s] of silence of many servos before it is a brown-out
HOT_SPEED_SHARE = 0.7  # of the speed, while hot
MAX_LISTED_SERVOS = 3  # silent servos that have a sentence each
MIN_GARBLED_PINGS = 3  # pings answered by rubbish: two servos with one id


def _together(times: list[float], most: int, within: float) -> bool:
    """Whether so many of sorted times [s] are so near to each other: a bad line loses servos one after the other."""
    return any(late - early <= within for early, late in zip(times, times[most - 1 :], strict=False))


class ServoHealth:
    """Lives as long as the driver; `group` changes with every new connection."""

    def __init__(self, settings: ServoSettings) -> None:
        self._settings = settings
        battery = settings.battery
        self._battery = EscalationLadder(-battery.warn, -battery.critical, battery.time, BATTERY_HYSTERESIS)
        self._volts = LowPass(VOLTAGE_FILTER_TIME)
        limit = settings.max_temperature
        self._heat = EscalationLadder(limit - HEAT_WARNING_MARGIN, limit, 0.0, HEAT_HYSTERESIS)
        self._recoveries: dict[int, RetryBudget] = {}
        self._given_up: set[int] = set()  # overloaded too often
        self._lost_since = math.nan
        self._seated = False
        self.brown_out = False
        self.off = ""  # why the torque had to go; latched until reset

    # --- every cycle --------------------------------------------------------------------------------

    def update(self, group: ServoGroup, armed: bool, now: float) -> None:
        """Takes what was read into account."""
        self._look_at_power(group, armed, now)
        voltage = group.voltage()
        if voltage is not None:
            self._battery.update(-self._volts.update(voltage, now), now)
        self._battery.wait(now)
        if any(not math.isnan(t) for t in group.temperatures) or self._overheated(group):
            self._heat.update(self._hottest(group), now)
        lost = bool(self.lost(group, now)) or bool(self._given_up)
        self._lost_since = (now if math.isnan(self._lost_since) else self._lost_since) if lost else math.nan
        if armed and not self.off:
            self.off = self._why_off(group, now)
        if not armed:
            self._seated = False

    def _look_at_power(self, group: ServoGroup, armed: bool, now: float) -> None:
        heard = [group.presence.heard[i] for i in range(len(group.ids)) if group.presence.quarantined(i)]
        dark = sorted(then for then in heard if now - then >= BROWN_OUT_SILENCE)
        if armed and _together(dark, math.ceil(BROWN_OUT_SHARE * len(group.ids)), group.silence_window):
            self.brown_out = True
        elif not heard:
            self.brown_out = False

    def _hottest(self, group: ServoGroup) -> float:
        if self._overheated(group):
            return self._settings.max_temperature
        return max(t for t in group.temperatures if not math.isnan(t))

    def _overheated(self, group: ServoGroup) -> bool:
        return any(fault & ServoFault.HEAT for fault in group.faults)

    def _why_off(self, group: ServoGroup, now: float) -> str:
        if self._battery.rung is Severity.OFF:
            return f"the battery is empty ({self._volts.value or 0.0:.1f} V): charge it, call reset_fault, then arm"
        if self._heat.rung is Severity.OFF:
            return f"{self._hot(group)}: let it cool, call reset_fault, then arm"
        waited = self._seated or now - self._lost_since >= SIT_TIMEOUT
        policy = self._settings.on_lost
        if not math.isnan(self._lost_since) and (policy is OnLost.OFF or (policy is OnLost.SIT and waited)):
            names = self.describe(group, self.lost(group, now) or sorted(self._given_up))
            return f"{names} lost: check it, call reset_fault, then arm"
        return ""

    # --- what follows -------------------------------------------------------------------------------

    @property
    def planner_request(self) -> PlannerRequest:
        """What the planner ought to do."""
        lost = not math.isnan(self._lost_since)
        if Severity.SIT in (self._battery.rung, self._heat.rung) or (lost and self._settings.on_lost is OnLost.SIT):
            return PlannerRequest.SIT
        return PlannerRequest.STOP if lost else PlannerRequest.NOTHING

    @property
    def voltage(self) -> float | None:
        """The filtered supply [V]."""
        return self._volts.value

    @property
    def speed_share(self) -> float:
        """Of their speed that the joints may take."""
        return HOT_SPEED_SHARE if self._heat.rung >= Severity.WARN else 1.0

    def seated(self) -> None:
        """The planner says that the robot sits."""
        if self.planner_request is PlannerRequest.SIT:
            self._seated = True
            self._battery.seated()
            self._heat.seated()

    def allow_restart(self, index: int, now: float) -> bool:
        """Whether an overloaded servo may be started again; at most a few times."""
        if index in self._given_up:
            return False
        allowed = self._recoveries.setdefault(index, RetryBudget()).take(now)
        if not allowed:
            self._given_up.add(index)
        return allowed

    def reset(self, group: ServoGroup | None) -> str:
        """Forgets what is over. Returns what is not, or nothing."""
        volts = self._volts.value
        if not self._battery.reset(None if volts is None else -volts):
            return f"the battery still has {volts:.1f} V: charge or change it"
        known = [t for t in group.temperatures if not math.isnan(t)] if group else []
        if not self._heat.reset(max(known, default=-math.inf)):
            return f"{self._hot(group) if group else 'a servo'}: let it cool"
        self._given_up.clear()
        self._recoveries.clear()
        self._lost_since, self._seated, self.off = math.nan, False, ""
        return ""

    # --- words --------------------------------------------------------------------------------------

    def lost(self, group: ServoGroup, now: float) -> list[int]:
        """Row indices of servos that are given up."""
        return [i for i in range(len(group.ids)) if group.presence.lost(i, now)] if group.reads else []

    @staticmethod
    def describe(group: ServoGroup, indices: list[int]) -> str:
        """Servos in words."""
        joints = group.converter.joints
        return ", ".join(f"{joints[i].joint} (id {joints[i].id})" for i in indices)

    def _hot(self, group: ServoGroup) -> str:
        reporting = [i for i, fault in enumerate(group.faults) if fault & ServoFault.HEAT]
        if reporting:
            return f"{self.describe(group, reporting)} reports overheating"
        index = int(np.nanargmax(group.temperatures))
        joint, limit = group.converter.joints[index], self._settings.max_temperature
        return f"{joint.joint} (id {joint.id}) has {group.temperatures[index]:.0f} degC of {limit:.0f}"

    def diagnoses(self, group: ServoGroup, now: float) -> tuple[Diagnosis, ...]:
        """All that is wrong now."""
        found: list[Diagnosis] = []
        if self.off:
            found.append(Diagnosis("torque off", True, f"torque is off: {self.off}"))
        if self.brown_out:
            text = "most servos fell silent at once, as in a brown-out: check battery and wiring, then call arm"
            found.append(Diagnosis("brown-out", True, text))
        else:
            found += self._silent(group, now)
        found += self._battery_words()
        if self._heat.rung is not Severity.OK:
            doing = "slower now" if self._heat.rung is Severity.WARN else "the robot sits, then torque off"
            found.append(
                Diagnosis("heat", self._heat.rung >= Severity.SIT, f"{self._hot(group)}: {doing}; let it rest")
            )
        for index in sorted(self._given_up):
            text = (
                f"{self.describe(group, [index])} was overloaded too often and is off: free the joint, call reset_fault"
            )
            found.append(Diagnosis(f"overload {index}", True, text))
        return tuple(found)

    def _silent(self, group: ServoGroup, now: float) -> list[Diagnosis]:
        away = [i for i in range(len(group.ids)) if group.presence.quarantined(i)]
        if len(away) > MAX_LISTED_SERVOS:
            lost = any(group.presence.lost(i, now) for i in away)
            text = f"{len(away)} servos are silent: {self.describe(group, away)}: check power and the line"
            return [Diagnosis("silent", lost, text)]
        return [self._one_silent(group, index, now) for index in away]

    def _one_silent(self, group: ServoGroup, index: int, now: float) -> Diagnosis:
        age, name = now - group.presence.heard[index], self.describe(group, [index])
        lost = group.presence.lost(index, now)
        if group.garbled[index] >= MIN_GARBLED_PINGS:
            text = f"{name} answers garbled, likely two servos have this id: connect one alone and set its id"
        else:
            doing = {OnLost.HOLD: "the robot stops", OnLost.SIT: "the robot sits", OnLost.OFF: "torque off"}
            text = f"{name} is silent for {age:.1f} s" + (f", {doing[self._settings.on_lost]}" if lost else "")
            text += ": check its cable and id"
        return Diagnosis(f"silent {index}", lost, text)

    def _battery_words(self) -> list[Diagnosis]:
        rung, volts = self._battery.rung, self._volts.value
        if rung is Severity.OK or volts is None:
            return []
        battery = self._settings.battery
        bound = f"warning at {battery.warn:g} V, critical at {battery.critical:g} V"
        doing = "charge it soon" if rung is Severity.WARN else "the robot sits, then torque off; charge it"
        return [Diagnosis("battery", rung >= Severity.SIT, f"the battery has {volts:.1f} V, {bound}: {doing}")]
