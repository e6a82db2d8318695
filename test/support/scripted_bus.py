# SPDX-License-Identifier: Apache-2.0
"""A servo bus and a line that record what they are sent and answer as scripted, and a clock that the test sets."""

import numpy as np
from support.phantomx import lying, robot

from hexapod_control.servos.bus.bus_interface import (
    BusFeatures,
    BusTiming,
    PortGoneError,
    ServoFault,
    ServoQuantity,
    ServoReading,
)
from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.protocols.loopback import LoopbackBus
from hexapod_control.servos.settings.servo_section import ServoSettings, standard


class ManualClock:
    """Steady time [s]; every reading advances it by `tick`, so that waiting loops end."""

    def __init__(self, tick=1e-5):
        self.now, self.tick = 100.0, tick

    def __call__(self):
        self.now += self.tick
        return self.now


class TimedLine:
    """A port on which bytes come at given times; a read waits for them until its deadline."""

    def __init__(self, baud):
        self.baud, self.now, self.coming, self.reads, self.written = baud, 100.0, [], [], []
        self.delay = 0.0  # of this computer after each read

    def send_later(self, data, *times):
        self.coming += zip(times, (data[i : i + 1] for i in range(len(data))), strict=True)

    def write(self, data):
        self.written.append(data)

    def read(self, count, deadline):
        self.reads.append((count, deadline))
        data = b""
        while len(data) < count and self.coming and self.coming[0][0] <= max(deadline, self.now):
            when, byte = self.coming.pop(0)
            self.now, data = max(self.now, when), data + byte
        self.now = (self.now if len(data) == count else max(self.now, deadline)) + self.delay
        return data

    def clear(self):
        self.coming = [each for each in self.coming if each[0] > self.now]


class ScriptedBus(LoopbackBus):
    """Servos that reach every goal. `silent` ids do not answer, or `garbled`; `gone` lets the port vanish."""

    can_read = ~ServoQuantity.NONE
    features = BusFeatures(torque=True)

    def __init__(self, ids, positions, clock):
        super().__init__(ids, positions=positions, speed=1e6, clock=clock)
        self.sent = []  # (what, ids): goals, on, off, relax, recover
        self.goals, self.duration = {}, 0.0  # servo id -> last raw goal; [s] of the last goals
        self.silent, self.garbled, self.gone = set(), set(), False
        self.unread = {}  # servo id -> number of reads that it does not answer
        self.energised = []  # (servo id, raw goal, raw position) where torque came on
        self.temperature, self.volts, self.faults = 30.0, 11.1, {}
        self.model, self.limit = "loopback", None

    def _send(self, what, ids):
        if self.gone:
            raise PortGoneError("the port is gone")
        self.sent.append((what, tuple(ids)))

    def write_goals(self, goals, duration):
        self._send("goals", goals)
        self.goals.update(goals)
        self.duration = duration
        super().write_goals(goals, duration)

    def torque(self, ids, on):
        self._send("on" if on else "off", ids)
        self.energised += [(i, self.goals.get(i), self._positions[i]) for i in ids if on]
        super().torque(ids, on)

    def identify(self):
        return dict.fromkeys(self.ids, self.model)

    def max_voltage(self, servo):
        return self.limit

    def torques(self, ids):
        return {i: i in self._on for i in ids if i not in self.silent}

    def move(self, servo, raw):
        """Moves a servo without torque by hand, by raw units."""
        self._positions[servo] += raw

    def restart(self, ids=None):
        """Restarts these servos, by default all, as after a short loss of power; all answer again."""
        self._on.difference_update(self.ids if ids is None else ids)
        self.silent = set()

    def relax(self):
        self._send("relax", self.ids)
        super().torque(self.ids, False)

    def recover(self, servo):
        self._send("recover", [servo])
        self.faults.pop(servo, None)

    def read(self, ids, quantities):
        if self.gone:
            raise PortGoneError("the port is gone")
        self.counters.bad += bool(self.garbled.intersection(ids))
        unread = {i for i in ids if self.unread.get(i)}
        self.unread.update({i: self.unread[i] - 1 for i in unread})
        motion = super().read([i for i in ids if i not in self.silent | unread], quantities)
        if not quantities & ServoQuantity.TEMPERATURE:
            return motion
        fault = ServoFault.NONE
        return {
            i: ServoReading(voltage=self.volts, temperature=self.temperature, fault=self.faults.get(i, fault))
            for i in motion
        }

    def timing(self, count, quantities=ServoQuantity.POSITION):
        return BusTiming(0.001, 0.001, 1)


class ScriptedDriver:
    """A driver without a thread on a scripted bus: `run` lets time pass."""

    def __init__(self, start=None, machine=None, **changes):
        self.machine = machine = machine or robot()
        settings = standard(machine, "feetech_st", "/dev/none")
        fields = {name: getattr(settings, name) for name in settings.__dataclass_fields__}
        self.settings = ServoSettings(**{**fields, **changes})
        self.clock, self.start = ManualClock(), lying() if start is None else start
        self.buses = []
        self.refuses = False  # to open the port
        self.model, self.max_voltage, self.volts = "loopback", None, 11.1
        self.driver = Driver(machine, self.settings, self._open, self.start, self.clock)

    def _open(self):
        if self.refuses:
            raise PortGoneError("no such port")
        angles = [*np.ravel(self.start).tolist(), *(extra.rest for extra in self.machine.extra_servos)]
        positions = {joint.id: joint.raw(q) for joint, q in zip(self.settings.servos, angles, strict=True)}
        self.buses.append(ScriptedBus(self.settings.ids, positions, self.clock))
        self.bus.model, self.bus.limit, self.bus.volts = self.model, self.max_voltage, self.volts
        return self.bus

    @property
    def bus(self):
        return self.buses[-1]

    def run(self, seconds):
        for _ in range(round(seconds * 50.0)):
            self.clock.now += 0.02
            self.driver.cycle()

    def armed(self):
        self.driver.connect()
        self.clock.tick = 1e-3  # the driver waits for its own cycles
        assert self.driver.arm() is None
        self.clock.tick = 1e-5
        return self

    def texts(self):
        return [found.text for found in (*self.driver.events, *self.driver.snapshot.diagnoses)]
