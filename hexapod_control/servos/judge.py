"""What is wrong with the servos of an open bus, what the planner ought to do about it, and when the torque must go."""

from __future__ import annotations

import math

import numpy as np

from hexapod_control.servos.bus import Fault
from hexapod_control.servos.group import MANY, ServoGroup
from hexapod_control.servos.settings import OnLost, ServoSettings
from hexapod_control.servos.telemetry import Trouble, Wish
from hexapod_control.servos.watch import SITTING, Allowance, Ladder, LowPass, Rung

HEAT_ROOM = 10.0  # [degC] below the limit: warn
COOLER = 5.0  # [degC] below that: no more warning
VOLTAGE_TIME = 0.25  # [s] of the voltage's filter
MORE = 0.3  # [V] above the warning: a battery that was changed
DARK = 0.15  # [s] of silence of many servos before it is a brown-out
DERATED = 0.7  # of the speed, while hot
FEW = 3  # silent servos that have a sentence each
TWINS = 3  # pings answered by rubbish: two servos with one id


def _together(times: list[float], most: int, within: float) -> bool:
    """Whether so many of sorted times [s] are so near to each other: a bad line loses servos one after the other."""
    return any(late - early <= within for early, late in zip(times, times[most - 1 :], strict=False))


class Judge:
    """Lives as long as the driver; `group` changes with every new connection."""

    def __init__(self, settings: ServoSettings) -> None:
        self._settings = settings
        battery = settings.battery
        self._battery = Ladder(-battery.warn, -battery.critical, battery.time, MORE)
        self._volts = LowPass(VOLTAGE_TIME)
        limit = settings.max_temperature
        self._heat = Ladder(limit - HEAT_ROOM, limit, 0.0, COOLER)
        self._recoveries: dict[int, Allowance] = {}
        self._given_up: set[int] = set()  # overloaded too often
        self._lost_since = math.nan
        self._seated = False
        self.brown_out = False
        self.off = ""  # why the torque had to go; latched until reset

    # --- every cycle --------------------------------------------------------------------------------

    def look(self, group: ServoGroup, armed: bool, now: float) -> None:
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
        dark = sorted(then for then in heard if now - then >= DARK)
        if armed and _together(dark, math.ceil(MANY * len(group.ids)), group.round):
            self.brown_out = True
        elif not heard:
            self.brown_out = False

    def _hottest(self, group: ServoGroup) -> float:
        if self._overheated(group):
            return self._settings.max_temperature
        return max(t for t in group.temperatures if not math.isnan(t))

    def _overheated(self, group: ServoGroup) -> bool:
        return any(fault & Fault.HEAT for fault in group.faults)

    def _why_off(self, group: ServoGroup, now: float) -> str:
        if self._battery.rung is Rung.OFF:
            return f"the battery is empty ({self._volts.value or 0.0:.1f} V): charge it, call reset_fault, then arm"
        if self._heat.rung is Rung.OFF:
            return f"{self._hot(group)}: let it cool, call reset_fault, then arm"
        waited = self._seated or now - self._lost_since >= SITTING
        policy = self._settings.on_lost
        if not math.isnan(self._lost_since) and (policy is OnLost.OFF or (policy is OnLost.SIT and waited)):
            names = self.names(group, self.lost(group, now) or sorted(self._given_up))
            return f"{names} lost: check it, call reset_fault, then arm"
        return ""

    # --- what follows -------------------------------------------------------------------------------

    @property
    def wish(self) -> Wish:
        """What the planner ought to do."""
        lost = not math.isnan(self._lost_since)
        if Rung.SIT in (self._battery.rung, self._heat.rung) or (lost and self._settings.on_lost is OnLost.SIT):
            return Wish.SIT
        return Wish.STOP if lost else Wish.NOTHING

    @property
    def voltage(self) -> float | None:
        """The filtered supply [V]."""
        return self._volts.value

    @property
    def share(self) -> float:
        """Of their speed that the joints may take."""
        return DERATED if self._heat.rung >= Rung.WARN else 1.0

    def seated(self) -> None:
        """The planner says that the robot sits."""
        if self.wish is Wish.SIT:
            self._seated = True
            self._battery.seated()
            self._heat.seated()

    def may_recover(self, index: int, now: float) -> bool:
        """Whether an overloaded servo may be started again; at most a few times."""
        if index in self._given_up:
            return False
        allowed = self._recoveries.setdefault(index, Allowance()).take(now)
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
    def names(group: ServoGroup, indices: list[int]) -> str:
        """Servos in words."""
        joints = group.converter.joints
        return ", ".join(f"{joints[i].joint} (id {joints[i].id})" for i in indices)

    def _hot(self, group: ServoGroup) -> str:
        reporting = [i for i, fault in enumerate(group.faults) if fault & Fault.HEAT]
        if reporting:
            return f"{self.names(group, reporting)} reports overheating"
        index = int(np.nanargmax(group.temperatures))
        joint, limit = group.converter.joints[index], self._settings.max_temperature
        return f"{joint.joint} (id {joint.id}) has {group.temperatures[index]:.0f} degC of {limit:.0f}"

    def troubles(self, group: ServoGroup, now: float) -> tuple[Trouble, ...]:
        """All that is wrong now."""
        found: list[Trouble] = []
        if self.off:
            found.append(Trouble("torque off", True, f"torque is off: {self.off}"))
        if self.brown_out:
            text = "most servos fell silent at once, as in a brown-out: check battery and wiring, then call arm"
            found.append(Trouble("brown-out", True, text))
        else:
            found += self._silent(group, now)
        found += self._battery_words()
        if self._heat.rung is not Rung.OK:
            doing = "slower now" if self._heat.rung is Rung.WARN else "the robot sits, then torque off"
            found.append(Trouble("heat", self._heat.rung >= Rung.SIT, f"{self._hot(group)}: {doing}; let it rest"))
        for index in sorted(self._given_up):
            text = f"{self.names(group, [index])} was overloaded too often and is off: free the joint, call reset_fault"
            found.append(Trouble(f"overload {index}", True, text))
        return tuple(found)

    def _silent(self, group: ServoGroup, now: float) -> list[Trouble]:
        away = [i for i in range(len(group.ids)) if group.presence.quarantined(i)]
        if len(away) > FEW:
            lost = any(group.presence.lost(i, now) for i in away)
            text = f"{len(away)} servos are silent: {self.names(group, away)}: check power and the line"
            return [Trouble("silent", lost, text)]
        return [self._one_silent(group, index, now) for index in away]

    def _one_silent(self, group: ServoGroup, index: int, now: float) -> Trouble:
        age, name = now - group.presence.heard[index], self.names(group, [index])
        lost = group.presence.lost(index, now)
        if group.garbled[index] >= TWINS:
            text = f"{name} answers garbled, likely two servos have this id: connect one alone and set its id"
        else:
            doing = {OnLost.HOLD: "the robot stops", OnLost.SIT: "the robot sits", OnLost.OFF: "torque off"}
            text = f"{name} is silent for {age:.1f} s" + (f", {doing[self._settings.on_lost]}" if lost else "")
            text += ": check its cable and id"
        return Trouble(f"silent {index}", lost, text)

    def _battery_words(self) -> list[Trouble]:
        rung, volts = self._battery.rung, self._volts.value
        if rung is Rung.OK or volts is None:
            return []
        battery = self._settings.battery
        bound = f"warning at {battery.warn:g} V, critical at {battery.critical:g} V"
        doing = "charge it soon" if rung is Rung.WARN else "the robot sits, then torque off; charge it"
        return [Trouble("battery", rung >= Rung.SIT, f"the battery has {volts:.1f} V, {bound}: {doing}")]
