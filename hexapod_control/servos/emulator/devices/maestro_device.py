# SPDX-License-Identifier: Apache-2.0
"""An emulated Mini Maestro on USB with the home of all channels set to Off. Source: Pololu Maestro User's Guide.

An unknown byte only sets its bit in the error word; other errors send all servos home.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.pulse_board import SCALE
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice
from hexapod_control.servos.emulator.devices.pulse_channels import PulseChannels, PulseRamp, in_turn
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import maestro
from hexapod_control.servos.protocols.maestro import (
    COMPACT,
    DEVICE,
    LAST_CHANNEL,
    MINI_SSC,
    POLOLU,
    TARGETS,
    MaestroError,
    MaestroForm,
    crc7,
)

REPLY_DELAY_S = 0.0001  # [s] before a reply
# [us] of target 127, and between it and 0 or 254
MINI_SSC_NEUTRAL = 1500.0
MINI_SSC_RANGE = 476.25
SPEED_UNIT = 25.0  # [us/s]: a quarter microsecond per 10 ms
ACCELERATION_UNIT = 312.5  # [us/s^2]: a quarter microsecond per 10 ms and 80 ms
SCRIPT_STOPPED = b"\x01"


class MaestroDevice(EmulatedDevice):
    """The board: pulses by channel, an error word, and the serial timeout that switches servos off."""

    ignores_baud = True

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
        self._speeds = [0.0] * (LAST_CHANNEL + 1)  # [us/s], 0 for no limit
        self._accelerations = [0.0] * (LAST_CHANNEL + 1)  # [us/s^2], 0 for no limit
        self._timeout = timeout
        self._last_receive = -1.0

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete command."""
        if self._timeout and self._last_receive >= 0.0 and now - self._last_receive > self._timeout:
            self._last_receive = -1.0
            self._failed(MaestroError.TIMEOUT)
        self.world.step(now)
        replies = []
        for byte in data:  # one by one: an error must take effect before the bytes that follow
            commands = self._decoder.feed(bytes([byte]))
            self.errors |= self._decoder.unknown
            self._failed(self._decoder.errors)
            self._decoder.errors = self._decoder.unknown = MaestroError.NONE
            for command in commands:
                self._last_receive = now
                replies.append(self._execute(command, now))
        return in_turn(replies, REPLY_DELAY_S)

    def _failed(self, errors: MaestroError) -> None:
        if errors:
            self.errors |= errors
            self._go_home()

    def _go_home(self) -> None:
        """Ends the pulses of all channels at once."""
        for channel in range(LAST_CHANNEL + 1):
            self._set_target(channel, 0, 0.0)

    def pulse(self, channel: int, now: float) -> float:
        """The pulse that is sent [us], 0 for none."""
        return self._ramps[channel].at(now)

    def _execute(self, command: MaestroCommand, now: float) -> bytes:
        code, values = command.code, command.parameters
        if code in CHANNEL_COMMANDS and values[0] > LAST_CHANNEL:
            self._failed(MaestroError.PROTOCOL)
        elif code == maestro.POSITION:
            return round(4 * self.pulse(values[0], now)).to_bytes(2, "little")
        elif code == maestro.MOVING:
            return bytes([any(ramp.moving(now) for ramp in self._ramps)])
        elif code == maestro.SCRIPT_STATUS:
            return SCRIPT_STOPPED
        elif code == maestro.ERRORS:
            word = self.errors
            self.errors = MaestroError.NONE
            return word.to_bytes(2, "little")
        else:
            self._execute_silent(code, values, now)
        return b""

    def _execute_silent(self, code: int, values: bytes, now: float) -> None:
        """Executes a command without a reply; script commands do nothing, as no script is loaded."""
        if code == maestro.TARGETS:
            if values[0] + values[1] > LAST_CHANNEL + 1:
                self._failed(MaestroError.PROTOCOL)
                return
            for i in range(values[0]):
                self._set_target(values[1] + i, _number(values[2 + 2 * i :]), now)
        elif code == maestro.TARGET:
            self._set_target(values[0], _number(values[1:]), now)
        elif code == maestro.SPEED:
            self._speeds[values[0]] = SPEED_UNIT * _number(values[1:])
        elif code == maestro.ACCELERATION:
            self._accelerations[values[0]] = ACCELERATION_UNIT * _number(values[1:])
        elif code == maestro.GO_HOME:
            self._go_home()
        elif code == MINI_SSC and values[0] <= LAST_CHANNEL:
            pulse = MINI_SSC_NEUTRAL + MINI_SSC_RANGE * (values[1] - 127) / 127
            self._set_target(values[0], round(4 * pulse), now)

    def _set_target(self, channel: int, quarter_us: int, now: float) -> None:
        """Starts a move to a pulse in quarters of a microsecond; 0 ends the pulses."""
        if not quarter_us:
            self._ramps[channel] = PulseRamp()
            self._channels.release(channel)
            return
        pulse = min(max(quarter_us / 4, SCALE.low), SCALE.high)
        begin = self.pulse(channel, now)
        duration = self._duration(channel, abs(pulse - begin)) if begin else 0.0
        self._ramps[channel] = PulseRamp(begin, pulse, now, duration)
        self._channels.drive(channel, pulse, duration)

    def _duration(self, channel: int, distance: float) -> float:
        """Duration [s] of a move by `distance` [us] with the speed and acceleration of a channel."""
        speed, acceleration = self._speeds[channel], self._accelerations[channel]
        if not acceleration:
            return distance / speed if speed else 0.0
        if speed and distance > speed * speed / acceleration:
            return distance / speed + speed / acceleration
        return 2.0 * math.sqrt(distance / acceleration)


