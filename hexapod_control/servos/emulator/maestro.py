"""An emulated Mini Maestro whose channels have their home set to Off."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.servos import maestro
from hexapod_control.servos.emulator.channels import Channels, in_turn
from hexapod_control.servos.emulator.device import Reply
from hexapod_control.servos.emulator.maestro_frames import Command, Decoder
from hexapod_control.servos.emulator.ramp import Ramp
from hexapod_control.servos.emulator.world import ServoWorld
from hexapod_control.servos.maestro import COMPACT, LAST, Error, Form
from hexapod_control.servos.pwm import clamp

REPLY = 0.0001  # [s] before a reply


class MaestroDevice:
    """The board: pulses by channel, an error word, and the serial timeout that switches servos off."""

    def __init__(
        self, world: ServoWorld, ids: Sequence[int] | None = None, *, form: Form = COMPACT, timeout: float = 0.0
    ) -> None:
        """Servos are on the channels `ids` (default: the first ones).

        Serial `timeout` [s], 0 for none: seen at the next call of `receive`, which may bring no bytes.
        """
        self.world = world
        self._channels = Channels(world, ids)
        self.errors = Error.NONE
        self._decoder = Decoder(form)
        self._ramps = [Ramp()] * (LAST + 1)
        self._speeds = [0] * (LAST + 1)  # [us/s], 0 for no limit
        self._timeout, self._heard = timeout, -1.0

    def receive(self, data: bytes, now: float) -> list[Reply]:
        """Executes every command that is complete."""
        if self._timeout and self._heard >= 0.0 and now - self._heard > self._timeout:
            self._heard = -1.0
            self._failed(Error.TIMEOUT)
        self.world.step(now)
        replies = []
        for byte in data:  # one by one: what is wrong must act before what follows
            commands = self._decoder.feed(bytes([byte]))
            self._failed(self._decoder.errors)
            self._decoder.errors = Error.NONE
            for command in commands:
                self._heard = now
                replies.append(self._execute(command, now))
        return in_turn(replies, REPLY)

    def _failed(self, errors: Error) -> None:
        """Any error sends all servos home, which is off."""
        if errors:
            self.errors |= errors
            for channel in range(LAST + 1):
                self._set(channel, 0, 0.0)

    def pulse(self, channel: int, now: float) -> float:
        """The pulse that is sent [us], 0 for none."""
        return self._ramps[channel].at(now)

    def _execute(self, command: Command, now: float) -> bytes:
        code, values, count = command.code, command.parameters, LAST + 1
        if code == maestro.TARGETS and values[0] + values[1] <= count:
            for i in range(values[0]):
                self._set(values[1] + i, _number(values[2 + 2 * i :]), now)
        elif code == maestro.TARGET and values[0] < count:
            self._set(values[0], _number(values[1:]), now)
        elif code == maestro.SPEED and values[0] < count:
            self._speeds[values[0]] = 25 * _number(values[1:])
        elif code == maestro.POSITION and values[0] < count:
            return round(4 * self.pulse(values[0], now)).to_bytes(2, "little")
        elif code == maestro.MOVING:
            return bytes([any(ramp.moving(now) for ramp in self._ramps)])
        elif code == maestro.ERRORS:
            word, self.errors = self.errors, Error.NONE
            return word.to_bytes(2, "little")
        else:
            self._failed(Error.PROTOCOL)
        return b""

    def _set(self, channel: int, quarters: int, now: float) -> None:
        if not quarters:
            self._ramps[channel] = Ramp()
            self._channels.release(channel)
            return
        pulse, begin, limit = clamp(quarters / 4), self.pulse(channel, now), self._speeds[channel]
        duration = abs(pulse - begin) / limit if limit and begin else 0.0
        self._ramps[channel] = Ramp(begin, pulse, now, duration)
        self._channels.drive(channel, pulse, duration)


def _number(values: bytes) -> int:
    return values[0] | values[1] << 7
