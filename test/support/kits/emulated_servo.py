# SPDX-License-Identifier: Apache-2.0
"""Emulated smart servos in memory: requests in, replies out, and time that passes when a test lets it."""

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.emulator.device_registry import emulated_device
from hexapod_control.servos.emulator.servo_world import LagWorld
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols import dynamixel2, lx16a


class Servo:
    """Emulated servos with ids from 1, and one of their registers at a time."""

    def __init__(self, protocol, count=1):
        self.world = LagWorld(PROTOCOLS[protocol].scale, count)
        self.device = emulated_device(protocol, self.world, range(1, count + 1))
        self.two = protocol == "dynamixel2"
        self.frames = dynamixel2 if self.two else ff_frames
        self.order = "big" if protocol == "feetech_sc" else "little"
        self.now = 0.0

    def ask(self, frame):
        return [reply for _, reply in self.device.receive(frame, self.now)]

    def error(self, frame):
        """The error byte of the only reply, None without one."""
        replies = self.ask(frame)
        return replies[0][8 if self.two else 4] if len(replies) == 1 else None

    def read(self, address, size, servo=1):
        (reply,) = self.ask(self.frames.read_request(servo, address, size))
        return int.from_bytes(reply[9:-2] if self.two else reply[5:-1], self.order, signed=self.two)

    def write(self, address, size, value, servo=1):
        """The error byte of the reply."""
        data = (value & ((1 << 8 * size) - 1)).to_bytes(size, self.order)
        (reply,) = self.ask(self.frames.write_request(servo, address, data))
        return reply[8] if self.two else reply[4]

    def run(self, seconds):
        self.now += seconds
        self.world.step(self.now)

    def power_cycle(self):
        self.world.unplug(0)
        self.world.plug(0)


def lx(servo, command, data=b""):
    replies = servo.ask(lx16a.build(1, command, data))
    return replies[0][5:-1] if replies else None
