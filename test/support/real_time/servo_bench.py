"""Emulated servos on a pty, the driver on top, and a record of its commands."""

from __future__ import annotations

import sys
import threading
import time

import numpy as np
import pytest
from support.phantomx import LIMITS, lying, robot

from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.driver.telemetry import TorqueState
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import standard

sys.setswitchinterval(0.0005)  # [s] the wire, the driver and the test are threads of one process here
FAULT = 0.2  # [s] from an unplugged cable, or from the last targets, to the fault
HOLD = 0.3  # [s] from the last answer of all servos to the report that the robot holds
LOST = 0.5  # [s] from the last answer to a lost servo
SLACK = 1.0  # [s] allowed for a loaded machine
FEMUR = "left_middle_femur_joint (id 5)"
SMART = ("feetech_st", "feetech_sc", "dynamixel1", "dynamixel2", "lx16a")  # servos that measure their position
kinds = pytest.mark.parametrize("protocol", SMART)
SPEED = LIMITS[..., 2].ravel()  # [rad/s]


HIGH = lying() - 0.3  # [rad] a pose away from the joint limits


def reported(bench, *texts):
    """Whether each of these texts occurs in an event or diagnosis of the driver."""
    reports = bench.texts()
    return all(any(text in report for report in reports) for text in texts)


class Recorded(LagWorld):
    """Servos that record their goals: (time [s], index, goal [rad], position [rad], torque)."""

    def __init__(self, joints, scale, start):
        super().__init__(scale, len(joints), positions=[j.raw(q) for j, q in zip(joints, start.ravel(), strict=True)])
        self.joints, self.received_goals = joints, []
        self.switched = []  # (index, goal [rad], position [rad]) when torque came on

    def goal(self, index, raw, duration):
        if self.plugs[index]:
            now = time.monotonic()
            joint = self.joints[index]
            where = joint.angle(self.positions[index])
            self.received_goals.append((now, index, joint.angle(raw), where, bool(self.torques[index])))
        super().goal(index, raw, duration)

    def torque(self, index, on):
        before = self.torques[index]
        super().torque(index, on)
        if self.torques[index] and not before:
            joint = self.joints[index]
            self.switched.append((index, joint.angle(self.goals[index]), joint.angle(self.positions[index])))

    def assert_no_leap(self, period, jitter=0.004):
        """Checks that no goal changes faster than its joint; `period` of the driver and `jitter` of threads [s]."""
        last = {}
        for now, index, goal, _, torque in list(self.received_goals):
            resolution = 2.0 / self.joints[index].units_per_rad
            assert np.isfinite(goal)
            if torque and index in last:
                then, before = last[index]
                gap = max(now - then, period) + jitter
                assert abs(goal - before) <= 1.05 * SPEED[index] * gap + resolution, (index, goal - before, gap)
            last[index] = (now, goal)
        assert last

    def assert_torque_at_position(self):
        """Checks that torque came on with the goal at the position."""
        for index, goal, where in self.switched:
            assert abs(goal - where) <= 2.0 / self.joints[index].units_per_rad, (index, goal, where)

    def angles(self):
        return np.array([j.angle(p) for j, p in zip(self.joints, self.positions, strict=True)]).reshape(-1, 3)


class ServoBench:
    """An emulated bus with a driver on it. Close it at the end."""

    def __init__(self, tmp_path, protocol="feetech_st", start=None, connect=True, **changes):
        self.link = tmp_path / "bus"
        settings = standard(robot(), protocol, str(self.link))
        self.settings = settings.__class__(**{**_fields(settings), **changes})
        self.start = lying() if start is None else start
        self.world = Recorded(self.settings.joints, PROTOCOLS[protocol].scale, self.start)
        self.device = emulated_device(protocol, self.world, self.settings.ids)
        self.pty = PseudoTerminal(self.device, self.settings.baud, link=self.link)
        self.row, self.speed = self.start, np.zeros_like(self.start)
        self.publishing = threading.Event()
        self._ending = threading.Event()
        self.events = []
        self.driver = self.new_driver()
        if connect:
            self.driver.connect()
            self.driver.start()
        self._feeder = threading.Thread(target=self._feed, daemon=True)
        self._feeder.start()

    def new_driver(self):
        row, kind = PROTOCOLS[self.settings.protocol], self.settings
        return Driver(robot(), kind, lambda: row.open(SerialPort(kind.port, kind.baud), kind.ids), self.start)

    def _feed(self):
        """Targets at 50 Hz while `publishing` is set: a slow wave about the joint angles `row`."""
        begin = time.monotonic()
        while not self._ending.wait(0.02):
            if self.publishing.is_set():
                now = time.monotonic()
                wave = 0.1 * np.sin(6.0 * (now - begin))
                self.driver.take(self.row + wave, np.full_like(self.row, 0.6 * np.cos(6.0 * (now - begin))), now)

    def until(self, condition, seconds=5.0, what="condition"):
        """Waits for a condition; fails after so many seconds. Returns how long it took [s]."""
        start = time.monotonic()
        pause = threading.Event()
        while not condition():
            assert time.monotonic() - start < seconds, f"{what} not within {seconds} s: {self.driver.snapshot}"
            pause.wait(0.002)
            self.collect()
        self.collect()
        return time.monotonic() - start

    def during(self, seconds):
        """Lets `seconds` pass, in which the other threads work."""
        end = time.monotonic() + seconds
        self.until(lambda: time.monotonic() >= end, seconds + 1.0)

    def collect(self):
        while self.driver.events:
            self.events.append(self.driver.events.popleft())

    def arm(self):
        refusal = self.driver.arm()
        assert refusal == "", refusal
        self.publishing.set()

    def texts(self):
        self.collect()
        return [t.text for t in (*self.events, *self.driver.snapshot.diagnoses)]

    def troubles(self, kind):
        return [t for t in self.driver.snapshot.diagnoses if t.kind.startswith(kind)]

    def assert_no_leap(self):
        """Checks that no goal changes faster than its joint can move, and that torque comes on at the position."""
        self.world.assert_no_leap(1.0 / self.settings.rate)
        if self.measured:
            self.world.assert_torque_at_position()

    @property
    def measured(self):
        return self.driver.snapshot.measured

    def close(self):
        self._ending.set()
        self._feeder.join(5.0)
        self.driver.close(True)
        self.pty.close()


def _fields(settings):
    return {name: getattr(settings, name) for name in settings.__dataclass_fields__}


def reconnected(bench, seconds):
    """Waits until the port is open again, with the torque off."""
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.OFF, seconds, "reconnected")
