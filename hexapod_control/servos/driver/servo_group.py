# SPDX-License-Identifier: Apache-2.0
"""The servos of one robot on an open bus: goals out, readings in. Owned by one thread.

Servos are numbered by index: the legs in row order (three joints per leg), then the extra joints. Angles of all servos
are (k,) in this order. A servo that does not respond uses no bus time except for its ping.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from statistics import median

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.refusal import Refusal
from hexapod_control.servos import preflight
from hexapod_control.servos.bus.bus_interface import Bus, BusCounters, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.bus.bus_timing import BusBudget, budget
from hexapod_control.servos.bus.model_numbers import rated_voltage
from hexapod_control.servos.driver.boards import BoardLoss, BoardWatch
from hexapod_control.servos.driver.presence import Presence, ServoClock, check_presence, describe
from hexapod_control.servos.driver.servo_readings import HEALTH, MOTION, GoalCheck, ReadSchedule, ServoReadings
from hexapod_control.servos.i2c.supply_sensor import SupplySensor
from hexapod_control.servos.preflight import RegisterProblem
from hexapod_control.servos.settings.joint_calibration import UnitConverter
from hexapod_control.servos.settings.servo_section import ServoSettings

READ_TRIES = 3  # of a complete read
MAX_ROUNDS = 10  # in a row without a new answer, while replies are late
QUIET_CYCLES = 3.0  # without any answer, after which goals are withheld
MIN_QUIET_S = 0.1  # minimum of that time
SCHEDULING_SLACK_S = 0.02  # between the last answers of servos that lose power together


class ServoGroup:
    """All servos of one connection. Life cycle: created for an open bus; `handshake`; `send` and `poll` every cycle."""

    def __init__(
        self,
        bus: Bus,
        settings: ServoSettings,
        clock: Callable[[], float],
        servo_clock: ServoClock,
        battery: SupplySensor | None = None,
    ) -> None:
        """`battery` measures the supply in place of the bus. Raises BusError if the line is too slow."""
        self.battery = battery
        self.ids = settings.ids
        self.leg_servos = len(settings.joints)  # number of those of the legs, which come first
        self.reports_position = ServoQuantity.POSITION in bus.can_read
        self.reports_speed = ServoQuantity.SPEED in bus.can_read
        motion = partial(bus.timing, quantities=bus.can_read & MOTION)
        self.budget: BusBudget = budget(motion, len(self.ids), settings.rate, self.reports_position)
        self.presence = Presence(len(self.ids), settings.lost_after, servo_clock())
        self.readings = ServoReadings(settings.servos)
        self.garbled_pings = [0] * len(self.ids)  # consecutive pings with a corrupt reply
        self.rated_voltage: float | None = None  # [V] of the servos
        self.model_warning = bus.model_warning  # see Bus
        self.board_voltage: float | None = None  # [V]
        self.board_current: float | None = None  # [A]
        self.reports_torque = bus.features.torque
        self.reveals_restarts = bus.features.torque or bus.features.board  # a restarted board sends no pulses
        self.servo_clock = servo_clock  # of `presence`
        self.warnings: tuple[str, ...] = ()  # of the last preflight
        self.problems: tuple[RegisterProblem, ...] = ()  # that it has found
        self._bus = bus
        self.clock = clock
        self.registers = preflight.RegisterBlocks(bus, settings.servos)
        self._converter = UnitConverter(settings.servos)
        self.board_watch = BoardWatch(bus, settings, servo_clock)
        self.board_loss = BoardLoss(bus, self.ids, self.presence, self.readings)
        one_by_one = bus.timing(len(self.ids), bus.can_read & MOTION).turnarounds > 1
        self.goal_check = GoalCheck(bus, self.budget.reads, one_by_one=one_by_one)
        self._schedule = ReadSchedule(bus, len(self.ids), self.budget, self.presence)

    @property
    def quiet(self) -> bool:
        """Whether no servo has answered in the last cycles, or no board for its timeout."""
        limit = max(QUIET_CYCLES / self.budget.rate, MIN_QUIET_S) if self.reports_position else self.board_watch.timeout
        return self.servo_clock.silence() >= limit

    @property
    def silence_window(self) -> float:
        """Longest time [s] between the last answers of servos that lose power at the same time."""
        return 1.5 * len(self.ids) / (max(self.budget.reads, 1) * self.budget.rate) + SCHEDULING_SLACK_S

    @property
    def moves_evenly(self) -> bool:
        """Whether all servos are read every cycle and move evenly between goals, as needed to estimate forces."""
        return self.budget.reads == len(self.ids) and not self._bus.features.jumps

    @property
    def counters(self) -> BusCounters:
        """Statistics of the line since it was opened."""
        return self._bus.counters

    @property
    def clamps(self) -> tuple[int, ...]:
        """Number of clamped goals, per joint."""
        return tuple(self._converter.clamps)

    def handshake(self) -> None:
        """Checks that all servos answer, and reads their positions. Raises BusError that names missing servos."""
        models = check_presence(self._bus, self._converter.joints)
        self.model_warning = self._bus.model_warning
        servo = self.ids[0]
        self.rated_voltage = rated_voltage(models[servo], self._bus.max_voltage(servo))
        if self.reports_position:
            self.read_all()

    def preflight(self) -> Refusal | None:
        """Checks the configuration of all servos. Returns why the torque must stay off."""
        report = preflight.inspect(self._bus, self._converter.joints)
        self.warnings, self.problems = report.warnings, report.problems
        return report.refusal

    def recalibrated(self, settings: ServoSettings) -> ServoGroup:
        """The same servos with new calibrations; their positions are read again."""
        group = ServoGroup(self._bus, settings, self.clock, self.servo_clock, self.battery)
        group.rated_voltage = self.rated_voltage
        if group.reports_position:
            group.read_all()
        return group

    def describe(self, indices: Iterable[int]) -> str:
        """Servos by joint name and id."""
        return describe(self._converter.joints[i] for i in indices)

    # --- goals and torque ---------------------------------------------------------------------------

    def send(self, command: Array, slack: Array, duration: float) -> None:
        """Sends angles (k,) [rad] to all servos that answer, to be reached in `duration` [s].

        `slack` (k,) [rad] is the permitted excess over the joint limits.
        """
        goals = self._converter.goals(command, slack)
        for index, servo in enumerate(self.ids):
            if self.presence.quarantined(index):
                goals.pop(servo, None)
        if goals:
            self._bus.write_goals(goals, duration)
            self.goal_check.sent(goals, duration)
            if self.board_loss.is_supported:
                self.board_loss.sent(goals)

    def goals(self, joints: Array) -> dict[int, int]:
        """Raw goals by servo id of angles (k,) [rad]."""
        return self._converter.goals(joints)

    def stage(self, goals: dict[int, int]) -> None:
        """Sends raw goals that cause no motion: at the present positions, or without torque."""
        self.board_loss.sent(goals)
        self._bus.write_goals(goals, 0.0)

    def torque_on(self, indices: Sequence[int]) -> None:
        """Switches the torque of servos on."""
        self._bus.torque([self.ids[i] for i in indices], True)

    def torque_off(self, indices: Sequence[int]) -> None:
        """Switches the torque of servos off."""
        self._bus.torque([self.ids[i] for i in indices], False)

    def resume(self, index: int, *, was_off: bool = False) -> None:
        """Switches the torque of a servo on again, at its present position.

        One that `was_off` may have been overloaded: where servos cannot report that, it is ended first.
        """
        if was_off and ServoQuantity.FAULT not in self._bus.can_read:
            self._bus.recover(self.ids[index])
        self.stage(self.readings.goals_in_place([index]))
        self.torque_on([index])

    def clear_fault(self, index: int) -> None:
        """Clears a latched fault of a servo; it counts as absent until it answers a ping."""
        servo = self.ids[index]
        self._bus.recover(servo)
        self.readings.faults[index] = ServoFault.NONE
        self.presence.quarantine(index, self.servo_clock())

    # --- readings -----------------------------------------------------------------------------------

    def read_all(self) -> list[int]:
        """Reads all positions, missing ones several times. Returns the indices of servos that did not answer."""
        missing = list(range(len(self.ids)))
        tries = rounds = 0
        while missing and tries < READ_TRIES and rounds < MAX_ROUNDS:
            before = len(missing)
            answers = self._bus.read([self.ids[i] for i in missing], self._bus.can_read & MOTION)
            missing = [i for i in missing if not self._take(i, answers.get(self.ids[i]))]
            tries += not self._bus.awaited
            rounds = rounds + 1 if len(missing) == before else 0
        return missing

    def poll(self, deadline: float, watched: float = 0.0) -> list[int]:
        """Reads the scheduled servos, until a steady time [s] at most. Returns those that came back from quarantine.

        In a cycle in which registers were `watched` for so long [s], less is read, so that it takes no longer.
        """
        if self._bus.features.board:
            self.board_watch.check()
        now = self.clock()
        if self._schedule.has_time_after(watched):
            if self._schedule.supply_due(now):
                self.board_voltage, self.board_current = (self.battery.read if self.battery else self._bus.supply)()
            elif self._bus.can_read & HEALTH and (index := self._schedule.health(now)) is not None:
                self.read_health(index)
        if not self.reports_position:
            return self.board_loss.update(self.servo_clock())
        returned = self._ping()
        for indices in self._schedule.motion(watched):  # last: it uses all remaining time
            returned += self._read_motion(indices)
            if not self._bus.awaited:
                self._schedule.was_read(indices[-1])
            if self.clock() >= deadline:
                break
        return returned

    def _read_motion(self, indices: list[int], *, pinging: bool = False) -> list[int]:
        """Reads servos. Returns those that came back; with `pinging`, only quarantined servos count as missed."""
        answers = self._bus.read([self.ids[i] for i in indices], self._bus.can_read & MOTION)
        returned = []
        for i in indices:
            was_away = self.presence.quarantined(i)
            if self._take(i, answers.get(self.ids[i])):
                if was_away:
                    returned.append(i)
            elif self.ids[i] not in self._bus.awaited and (was_away or not pinging):
                self.presence.missed(i)
        return returned

    def _ping(self) -> list[int]:
        chosen = self._schedule.pings(self.servo_clock())
        if not chosen:
            return []
        bad = self._bus.counters.bad
        returned = self._read_motion(chosen, pinging=True)
        if not self._bus.awaited:
            self._schedule.was_pinged()
        if len(chosen) == 1:
            index = chosen[0]
            self.garbled_pings[index] = 0 if returned else self.garbled_pings[index] + (self._bus.counters.bad > bad)
        return returned

    def _take(self, index: int, reading: ServoReading | None) -> bool:
        if reading is None or reading.position is None:
            return False
        position = reading.position
        if reading.fault and reading.fault & ~self.readings.faults[index]:
            self.read_health(index)
            reading = reading._replace(fault=self.readings.faults[index])
        self.readings.take_motion(index, reading, position, self.clock())
        self.presence.answered(index, self.servo_clock())
        return True

    def read_health(self, index: int) -> None:
        """Reads one servo's voltage, temperature and faults. News must be in two replies, as one may be corrupt."""
        servo = self.ids[index]
        quantities = self._bus.can_read & HEALTH
        reading = self._bus.read([servo], quantities).get(servo)
        if reading is not None and self.readings.is_news(index, reading):
            again = self._bus.read([servo], quantities).get(servo)
            reading = again and again._replace(fault=again.fault & (reading.fault | self.readings.faults[index]))
        if reading is not None:
            self.presence.answered(index, self.servo_clock())
            self.readings.take_health(index, reading)
        elif self.reports_position and servo not in self._bus.awaited:
            self.presence.missed(index)

    def torques(self, indices: Sequence[int]) -> dict[int, bool]:
        """Whether the torque of servos is on, as they or their board report; silent ones are missing."""
        states = self._bus.torques([self.ids[i] for i in indices])
        return {i: states[self.ids[i]] for i in indices if self.ids[i] in states}

    def voltage(self) -> float | None:
        """The supply [V]: the board's, else the median of the servos'."""
        if self.board_voltage is not None:
            return self.board_voltage
        known = [
            volts
            for index, volts in enumerate(self.readings.voltages)
            if not math.isnan(volts) and not self.presence.quarantined(index)
        ]
        return median(known) if known else None
