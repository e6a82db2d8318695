# SPDX-License-Identifier: Apache-2.0
"""Reading servos: which are read in a cycle, their last readings, and the goals that they have received.

Indices are in row order; values are NaN if unknown.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.servos.bus.bus_interface import Bus, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.bus.bus_timing import TURNAROUND_S, BusBudget, duration
from hexapod_control.servos.driver.presence import Presence
from hexapod_control.servos.settings.joint_calibration import JointCalibration

MOTION = ServoQuantity.POSITION | ServoQuantity.SPEED | ServoQuantity.LOAD
HEALTH = ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE | ServoQuantity.FAULT
MAX_HEALTH_RATE_HZ = 3.0  # of every servo
MAX_HEALTH_SHARE = 0.08  # of the time on the line
BROWN_OUT_SHARE = 0.5  # of the servos silent at the same time means no power, or a bad line
SUPPLY_PERIOD_S = 0.4


class ReadSchedule:
    """Selects the servos of one bus to be read, in turn. Indices are in row order, times steady [s]."""

    def __init__(self, bus: Bus, count: int, budget: BusBudget, presence: Presence) -> None:
        """`budget` limits the servos read per cycle."""
        self._count = count
        self._reads = budget.reads
        self._presence = presence
        self._one_by_one = bus.timing(count, bus.can_read & MOTION).turnarounds > 1
        motion = partial(bus.timing, quantities=bus.can_read & MOTION)
        self._each = motion(1).read  # [s] at most, for the motion of one more servo
        self._idle = 1.0 / budget.rate - duration(motion, count, budget.reads)  # [s] of a cycle on the line
        health = bus.timing(1, bus.can_read & HEALTH)
        busy = health.read + health.turnarounds * TURNAROUND_S
        self._health_period = max(1.0 / (MAX_HEALTH_RATE_HZ * count), busy / MAX_HEALTH_SHARE)  # [s] between servos
        # indices of the next motion read, last health read and last ping
        self._turn = 0
        self._health = 0
        self._ping = 0
        self._pinged: list[int] = []  # servos whose reply to a ping may still come
        self._health_due = -math.inf
        self._supply_due = -math.inf

    def motion(self, taken: float = 0.0) -> list[list[int]]:
        """Servos whose motion is read now, by transaction: all at once if the bus supports it, else one by one.

        `taken` [s] of this cycle have gone into other reads.
        """
        present = [i for i in range(self._count) if not self._presence.quarantined(i)]
        if not present:
            return []
        start = next((n for n, i in enumerate(present) if i >= self._turn), 0)
        doubtful = [i for i in present if self._presence.misses[i]]  # first: the next cycles show whether they are lost
        others = [i for i in present[start:] + present[:start] if i not in doubtful]
        if self._one_by_one:  # until the cycle ends
            return [[index] for index in (doubtful + others)[: self._reads]]
        fewer = math.ceil((taken - self._idle) / self._each) if self._each and taken > self._idle else 0
        chosen = (doubtful + others)[: max(0, self._reads - fewer)]
        return [chosen] if chosen else []

    def has_time_after(self, taken: float) -> bool:
        """Whether there is time for health in a cycle of which other reads have `taken` some [s].

        Where servos are read one by one, fewer of them are read then.
        """
        return self._one_by_one or taken <= self._idle

    def was_read(self, index: int) -> None:
        """Records that a servo was read: the next turn starts after it."""
        self._turn = index + 1

    def pings(self, now: float) -> list[int]:
        """Quarantined servos to ping now: one per second; all if half of the servos are silent (a bad line).

        They stay the same until `was_pinged`.
        """
        if not self._pinged:
            self._pinged = self._next_pings(now)
        return self._pinged

    def was_pinged(self) -> None:
        """Ends the pings: no reply to them is awaited any more."""
        self._pinged = []

    def _next_pings(self, now: float) -> list[int]:
        away = [i for i in range(self._count) if self._presence.quarantined(i)]
        if len(away) >= BROWN_OUT_SHARE * self._count:
            if not self._one_by_one:
                return away
            self._ping = (self._ping + 1) % len(away)
            return [away[self._ping]]
        index = self._presence.due_ping(now)
        return [] if index is None else [index]

    def supply_due(self, now: float) -> bool:
        """Whether to read the board's supply now; if so, it counts as read."""
        if now < self._supply_due:
            return False
        self._supply_due = now + SUPPLY_PERIOD_S
        return True

    def health(self, now: float) -> int | None:
        """The servo whose health is to be read now, if any; it counts as read."""
        if now < self._health_due:
            return None
        self._health_due = now + self._health_period
        self._health = (self._health + 1) % self._count
        return None if self._presence.quarantined(self._health) else self._health


MAX_HEAT_STEP = 3.0  # [degC] between two readings of a temperature that are believed at once


