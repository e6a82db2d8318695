# SPDX-License-Identifier: Apache-2.0
"""Emulated servos on a port without a wire: replies are there at once, and time passes with every frame sent.

With the fixture `memory_time`, a bus waits for missing replies on MEMORY_CLOCK, which takes no real time.
"""

from dataclasses import replace

from support.phantomx import robot

from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.emulated_robot.robot_emulator import FACTORY_ID, Emulation, parse_fault
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.emulated_line import WireFaults
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import standard

AT_ONCE = ReplyTiming(turnaround=0.0, margin=0.0)  # replies that are not there at once are missing
STEP_S = 0.02  # that passes with every frame


class MemoryClock:
    """Steady time [s], which a port in memory advances to the deadline of a read that finds too few bytes."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def advance_to(self, time):
        self.now = max(self.now, time)


MEMORY_CLOCK = MemoryClock()


class MemoryPort:
    """A port connected to an emulated device in memory; `gone` is a pulled cable."""

    def __init__(self, device, baud):
        self.device, self.baud, self.now, self.gone = device, baud, 0.0, False
        self.faults, self.mute = WireFaults(), False
        self._received = b""

    def write(self, data):
        if self.gone:
            raise PortGoneError("/dev/hexapod: gone while writing: unplugged? check the cable and the adapter")
        self.now += STEP_S
        if not self.mute:
            self._received += b"".join(reply for _, reply in self.device.receive(data, self.now))

    def read(self, count, deadline):
        if self.gone:
            raise PortGoneError("/dev/hexapod: gone while reading: unplugged? check the cable and the adapter")
        data, self._received = self._received[:count], self._received[count:]
        if len(data) < count:
            MEMORY_CLOCK.advance_to(deadline)
        return data

    def clear(self):
        self._received = b""

    def close(self):
        pass


class Kit:
    """A robot with emulated servos; `mounted` are the true calibrations, and `joints` those of new servos."""

    def __init__(self, protocol="feetech_st", changes=(), start=None):
        """`changes` are (row, change of the true calibration)."""
        row = PROTOCOLS[protocol]
        self.settings = standard(robot(), protocol, "/dev/hexapod")
        mounted = list(self.settings.joints)
        for index, change in changes:
            mounted[index] = replace(mounted[index], **change)
        self.mounted = tuple(mounted)
        self.world = LagWorld(row.scale, len(self.settings.ids), lag=0.001, speed=60.0)
        for joint, angle in zip(self.mounted, [0.0] * 18 if start is None else start, strict=True):
            self.world.positions[self.index(joint.id)] = joint.raw(angle)
        self.port = MemoryPort(emulated_device(protocol, self.world, self.settings.ids), self.settings.baud)
        self.emulation = Emulation(self.port, self.world, self.settings.ids, self.mounted)

    def index(self, servo):
        return self.settings.ids.index(servo)

    def bus(self):
        row = PROTOCOLS[self.settings.protocol]
        return row.open(self.port, self.settings.ids, **({"wait": AT_ONCE} if "wait" in row.options else {}))

    def jogger(self, bus):
        middle = dict.fromkeys(self.settings.ids, float(bus.scale.center))
        return ServoJogger(bus, middle, 50.0, lambda seconds: None)

    def fault(self, text):
        parse_fault(text).act(self.emulation)

    def renew(self, count):
        """The first servos are new: not connected yet, with id 1."""
        for index in range(count):
            self.port.device.rename(index, FACTORY_ID)
        self.world.unplug(*range(count))

    def angle(self, row):
        """The true angle [rad] of a joint."""
        joint = self.mounted[row]
        return joint.angle(float(self.world.positions[self.index(joint.id)]))

    def turn(self, row, by):
        """Turns a joint by hand by an angle [rad]."""
        index = self.index(self.mounted[row].id)
        assert not self.world.torques[index], "a servo with torque cannot be turned by hand"
        self.world.positions[index] = self.mounted[row].raw(self.angle(row) + by)
