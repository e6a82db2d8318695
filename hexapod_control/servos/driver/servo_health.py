# SPDX-License-Identifier: Apache-2.0
"""Reactions to servo faults: reports, requests to the planner, and torque-off."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hexapod_control.core.gait.gait_table import MIN_LEGS
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.servos.bus.bus_interface import OFF_FAULTS
from hexapod_control.servos.driver.monitors import (
    SIT_TIMEOUT_S,
    BatteryMonitor,
    HeatMonitor,
    LineHealth,
    RetryBudget,
    Severity,
)
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_readings import BROWN_OUT_SHARE
from hexapod_control.servos.driver.telemetry import Diagnosis, PlannerRequest
from hexapod_control.servos.driver.watches import RegisterWatch
from hexapod_control.servos.settings.joint_calibration import SERVOS_PER_LEG
from hexapod_control.servos.settings.servo_section import OnLost, ServoSettings

MANY_SILENT_S = 0.15  # silence of many servos, after which the robot stops
ALL_SILENT_S = 0.2  # silence of all servos, after which the robot stops
LEG_LOST_S = 3.0  # silence of a servo, with several pings, after which its leg counts as lost
HOLDS = "the robot holds, whether the servos have torque is unknown until they answer"
MAX_LISTED_SERVOS = 3  # silent servos reported individually
MIN_GARBLED_PINGS = 3  # consecutive corrupt replies that mean two servos share an id
WAS_OVERLOADED = Statement("was_overloaded", "was overloaded")
LOST_TORQUE = Statement("lost_torque", "has lost its torque")
REACTIONS = {
    OnLost.LEG: Statement(
        "reacts_leg", "the robot stops, and folds its leg away after {seconds:g} s", seconds=LEG_LOST_S
    ),
    OnLost.HOLD: Statement("reacts_hold", "the robot stops"),
    OnLost.SIT: Statement("reacts_sit", "the robot sits"),
    OnLost.OFF: Statement("reacts_off", "torque off"),
}


def _coincide(times: list[float], count: int, window: float) -> bool:
    """Whether `count` of the sorted times [s] lie within a window [s]; a bad line loses servos one by one."""
    return any(late - early <= window for early, late in zip(times, times[count - 1 :], strict=False))


class ServoHealth:
    """Evaluates the health of all servos. Lives as long as the driver; `group` changes with every connection."""

    def __init__(self, settings: ServoSettings) -> None:
        self._settings = settings
        self._battery = BatteryMonitor(settings.battery)
        self._heat = HeatMonitor(settings.max_temperature)
        self._recoveries: dict[int, RetryBudget] = {}
        self._max_lost_legs = len(settings.joints) // SERVOS_PER_LEG - MIN_LEGS
        self._given_up: dict[int, Statement] = {}  # servos without torque that are not restarted any more, and why
        self.registers = RegisterWatch()
        self._lost_since = math.nan  # [s] steady time
        self._folded: frozenset[int] = frozenset()  # rows of the legs that the robot walks without
        self.lost_leg: int | None = None  # row of a leg whose servos have been lost for too long
        self._seated = False
        self.line = LineHealth()
        self._silent_since = math.nan  # [s] steady time since which many servos have been silent
        self._armed = False
        self.brown_out: Refusal | None = None  # how the servos lost their power
        self.off_reason: Refusal | None = None  # why the torque had to be switched off; latched until reset

    @property
    def silent_many(self) -> bool:
        """Whether many servos are silent: the robot stops, and its pose is unknown."""
        return not math.isnan(self._silent_since)

    # --- every cycle --------------------------------------------------------------------------------

    def update(self, group: ServoGroup, armed: bool, now: float) -> None:
        """Evaluates the readings at a steady time [s]; `armed`: the torque is on or being switched on."""
        self._check_power(group, armed, now)
        self.line.update(group.counters, group.servo_clock.excluded, now)
        self._battery.update(group, now)
        self._heat.update(group, now)
        missed = set() if self.silent_many else self.lost(group, now)  # many at once are a dead line, no lost servos
        lost = [i for i in {*missed, *self._given_up} if self._moves_leg(i)]
        if not lost:
            self._lost_since = math.nan
        elif math.isnan(self._lost_since):
            self._lost_since = now
        self.lost_leg = self._leg_of(group, lost, now) if self._settings.on_lost is OnLost.LEG else None
        if armed and not self.off_reason:
            self.off_reason = self._torque_off_reason(group, now)
        if not armed:
            self._seated = False
            self.registers.forget()

    def _moves_leg(self, index: int) -> bool:
        """Whether a servo moves a leg with which the robot walks: it also walks without its extra joints."""
        return self._is_of_leg(index) and index // SERVOS_PER_LEG not in self._folded

    def _is_of_leg(self, index: int) -> bool:
        return index < len(self._settings.joints)

    def _leg_of(self, group: ServoGroup, lost: list[int], now: float) -> int | None:
        """Row of a leg with lost servos, if all have been lost for LEG_LOST_S and not too many legs are affected."""
        since = [self._lost_since if i in self._given_up else group.presence.last_answer[i] for i in lost]
        legs = {i // SERVOS_PER_LEG for i in lost}
        if not legs or len(legs | self._folded) > self._max_lost_legs or now - max(since) < LEG_LOST_S:
            return None
        return min(legs)

    def _check_power(self, group: ServoGroup, armed: bool, now: float) -> None:
        presence = group.presence
        # not on boards: one silent board silences many servos at once
        away = range(len(group.ids)) if group.reports_position else ()
        silent = [presence.last_answer[i] for i in away if presence.quarantined(i)]
        dark = sorted(then for then in silent if now - then >= MANY_SILENT_S)
        many = _coincide(dark, math.ceil(BROWN_OUT_SHARE * len(group.ids)), group.silence_window) and not self.line.late
        silence = group.servo_clock.silence()
        nothing = silence >= (ALL_SILENT_S if group.reports_position else group.board_watch.timeout)
        if not (many or nothing):
            self._silent_since = math.nan
        elif math.isnan(self._silent_since):
            self._silent_since = dark[0] if many else now - silence
        self._armed = armed
        if not (silent or nothing) and not armed:
            self.brown_out = None

    def _torque_off_reason(self, group: ServoGroup, now: float) -> Refusal | None:
        if self._battery.ladder.severity is Severity.OFF:
            text = "the battery is empty ({volts:.1f} V): charge it, run hexapod reset, then hexapod arm"
            return Refusal("battery_empty", text, volts=self.voltage or 0.0)
        if self._heat.ladder.severity is Severity.OFF:
            return Refusal(
                "too_hot", "{fault}: let it cool, run hexapod reset, then hexapod arm", fault=self._heat.fault
            )
        waited = self._seated or now - self._lost_since >= SIT_TIMEOUT_S
        policy = self._settings.on_lost
        if not math.isnan(self._lost_since) and (policy is OnLost.OFF or (policy is OnLost.SIT and waited)):
            names = group.describe(i for i in self.lost(group, now) or sorted(self._given_up) if self._moves_leg(i))
            return Refusal("servos_lost", "{names} lost: check it, run hexapod reset, then hexapod arm", names=names)
        return None

    @property
    def brown_out_text(self) -> Statement:
        """Message about the loss of power, with the remedy."""
        text = "{cause}, as in a brown-out: check battery and wiring, then run hexapod arm"
        return Statement("as_brown_out", text, cause=self.brown_out)

    # --- consequences -------------------------------------------------------------------------------

    @property
    def planner_request(self) -> PlannerRequest:
        """The present request to the planner."""
        lost = not math.isnan(self._lost_since)
        if Severity.SIT in (self._battery.ladder.severity, self._heat.ladder.severity):
            return PlannerRequest.SIT
        if lost and self._settings.on_lost is OnLost.SIT:
            return PlannerRequest.SIT
        if self.silent_many or self.line.stops or any(self._is_of_leg(index) for index, _ in self.registers.found):
            return PlannerRequest.STOP
        if self.lost_leg is not None:
            return PlannerRequest.LOSE_LEG
        return PlannerRequest.STOP if lost else PlannerRequest.NOTHING

    @property
    def voltage(self) -> float | None:
        """The filtered supply [V]."""
        return self._battery.voltage

    @property
    def battery_limits(self) -> tuple[float, float] | None:
        """Supply voltages [V] below which there is a warning, and the robot sits; None if unknown."""
        return self._battery.limits

    @property
    def speed_share(self) -> float:
        """Permitted share of the joint speeds, 0 to 1."""
        return self._heat.speed_share

    def note_seated(self) -> None:
        """Records that the robot sits, as reported by the planner."""
        if self.planner_request is PlannerRequest.SIT:
            self._seated = True
            self._battery.ladder.note_seated()
            self._heat.ladder.note_seated()

    def note_legs_folded(self, legs: frozenset[int]) -> None:
        """Records the rows of the folded legs, without which the robot walks: their servos may be lost."""
        self._folded = legs

    def begin_arming(self) -> Refusal | None:
        """Clears a past loss of power. Returns why arming is refused."""
        self.brown_out = None
        return self.off_reason

    def check_registers(self, group: ServoGroup, now: float) -> bool:
        """Reads a few registers again at a steady time [s]. Returns whether a servo has lost its torque unexplained."""
        if self.line.stops:
            return False
        index = self.registers.check(group, self._given_up, now)
        if index is not None:
            group.read_health(index)
        return index is not None and not self.explains(group, index)

    def explains(self, group: ServoGroup, index: int) -> bool:
        """Whether a servo without torque has switched itself off, or was given up."""
        return index in self._given_up or index in group.readings.reporting(OFF_FAULTS)

    def allow_restart(self, index: int, now: float, why: Statement = WAS_OVERLOADED) -> bool:
        """Whether a servo without torque may be restarted; if so, it is counted, as only a few restarts are allowed."""
        if index in self._given_up:
            return False
        allowed = self._recoveries.setdefault(index, RetryBudget()).take(now)
        if not allowed:
            self._given_up[index] = why
        return allowed

    def reset(self, group: ServoGroup | None) -> Refusal | None:
        """Clears past faults. Returns one that persists."""
        persists = self._battery.reset() or self._heat.reset(group)
        if persists:
            return persists
        self._given_up.clear()
        self._recoveries.clear()
        self._lost_since = math.nan
        self._seated = False
        self.off_reason = None
        return None

    # --- texts --------------------------------------------------------------------------------------

    def lost(self, group: ServoGroup, now: float) -> list[int]:
        """Indices of servos that have been silent for too long."""
        noticeable = group.reports_position or group.board_loss.is_supported
        return [i for i in range(len(group.ids)) if group.presence.lost(i, now)] if noticeable else []

    def diagnoses(self, group: ServoGroup, now: float) -> tuple[Diagnosis, ...]:
        """All present faults."""
        found: list[Diagnosis] = []
        if self.off_reason:
            said = Statement("off_because", "torque is off: {reason}", reason=self.off_reason)
            found.append(Diagnosis("torque off", True, said, reset=True))
        if self.brown_out:
            found.append(Diagnosis("brown-out", True, self.brown_out_text))
        elif self.silent_many:
            found.append(self._many_silent(group, now))
        else:
            found += self._silent(group, now)
        for index, block in self.registers.found:
            texts = [problem.change for problem in self.registers.found[index, block]]
            found.append(Diagnosis(f"registers {index} {block}", self._is_of_leg(index), "; ".join(texts)))
        found += self.line.diagnoses(now)
        found += self._battery.diagnoses() + self._heat.diagnoses(group)
        for index, why in sorted(self._given_up.items()):
            text = "{servo} {why} too often and is off: free the joint, then run hexapod reset"
            said = Statement("servo_stays_off", text, servo=group.describe([index]), why=why)
            found.append(Diagnosis(f"overload {index}", self._is_of_leg(index), said, reset=True))
        return tuple(found)

    def _silent(self, group: ServoGroup, now: float) -> list[Diagnosis]:
        if group.board_loss.is_supported:
            return self._lost_boards(group, now)
        away = [i for i in range(len(group.ids)) if group.presence.quarantined(i)]
        if len(away) > MAX_LISTED_SERVOS:
            lost = any(group.presence.lost(i, now) and self._is_of_leg(i) for i in away)
            text = "{count} servos are silent: {servos}: check power and the line"
            said = Statement("servos_silent", text, count=len(away), servos=group.describe(away))
            return [Diagnosis("silent", lost, said)]
        return [self._one_silent(group, index, now) for index in away]

    def _lost_boards(self, group: ServoGroup, now: float) -> list[Diagnosis]:
        found = []
        for name, indices in group.board_loss.lost.items():
            lost = any(group.presence.lost(i, now) for i in indices)
            text = f"the {name} does not answer" + (f", {self._reaction(indices)}" if lost else "")
            text += f": check its power and its cable; on it: {group.describe(indices)}"
            found.append(Diagnosis(f"board {name}", lost and any(map(self._is_of_leg, indices)), text))
        return found

    def _reaction(self, lost: Iterable[int]) -> Statement:
        """The reaction to lost servos; with too many legs affected, the robot stays stopped."""
        legs = {i // SERVOS_PER_LEG for i in lost if self._is_of_leg(i)}
        policy = self._settings.on_lost
        if not legs:
            return Statement("reacts_without_servo", "the robot walks on without it")
        if legs <= self._folded:
            return Statement("reacts_without_leg", "the robot walks without its leg")
        too_many = len(legs | self._folded) > self._max_lost_legs
        return REACTIONS[OnLost.HOLD if policy is OnLost.LEG and too_many else policy]

    def _many_silent(self, group: ServoGroup, now: float) -> Diagnosis:
        if not group.reports_position:
            return Diagnosis("silent", True, group.board_watch.silence_text(f", {HOLDS}" if self._armed else ""))
        away = [i for i in range(len(group.ids)) if now - group.presence.last_answer[i] >= MANY_SILENT_S]
        names = (
            Statement("all_servos", "all servos")
            if len(away) == len(group.ids)
            else Statement("some_servos", "{count} servos ({servos})", count=len(away), servos=group.describe(away))
        )
        kind, reaction = ("many_silent_held", f"{HOLDS}: ") if self._armed else ("many_silent", "")
        text = f"{{names}} have been silent for {{seconds:.1f}} s: {reaction}check power, the data line and the adapter"
        return Diagnosis("silent", True, Statement(kind, text, names=names, seconds=now - self._silent_since))

    def _one_silent(self, group: ServoGroup, index: int, now: float) -> Diagnosis:
        age = now - group.presence.last_answer[index]
        name = group.describe([index])
        lost = group.presence.lost(index, now)
        if group.garbled_pings[index] >= MIN_GARBLED_PINGS:
            text = "{servo} gives corrupt replies, probably two servos have this id: connect only one, set its id"
            said = Statement("servo_corrupt", text, servo=name)
        elif lost:
            text = "{servo} has been silent for {age:.1f} s, {reaction}: check its cable and id"
            said = Statement("servo_lost", text, servo=name, age=age, reaction=self._reaction([index]))
        else:
            text = "{servo} has been silent for {age:.1f} s: check its cable and id"
            said = Statement("servo_silent", text, servo=name, age=age)
        return Diagnosis(f"silent {index}", lost and self._is_of_leg(index), said)
