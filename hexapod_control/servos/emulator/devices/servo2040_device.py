# SPDX-License-Identifier: Apache-2.0
"""An emulated Servo2040 with the Chica firmware or its fork."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.servos.bus.pulse_board import SCALE, clamp
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice
from hexapod_control.servos.emulator.devices.pulse_channels import PulseChannels, in_turn
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols.servo2040 import (
    CURRENT,
    LATCH,
    RELAY,
    SERVOS,
    SET,
    TOUCH,
    TOUCH_INPUTS,
    VALUE_BITS,
    VOLTAGE,
    Servo2040Decoder,
    Servo2040Dialect,
    Servo2040Frame,
    reply,
)

REPLY_DELAY_S = 0.0001  # [s] before a reply
GARBAGE = b"\x00"  # fills a short frame


class Servo2040Device(EmulatedDevice):
    """The board: goals, one relay for all servos, supply voltage and current."""

    ignores_baud = True

    def __init__(
        self,
        world: ServoWorld,
        ids: Sequence[int] | None = None,
        *,
        dialect: Servo2040Dialect = Servo2040Dialect.ORIGINAL,
        byte_timeout: float = math.inf,
        fuse: float = math.inf,
    ) -> None:
        """Servos are on the channels `ids` (default: the first ones).

        `byte_timeout` [s] is 100e-6 on the real board; infinite where the timing of the host is not reliable.
        Above a current of `fuse` [A] the fork opens the relay and latches.
        """
        self.world = world
        self.dialect = dialect
        self._channels = PulseChannels(world, ids)
        self.relay = False
        self.latch = 0
        self.touch = [0] * TOUCH_INPUTS  # counts of the inputs
        self.goals: dict[int, int] = {}  # servo -> pulse [us], for servos with a goal
        self._decoder = Servo2040Decoder()
        self._byte_timeout = byte_timeout
        self._fuse = fuse
        self._last_receive = math.inf

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete frame, and a short one after its timeout."""
        self.world.step(now)
        if self.dialect is Servo2040Dialect.FORK and self.relay and self.world.current() > self._fuse:
            self.latch = 1
            self._switch(False)
        frames = self._complete_short_frame() if now - self._last_receive > self._byte_timeout else []
        frames += self._decoder.feed(data)
        self._last_receive = now
        return in_turn([self._execute(frame) for frame in frames], REPLY_DELAY_S)

    def _complete_short_frame(self) -> list[Servo2040Frame]:
        frames: list[Servo2040Frame] = []
        while self._decoder.pending and not frames:
            frames = self._decoder.feed(GARBAGE)
        return frames

    def _execute(self, frame: Servo2040Frame) -> bytes:
        if frame.start + frame.count > LATCH + self.dialect.checksum:  # only the fork has the last index
            return b""
        if frame.command != SET:
            return reply(self.dialect, frame.start, [self._value(frame.start + i) for i in range(frame.count)])
        for i, value in enumerate(frame.values, frame.start):
            if i == RELAY:
                self._switch(bool(value))
            elif i < SERVOS:
                self.goals[i] = clamp(value)
                if self.relay:
                    self._drive(i)
        return b""

    def _switch(self, on: bool) -> None:
        self.relay = on and not self.latch
        for i in range(SERVOS):
            if self.relay:
                self._drive(i)
            else:
                self._channels.release(i)

    def _drive(self, index: int) -> None:
        """Moves a servo to its goal; without one, the original firmware moves it to the middle."""
        if index in self.goals or self.dialect is Servo2040Dialect.ORIGINAL:
            self._channels.drive(index, self.goals.get(index, SCALE.center))

    def _value(self, index: int) -> int:
        fork = self.dialect is Servo2040Dialect.FORK
        value = 0.0
        if index < SERVOS:
            value = self.goals.get(index, SCALE.center)
        elif index < CURRENT:
            value = self.touch[index - TOUCH]
        elif index == VOLTAGE:
            value = self.world.voltage(0) * (100.0 if fork else 310.3)
        elif index == CURRENT:
            value = self.world.current() * 100.0 if fork else self.world.current() / 0.0814 + 512.0
        elif index == RELAY:
            value = self.relay
        elif index == LATCH:
            value = self.latch
        return min(max(round(value), 0), (1 << VALUE_BITS) - 1)


DEVICES = {"servo2040": Servo2040Device}