class ServoReadings:
    """Raw positions; speeds and loads in the direction of the joint, in SI units."""

    def __init__(self, joints: Sequence[JointCalibration]) -> None:
        """All servos, in the order of ServoSettings.servos."""
        count = len(joints)
        self._joints = tuple(joints)
        self.positions = [math.nan] * count  # [raw]
        self.speeds = [math.nan] * count  # [rad/s]
        self.loads = [math.nan] * count  # share of full torque, in the joint's direction
        self.times = [math.nan] * count  # [s] steady time of the last position
        self.temperatures = [math.nan] * count  # [degC]
        self.voltages = [math.nan] * count  # [V]
        self.faults = [ServoFault.NONE] * count

    def take_motion(self, index: int, reading: ServoReading, position: int, now: float) -> None:
        """Stores the position [raw] at a steady time [s], with speed and load where the servo reports them.

        A servo without a speed register gets the mean speed since its last position.
        """
        joint = self._joints[index]
        dt = now - self.times[index]
        before = self.positions[index]
        self.positions[index] = float(position)
        self.times[index] = now
        if reading.speed is not None:
            self.speeds[index] = joint.rate(position, reading.speed)
        elif dt > 0.0:  # False for NaN
            self.speeds[index] = (joint.angle(position) - joint.angle(before)) / dt
        if reading.load is not None:
            self.loads[index] = joint.direction * reading.load
        if reading.fault is not ServoFault.NONE:
            self.faults[index] |= reading.fault

    def take_health(self, index: int, reading: ServoReading) -> None:
        """Stores voltage, temperature and faults."""
        self.faults[index] = reading.fault
        if reading.voltage is not None:
            self.voltages[index] = reading.voltage
        if reading.temperature is not None:
            self.temperatures[index] = reading.temperature

    def is_news(self, index: int, reading: ServoReading) -> bool:
        """Whether a reading has a new fault or a temperature far from the last one: it may be a corrupt reply."""
        degrees = reading.temperature
        leaps = degrees is not None and abs(degrees - self.temperatures[index]) > MAX_HEAT_STEP
        return bool(reading.fault & ~self.faults[index]) or leaps

    def reporting(self, fault: ServoFault) -> list[int]:
        """Indices of the servos that report a fault."""
        return [i for i, faults in enumerate(self.faults) if faults is not ServoFault.NONE and faults & fault]

    def angle(self, index: int) -> float:
        """Last position of a joint [rad]."""
        return self._joints[index].angle(self.positions[index])

    def angles(self) -> Array | None:
        """Last angles [rad] of all servos; None if one was never read."""
        if any(math.isnan(position) for position in self.positions):
            return None
        return read_only([self.angle(index) for index in range(len(self._joints))])

    def goals_in_place(self, indices: Sequence[int]) -> dict[int, int]:
        """Raw goals by servo id that hold these servos at their last positions."""
        return {self._joints[i].id: self._joints[i].clamped(self.positions[i]) for i in indices}


def as_rows(values: Sequence[float] | Array) -> Array:
    """Values in row order as a read-only array (n, 3)."""
    return read_only(values).reshape(-1, 3)


def as_known_rows(values: Sequence[float]) -> Array | None:
    """Values in row order as a read-only array (n, 3); None if all are NaN."""
    return None if all(map(math.isnan, values)) else as_rows(values)


HISTORY = 25  # stored sets of goals; a servo may have missed all but one
SHARE_PER_CYCLE = 0.25  # of the reads per cycle, on a bus with one transaction per servo


class GoalCheck:
    """Compares the goals that servos have received with those sent on one bus.

    Life cycle: `sent` after every write of goals, `repair` while the line is noisy.
    """

    def __init__(self, bus: Bus, reads: int, *, one_by_one: bool) -> None:
        """`reads` is the number of servos read per cycle; `one_by_one`: each needs its own transaction."""
        self._bus = bus
        self._duration = 0.0
        self._goals: dict[int, int] = {}  # servo id -> last goal, in the order of reading
        self._history: deque[Mapping[int, int]] = deque(maxlen=HISTORY)  # goals sent, including the last ones
        self._count = max(1, round(SHARE_PER_CYCLE * reads)) if one_by_one else len(bus.ids)

    def sent(self, goals: Mapping[int, int], duration: float) -> None:
        """Records goals that were sent, to be reached in `duration` [s]."""
        clamped = {servo: self._bus.scale.clamp_goal(raw) for servo, raw in goals.items()}
        self._history.append(clamped)
        self._goals = {servo: clamped[servo] for servo in self._goals if servo in clamped} | clamped
        self._duration = duration

    def repair(self) -> int:
        """Resends goals that servos have not received. Returns how many had received a value that was never sent."""
        if not self._goals:
            return 0
        ids = list(self._goals)[: self._count]
        for servo in ids:  # moved to the end of the order
            self._goals[servo] = self._goals.pop(servo)
        received = self._bus.received_goals(ids)
        missed = {servo: self._goals[servo] for servo, raw in received.items() if raw != self._goals[servo]}
        if missed:
            self._bus.write_goals(missed, self._duration)
        wrong = sum(all(received[servo] != goals.get(servo) for goals in self._history) for servo in missed)
        self._bus.counters.wrong_goals += wrong
        return wrong
