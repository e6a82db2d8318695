# SPDX-License-Identifier: Apache-2.0
"""Emulated servos on a pty, the driver on top, and a record of its commands."""

from __future__ import annotations

import sys
import threading
import time
from dataclasses import replace

from support.kits.recorded_servos import DriverBench, Recorded
from support.phantomx import lying, robot

from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.driver.driver import Driver
from hexapod_control.servos.driver.telemetry import TorqueState
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.pseudo_terminal import PseudoTerminal
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import standard

sys.setswitchinterval(0.0005)  # [s] the wire, the driver and the test are threads of one process here


class ServoBench(DriverBench):
    """An emulated bus with a driver on it. Close it at the end."""

    def __init__(self, tmp_path, protocol="feetech_st", start=None, connect=True, **changes):
        super().__init__()
        self.link = tmp_path / "bus"
        settings = standard(robot(), protocol, str(self.link))
        self.settings = replace(settings, **changes)
        self.start = lying() if start is None else start
        self.world = Recorded(self.settings.joints, PROTOCOLS[protocol].scale, self.start)
        self.device = emulated_device(protocol, self.world, self.settings.ids)
        self.pty = PseudoTerminal(self.device, self.settings.baud, link=self.link)
        self.row = self.start
        self.publishing = threading.Event()
        self._ending = threading.Event()
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
        """Targets at 50 Hz while `publishing` is set."""
        begin = time.monotonic()
        while not self._ending.wait(0.02):
            if self.publishing.is_set():
                self.take_wave(begin, time.monotonic())

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

    def close(self):
        self._ending.set()
        self._feeder.join(5.0)
        self.driver.close(True)
        self.pty.close()


def reconnected(bench, seconds):
    """Waits until the port is open again, with the torque off."""
    bench.until(lambda: bench.driver.snapshot.torque is TorqueState.OFF, seconds, "reconnected")