def _number(values: bytes) -> int:
    return values[0] | values[1] << 7


CHANNEL_COMMANDS = (maestro.TARGET, maestro.SPEED, maestro.ACCELERATION, maestro.POSITION)
PARAMETERS = {  # bytes
    **{code: 3 for code in (maestro.TARGET, maestro.SPEED, maestro.ACCELERATION, maestro.START_SCRIPT_WITH)},
    **{code: 1 for code in (maestro.POSITION, maestro.START_SCRIPT)},
    **{code: 0 for code in (maestro.MOVING, maestro.ERRORS, maestro.GO_HOME)},
    **{code: 0 for code in (maestro.STOP_SCRIPT, maestro.SCRIPT_STATUS)},
    maestro.PWM: 4,
}


@dataclass(frozen=True, slots=True)
class MaestroCommand:
    """A valid frame. For TARGETS the parameters are count, first channel, pulses; 7 bits each."""

    code: int
    parameters: bytes


class MaestroCommandDecoder:
    """Decodes commands from a byte stream as the board does.

    `errors` collects errors within frames, `unknown` errors of bytes outside of commands.
    """

    def __init__(self, form: MaestroForm = COMPACT) -> None:
        """With a device number in the form, frames for other devices are ignored; compact ones are always accepted."""
        self._form = form
        self._frame = bytearray()
        self.errors = MaestroError.NONE
        self.unknown = MaestroError.NONE

    def feed(self, data: bytes) -> list[MaestroCommand]:
        """The commands that these bytes complete."""
        return [command for byte in data for command in self._take(byte)]

    def _take(self, byte: int) -> Iterator[MaestroCommand]:
        mini_ssc = self._frame[:1] == bytes((MINI_SSC,))
        if byte & 0x80 and (not mini_ssc or byte == MINI_SSC):
            if self._frame:
                self.errors |= MaestroError.PROTOCOL
            self._frame.clear()
        elif not self._frame:
            self.unknown |= MaestroError.PROTOCOL  # a parameter without a command
            return
        self._frame.append(byte)
        if self._frame[0] != MINI_SSC:
            yield from self._decode()
        elif len(self._frame) == 3:
            yield MaestroCommand(MINI_SSC, bytes(self._frame[1:]))
            self._frame.clear()

    def _decode(self) -> Iterator[MaestroCommand]:
        head = 3 if self._frame[0] == POLOLU else 1
        if len(self._frame) < head:
            return
        code = self._frame[head - 1] | 0x80
        size = self._size(code, self._frame[head:])
        if size is None:
            self.unknown |= MaestroError.PROTOCOL
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


DEVICES = {"maestro": MaestroDevice}
