"""An emulated Mini Maestro whose channels have their home set to Off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.pulse_board import clamp
from hexapod_control.servos.emulator.device import DelayedReply
from hexapod_control.servos.emulator.devices.pulse_channels import PulseChannels, PulseRamp, in_turn
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import maestro
from hexapod_control.servos.protocols.maestro import (
    COMPACT,
    DEVICE,
    ERRORS,
    LAST_CHANNEL,
    MOVING,
    POLOLU,
    POSITION,
    SPEED,
    TARGET,
    TARGETS,
    MaestroError,
    MaestroForm,
    crc7,
)

REPLY = 0.0001  # [s] before a reply


class MaestroDevice:
    """The board: pulses by channel, an error word, and the serial timeout that switches servos off."""

    def __init__(
        self, world: ServoWorld, ids: Sequence[int] | None = None, *, form: MaestroForm = COMPACT, timeout: float = 0.0
    ) -> None:
        """Servos are on the channels `ids` (default: the first ones).

        The serial `timeout` [s], 0 for none, is checked at the next call of `receive`, even without bytes.
        """
        self.world = world
        self._channels = PulseChannels(world, ids)
        self.errors = MaestroError.NONE
        self._decoder = MaestroCommandDecoder(form)
        self._ramps = [PulseRamp()] * (LAST_CHANNEL + 1)
        self._speeds = [0] * (LAST_CHANNEL + 1)  # [us/s], 0 for no limit
        self._timeout, self._last_receive = timeout, -1.0

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete command."""
        if self._timeout and self._last_receive >= 0.0 and now - self._last_receive > self._timeout:
            self._last_receive = -1.0
            self._failed(MaestroError.TIMEOUT)
        self.world.step(now)
        replies = []
        for byte in data:  # one by one: an error must take effect before the bytes that follow
            commands = self._decoder.feed(bytes([byte]))
            self._failed(self._decoder.errors)
            self._decoder.errors = MaestroError.NONE
            for command in commands:
                self._last_receive = now
                replies.append(self._execute(command, now))
        return in_turn(replies, REPLY)

    def _failed(self, errors: MaestroError) -> None:
        """Any error sends all servos home, which is off."""
        if errors:
            self.errors |= errors
            for channel in range(LAST_CHANNEL + 1):
                self._set(channel, 0, 0.0)

    def pulse(self, channel: int, now: float) -> float:
        """The pulse that is sent [us], 0 for none."""
        return self._ramps[channel].at(now)

    def _execute(self, command: MaestroCommand, now: float) -> bytes:
        code, values, count = command.code, command.parameters, LAST_CHANNEL + 1
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
            word, self.errors = self.errors, MaestroError.NONE
            return word.to_bytes(2, "little")
        else:
            self._failed(MaestroError.PROTOCOL)
        return b""

    def _set(self, channel: int, quarters: int, now: float) -> None:
        if not quarters:
            self._ramps[channel] = PulseRamp()
            self._channels.release(channel)
            return
        pulse, begin, limit = clamp(quarters / 4), self.pulse(channel, now), self._speeds[channel]
        duration = abs(pulse - begin) / limit if limit and begin else 0.0
        self._ramps[channel] = PulseRamp(begin, pulse, now, duration)
        self._channels.drive(channel, pulse, duration)


def _number(values: bytes) -> int:
    return values[0] | values[1] << 7


PARAMETERS = {TARGET: 3, SPEED: 3, POSITION: 1, MOVING: 0, ERRORS: 0}  # bytes


@dataclass(frozen=True, slots=True)
class MaestroCommand:
    """A valid frame. For TARGETS the parameters are count, first channel, pulses; 7 bits each."""

    code: int
    parameters: bytes


class MaestroCommandDecoder:
    """Decodes commands from a byte stream like the board does; `errors` collects protocol errors."""

    def __init__(self, form: MaestroForm = COMPACT) -> None:
        """With a device number in the form, frames for other devices are ignored; compact ones are always accepted."""
        self._form = form
        self._frame = bytearray()
        self.errors = MaestroError.NONE

    def feed(self, data: bytes) -> list[MaestroCommand]:
        """The commands that these bytes complete."""
        return [command for byte in data for command in self._take(byte)]

    def _take(self, byte: int) -> Iterator[MaestroCommand]:
        if byte & 0x80:
            if self._frame:
                self.errors |= MaestroError.PROTOCOL
            self._frame.clear()
        elif not self._frame:
            self.errors |= MaestroError.PROTOCOL  # a parameter without a command
            return
        self._frame.append(byte)
        head = 3 if self._frame[0] == POLOLU else 1
        if len(self._frame) < head:
            return
        code = self._frame[head - 1] | 0x80
        size = self._size(code, self._frame[head:])
        if size is None:
            self.errors |= MaestroError.PROTOCOL
            self._frame.clear()
        elif len(self._frame) == head + size + self._form.crc:
            frame = bytes(self._frame)
            self._frame.clear()
            if self._form.crc and crc7(frame[:-1]) != frame[-1]:
                self.errors |= MaestroError.CRC
            elif head == 1 or frame[1] == (DEVICE if self._form.device is None else self._form.device):
                yield MaestroCommand(code, frame[head : head + size])

    @staticmethod
    def _size(code: int, parameters: bytes | bytearray) -> int | None:
        """Number of parameters of a command; TARGETS holds it in the first; None for an unknown command."""
        if code != TARGETS:
            return PARAMETERS.get(code)
        if not parameters:
            return 2
        return 2 + 2 * parameters[0] if 1 <= parameters[0] <= LAST_CHANNEL + 1 else None
