"""An emulated SSC-32 with hobby servos on its first channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.servos.emulator.channels import Channels, in_turn
from hexapod_control.servos.emulator.device import Reply
from hexapod_control.servos.emulator.ramp import Ramp
from hexapod_control.servos.emulator.ssc32_lines import Command, Decoder, Move, Off, Query, Stop
from hexapod_control.servos.emulator.world import ServoWorld
from hexapod_control.servos.ssc32 import LAST, VOLT

REPLY = 0.0005  # [s] before a reply; the manual says 50 us to 5 ms


class Ssc32Device:
    """The board: moves in groups, knows only what it sent."""

    def __init__(
        self,
        world: ServoWorld,
        ids: Sequence[int] | None = None,
        *,
        count: int = LAST + 1,
        battery: str = "A",
        divider: float = 3.0,
    ) -> None:
        """Servos are on the channels `ids` (default: the first ones) of a board with `count` channels.

        Their voltage is on analog input `battery` behind a divider (1 / `divider`).
        """
        self.world = world
        self._channels = Channels(world, ids)
        self._ramps = [Ramp()] * count
        self._decoder = Decoder(count - 1)
        self._battery, self._divider = ord(battery) - ord("A"), divider
        self._read: set[int] = set()  # analog inputs that were read before

    def receive(self, data: bytes, now: float) -> list[Reply]:
        """Executes every line that is complete."""
        self.world.step(now)
        replies = [self._execute(command, now) for command in self._decoder.feed(data)]
        return in_turn(replies, REPLY)

    def pulse(self, channel: int, now: float) -> int:
        """The pulse that is sent [us], 0 for none."""
        return round(self._ramps[channel].at(now))

    def _execute(self, command: Command, now: float) -> bytes:
        match command:
            case Move():
                self._move(command, now)
            case Off(channels):
                for channel in channels:
                    self._off(channel)
            case Stop(channel):
                if halted := self.pulse(channel, now):
                    self._ramps[channel] = Ramp(end=halted)
                    self._channels.drive(channel, halted)
            case Query("QP", channels):
                return bytes(self.pulse(channel, now) // 10 for channel in channels)
            case Query("V", inputs):
                return bytes(self._analog(item) for item in inputs)
            case _:
                return b"+" if any(ramp.moving(now) for ramp in self._ramps) else b"."
        return b""

    def _move(self, command: Move, now: float) -> None:
        for channel, pulse, speed in command.goals:
            if not pulse:
                self._off(channel)
                continue
            begin = self._ramps[channel].at(now)
            duration = command.time / 1000.0
            if speed:
                duration = max(duration, abs(pulse - begin) / speed)
            if not begin:  # it cannot know where the servo is
                duration = 0.0
            self._ramps[channel] = Ramp(begin, pulse, now, duration)
            self._channels.drive(channel, pulse, duration)

    def _off(self, channel: int) -> None:
        self._ramps[channel] = Ramp()
        self._channels.release(channel)

    def _analog(self, item: int) -> int:
        first = item not in self._read
        self._read.add(item)
        if first or item != self._battery:
            return 0  # the first reading is not valid
        count = self.world.voltage(0) / self._divider / VOLT
        return min(max(round(count), 0), 255) if math.isfinite(count) else 0
