"""The servos of one robot on an open bus: goals out, telemetry in, who is missing. Owned by one thread.

Everything is by row index (three joints per leg); a servo that does not answer costs the others nothing but its ping.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.servos.bus.bus_interface import Bus, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.bus.bus_timing import TURNAROUND, BusBudget, budget
from hexapod_control.servos.driver.fault_timers import Presence
from hexapod_control.servos.driver.servo_presence import BoardWatch, roll_call
from hexapod_control.servos.settings.joint_calibration import UnitConverter
from hexapod_control.servos.settings.servo_section import ServoSettings

READ_TRIES = 3  # of a read that must be complete
MOTION = ServoQuantity.POSITION | ServoQuantity.SPEED | ServoQuantity.LOAD
HEALTH = ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE | ServoQuantity.FAULT
MAX_HEALTH_RATE = 3.0  # [Hz] of every servo, at most
MAX_HEALTH_SHARE = 0.08  # of the time on the line, at most
BROWN_OUT_SHARE = 0.5  # share of servos that are silent together: they have no power, or the line is bad
SUPPLY_PERIOD = 0.4  # [s]


@runtime_checkable
class ClearsOverload(Protocol):
    """A bus that can clear a latched overload."""

    def recover(self, servo: int) -> None:
        """Clears it; the torque of the servo is off afterwards."""


@runtime_checkable
class JumpsToGoal(Protocol):
    """A bus whose servos may go to a goal as fast as they can, instead of evenly in the duration it is given."""

    @property
    def leaps(self) -> bool:
        """Whether they do; known after `identify`."""


class ServoGroup:
    """Knows what each servo said last."""

    def __init__(self, bus: Bus, settings: ServoSettings, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises BusError if the line is too slow."""
        self.bus, self.clock = bus, clock
        self.converter = UnitConverter(settings.joints)
        self.ids = settings.ids
        count = len(self.ids)
        self.reads = ServoQuantity.POSITION in bus.can_read
        motion = partial(bus.timing, what=bus.can_read & MOTION)
        self.budget: BusBudget = budget(motion, count, settings.rate, self.reads)
        self._in_turn = motion(count).turnarounds > 1  # one servo after the other
        question = bus.timing(1, bus.can_read & HEALTH)
        busy = question.read + question.turnarounds * TURNAROUND
        self._health_period = max(1.0 / (MAX_HEALTH_RATE * count), busy / MAX_HEALTH_SHARE)  # [s] between two servos
        self._board_watch = BoardWatch(bus, settings, clock)
        self.presence = Presence(count, settings.lost_after, clock())
        self.positions = [math.nan] * count  # [raw]
        self.speeds = [math.nan] * count  # [rad/s]
        self.loads = [math.nan] * count
        self.times = [math.nan] * count  # [s] of the last answer
        self.temperatures = [math.nan] * count
        self.voltages = [math.nan] * count
        self.faults = [ServoFault.NONE] * count
        self.garbled = [0] * count  # pings that were answered by rubbish
        self.board: tuple[float | None, float | None] = (None, None)
        self._turn = self._health = self._ping = 0
        self._health_due = self._supply_due = -math.inf

    @property
    def silence_window(self) -> float:
        """How far apart [s] the last answers of servos that fall silent together can be."""
        return 1.5 * len(self.ids) / (max(self.budget.reads, 1) * self.budget.rate) + 0.02

    @property
    def regular(self) -> bool:
        """Whether all servos are read in every cycle and go evenly from goal to goal: torque tells of motion then."""
        return self.budget.reads == len(self.ids) and not (isinstance(self.bus, JumpsToGoal) and self.bus.leaps)

    def handshake(self) -> None:
        """Asks who is there. Raises BusError naming who is missing."""
        roll_call(self.bus, self.converter.joints)

    # --- out ----------------------------------------------------------------------------------------

    def send(self, row: Array, slack: Array, duration: float) -> None:
        """Goals (n, 3) [rad] to everybody who is there, to be reached in `duration` [s]."""
        goals = self.converter.goals(row, slack)
        for index, identity in enumerate(self.ids):
            if self.presence.quarantined(index):
                goals.pop(identity, None)
        if goals:
            self.bus.write_goals(goals, duration)

    def stage(self, goals: dict[int, int]) -> None:
        """Raw goals that do not move anything: where the servos are."""
        self.bus.write_goals(goals, 0.0)

    def goals_in_place(self, indices: Sequence[int]) -> dict[int, int]:
        """Raw goals at which these servos stay where they were read."""
        joints = self.converter.joints
        return {self.ids[i]: min(max(round(self.positions[i]), joints[i].low), joints[i].high) for i in indices}

    def clear_fault(self, index: int) -> None:
        """Clears a latched fault of a servo; it counts as away until it answers a ping."""
        identity = self.ids[index]
        if isinstance(self.bus, ClearsOverload):
            self.bus.recover(identity)
        else:
            self.bus.torque([identity], False)
        self.faults[index] = ServoFault.NONE
        self.presence.send_away(index, self.clock())

    # --- in -----------------------------------------------------------------------------------------

    def angle(self, index: int) -> float:
        """Where a joint was last [rad]."""
        return self.converter.joints[index].angle(self.positions[index])

    def joints(self) -> Array | None:
        """The last pose (n, 3) [rad]; None if a servo was never heard."""
        if any(math.isnan(position) for position in self.positions):
            return None
        return self.converter.row(self.positions)

    def as_rows(self, values: Sequence[float]) -> Array:
        """Values by row index as rows (n, 3)."""
        return read_only(np.reshape(np.array(values, dtype=float), (-1, 3)))

    def read_all(self) -> list[int]:
        """Reads all positions, again where one is missing. Returns the row indices of who did not answer."""
        missing = list(range(len(self.ids)))
        for _ in range(READ_TRIES):
            answers = self.bus.read([self.ids[i] for i in missing], self.bus.can_read & MOTION)
            missing = [i for i in missing if not self._heard(i, answers.get(self.ids[i]))]
            if not missing:
                break
        return missing

    def poll(self, deadline: float) -> list[int]:
        """Reads what is due, no longer than to a steady time [s]. Returns who came back from quarantine.

        Raises BoardSilent if a board has not answered for so long that a servo would be lost.
        """
        self._board_watch.look()
        self._look_at_health()
        returned = self._pinged() if self.reads else []
        for indices in self._portions() if self.reads else ():  # last: they would take all the time there is
            returned += self._read(indices, self.bus.can_read & MOTION)
            self._turn = indices[-1] + 1
            if self.clock() >= deadline:
                break
        return returned

    def _portions(self) -> list[list[int]]:
        """Who is read now, in transactions: all at once where the bus can, else one by one in turn."""
        there = [i for i in range(len(self.ids)) if not self.presence.quarantined(i)]
        if not there:
            return []
        start = next((n for n, i in enumerate(there) if i >= self._turn), 0)
        doubtful = [i for i in there if self.presence.misses[i]]  # whether they are gone shows in the next cycles
        others = [i for i in there[start:] + there[:start] if i not in doubtful]
        chosen = (doubtful + others)[: self.budget.reads]
        return [[index] for index in chosen] if self._in_turn else [chosen]

    def _read(self, indices: list[int], what: ServoQuantity) -> list[int]:
        answers = self.bus.read([self.ids[i] for i in indices], what)
        returned = []
        for i in indices:
            was_away = self.presence.quarantined(i)
            if self._heard(i, answers.get(self.ids[i])):
                if was_away:
                    returned.append(i)
            else:
                self.presence.missed(i)
        return returned

    def _pinged(self) -> list[int]:
        """A look at who is quarantined; if that is most of them, more than a ping: the line may only be bad."""
        away = [i for i in range(len(self.ids)) if self.presence.quarantined(i)]
        if len(away) >= BROWN_OUT_SHARE * len(self.ids):
            chosen = away
            if self._in_turn:
                self._ping = (self._ping + 1) % len(away)
                chosen = [away[self._ping]]
        else:
            index = self.presence.ping(self.clock())
            chosen = [] if index is None else [index]
        if not chosen:
            return []
        bad = self.bus.counters.bad
        returned = self._read(chosen, self.bus.can_read & MOTION)
        if len(chosen) == 1:
            index = chosen[0]
            self.garbled[index] = 0 if returned else self.garbled[index] + (self.bus.counters.bad > bad)
        return returned

    def _heard(self, index: int, reading: ServoReading | None) -> bool:
        if reading is None or reading.position is None:
            return False
        now = self.clock()
        joint = self.converter.joints[index]
        dt, before = now - self.times[index], self.positions[index]
        self.positions[index], self.times[index] = float(reading.position), now
        if reading.speed is not None:
            self.speeds[index] = joint.rate(reading.position, reading.speed)
        elif dt > 0.0:  # false for not a number
            self.speeds[index] = (joint.angle(reading.position) - joint.angle(before)) / dt
        if reading.load is not None:
            self.loads[index] = joint.direction * reading.load
        self.faults[index] |= reading.fault
        self.presence.answered(index, now)
        return True

    def _look_at_health(self) -> None:
        """One servo's voltage, temperature and faults, or the board's supply; in turn, a few times a second."""
        now = self.clock()
        what = self.bus.can_read & HEALTH
        if now >= self._supply_due:
            self._supply_due = now + SUPPLY_PERIOD
            self.board = self.bus.supply()
        elif what and now >= self._health_due:
            self._health_due = now + self._health_period
            self._health = (self._health + 1) % len(self.ids)
            if not self.presence.quarantined(self._health):
                self._ask_health(self._health, what)

    def _ask_health(self, index: int, what: ServoQuantity) -> None:
        reading = self.bus.read([self.ids[index]], what).get(self.ids[index])
        if reading is None:
            if self.reads:
                self.presence.missed(index)
            return
        self.presence.answered(index, self.clock())
        self.faults[index] = reading.fault
        if reading.voltage is not None:
            self.voltages[index] = reading.voltage
        if reading.temperature is not None:
            self.temperatures[index] = reading.temperature

    def voltage(self) -> float | None:
        """The supply [V]: the board's, else the median of the servos'."""
        if self.board[0] is not None:
            return self.board[0]
        there = [v for i, v in enumerate(self.voltages) if not math.isnan(v) and not self.presence.quarantined(i)]
        return float(np.median(there)) if there else None
