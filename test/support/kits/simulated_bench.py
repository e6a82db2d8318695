# SPDX-License-Identifier: Apache-2.0
"""A driver on emulated servos in simulated time, without threads: a cycle takes as long as its bytes on the line."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import replace
from functools import partial
from threading import Event

from support.kits.recorded_servos import HIGH, DriverBench, Recorded
from support.phantomx import robot

from hexapod_control.servos.bus.bus_interface import PortGoneError, ServoQuantity
from hexapod_control.servos.bus.bus_timing import budget
from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.driver.servo_readings import MOTION
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.emulated_line import EmulatedLine
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import standard

TURNAROUND_S = 0.001  # of the adapter before a reply
TARGET_PERIOD_S = 0.02


class SimulatedTime:
    """Steady time [s] that passes when something waits, and what happens meanwhile."""

    def __init__(self):
        self.now, self._events, self._order = 100.0, [], itertools.count()

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.wait(self.now + seconds)

    def at(self, when, action):
        heapq.heappush(self._events, (when, next(self._order), action))

    def wait(self, end, done=lambda: False):
        """Lets time pass until `end`, or until something that happens makes `done` true."""
        while not done() and self._events and self._events[0][0] <= end:
            when, _, action = heapq.heappop(self._events)
            self.now = max(self.now, when)
            action()
        if not done():
            self.now = max(self.now, end)


class SimulatedLine:
    """A port, and the line from it to an emulated device: as PseudoTerminal, in simulated time."""

    def __init__(self, device, baud, time):
        self.device, self.baud, self._time = device, baud, time
        self.listener = lambda data: None  # called with all bytes that the host sends
        self._line, self._received, self._plugged = EmulatedLine(baud, TURNAROUND_S, seed=0), b"", True

    @property
    def faults(self):
        return self._line.faults

    @faults.setter
    def faults(self, faults):
        self._line.faults = faults

    def hang_up(self):
        """Pulls the cable."""
        self._plugged = False

    def come_back(self):
        self._plugged, self._received = True, b""
        self._line.clear()

    def write(self, data):
        self._check()
        end = self._line.sent(data, self._time.now)
        self.listener(data)
        self._time.at(end, lambda: self._answer(data, end))

    def _answer(self, data, end):
        if self.faults.echo:
            self._transmit(data)
        replies = self.device.receive(self._line.received(data, garbled=False), self._time.now)
        for when, reply in self._line.schedule(replies, end, garbled=False):
            self._time.at(when, partial(self._transmit, reply))

    def _transmit(self, data):
        if self._plugged:
            self._received += data

    def read(self, count, deadline):
        self._check()
        self._time.wait(deadline, lambda: len(self._received) >= count)
        data, self._received = self._received[:count], self._received[count:]
        return data

    def clear(self):
        self._check()
        self._received = b""

    def _check(self):
        if not self._plugged:
            raise PortGoneError("gone: unplugged? check the cable and the adapter")

    def close(self):
        pass


class SimulatedDriver(Driver):
    """A driver each of whose cycles ends when the next one is due."""

    def __init__(self, settings, open_bus, time, robot, start):
        super().__init__(robot, settings, self._opened, start, time.monotonic)
        self._open_bus, self._time, self._settings, self._due = open_bus, time, settings, time.now
        self._period = 1.0 / settings.rate

    def _opened(self):
        bus = self._open_bus()
        motion, reads = partial(bus.timing, quantities=bus.can_read & MOTION), ServoQuantity.POSITION in bus.can_read
        self._period = 1.0 / budget(motion, len(self._settings.ids), self._settings.rate, reads).rate
        return bus

    def cycle(self):
        super().cycle()
        self._due = max(self._due + self._period, self._time.now)
        self._time.wait(self._due)


class SimulatedBench(DriverBench):
    """As ServoBench, in simulated time."""

    def __init__(self, time, protocol="feetech_st", given=None, start=HIGH, **changes):
        super().__init__()
        self.time, self.robot, self.row, self.publishing = time, given or robot(), start, Event()
        self.settings = replace(standard(self.robot, protocol, "/dev/hexapod"), **changes)
        self.world = self.new_world(PROTOCOLS[protocol].scale)
        self.device = emulated_device(protocol, self.world, self.settings.ids)
        self.line = SimulatedLine(self.device, self.settings.baud, time)
        self.driver = self.new_driver()
        self.driver.connect()
        self._feed(time.now)

    def new_world(self, scale):
        return Recorded(self.settings.joints, scale, self.row, self.time.monotonic)

    def new_driver(self):
        row, ids = PROTOCOLS[self.settings.protocol], self.settings.ids
        return SimulatedDriver(self.settings, lambda: row.open(self.line, ids), self.time, self.robot, self.row)

    def _feed(self, begin):
        if self.publishing.is_set():
            self.take_wave(begin, self.time.now)
        self.time.at(self.time.now + TARGET_PERIOD_S, lambda: self._feed(begin))

    def until(self, condition, seconds=5.0, what="condition"):
        """Runs cycles until a condition holds; fails after so many simulated seconds. Returns how long it took [s]."""
        begin = self.time.now
        while not condition():
            assert self.time.now - begin < seconds, f"{what} not within {seconds} s: {self.driver.snapshot}"
            self.driver.cycle()
            self.collect()
        return self.time.now - begin

    def during(self, seconds):
        """Lets `seconds` pass."""
        end = self.time.now + seconds
        self.until(lambda: self.time.now >= end - 1e-9, seconds + 1.0)

    def close(self):
        self.driver.close(True)
