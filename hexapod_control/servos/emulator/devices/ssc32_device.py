# SPDX-License-Identifier: Apache-2.0
"""An emulated SSC-32 with hobby servos on its first channels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.pulse_board import clamp
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice
from hexapod_control.servos.emulator.devices.pulse_channels import PulseChannels, PulseRamp, in_turn
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols.ssc32 import ESC, LAST_CHANNEL, MAX_MOVE_MS, VOLT

VERSION = "SSC32-1.04XE"
LOW_INPUT = b"0"  # digital input at ground
MAX_OFFSET = 100  # [us] of a channel
BANK = 8  # channels of a byte output
# numbers of registers
TX_DELAY = 1
TX_PACING = 2
BAUD_TENTH = 4
FIRST_PULSE = 64
REGISTERS = 256
# of a register
MIN_VALUE = -32768
MAX_VALUE = 65535
FACTORY_BAUD = 9600
REPLY_DELAY_S = 0.0005  # [s] before a reply; 50 us to 5 ms in the manual


class Ssc32Device(EmulatedDevice):
    """The board: moves servos in groups, without feedback from them."""

    def __init__(
        self,
        world: ServoWorld,
        ids: Sequence[int] | None = None,
        *,
        count: int = LAST_CHANNEL + 1,
        battery: str = "A",
        divider: float = 3.0,
        version: str = VERSION,
    ) -> None:
        """Servos are on the channels `ids` (default: the first ones) of a board with `count` channels.

        Their voltage is on analog input `battery` behind a divider (1 / `divider`). A board without `version` supports
        only the lines that the driver needs: it reports neither a version nor digital inputs.
        """
        self.world = world
        self._channels = PulseChannels(world, ids)
        self._ramps = [PulseRamp()] * count
        self._offsets = [0] * count  # [us]
        self._registers = _factory_registers()
        self._decoder = Ssc32LineDecoder(count - 1)
        self._version = version
        self._battery = ord(battery) - ord("A")
        self._divider = divider
        self._read: set[int] = set()  # analog inputs that were read before

    @property
    def baud(self) -> int:
        """Of the line."""
        return 10 * self._registers[BAUD_TENTH]

    @baud.setter
    def baud(self, baud: int) -> None:
        self._registers[BAUD_TENTH] = baud // 10

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete line."""
        self.world.step(now)
        replies = [self._execute(command, now) for command in self._decoder.feed(data)]
        return in_turn(replies, REPLY_DELAY_S)

    def pulse(self, channel: int, now: float) -> int:
        """The pulse that is sent [us], 0 for none."""
        return round(self._ramps[channel].at(now))

    def _execute(self, command: Ssc32Command, now: float) -> bytes:
        match command:
            case Ssc32Move():
                self._move(command, now)
            case Ssc32Off(channels):
                for channel in channels:
                    self._off(channel)
            case Ssc32Offset(offsets):
                for channel, offset in offsets:
                    self._offsets[channel] = offset
            case Ssc32Register(number, value) if self._version:
                if value is None:
                    return f"{self._registers[number]}\r".encode()
                self._registers[number] = value
            case Ssc32Stop(channel):
                if halted := self.pulse(channel, now):
                    self._ramps[channel] = PulseRamp(end=halted)
                    self._channels.drive(channel, halted)
            case Ssc32Query():
                return self._answer(command, now)
            case _:
                pass  # a register of a board without any
        return b""

    def _answer(self, query: Ssc32Query, now: float) -> bytes:
        match query.kind:
            case "QP":
                return bytes(self.pulse(channel, now) // 10 for channel in query.items)
            case "V":
                return bytes(self._analog(item) for item in query.items)
            case "Q":
                return b"+" if any(ramp.moving(now) for ramp in self._ramps) else b"."
            case _ if not self._version:
                return b""
            case "VER":
                return f"{self._version}\r".encode()
            case "RDFLT":
                self._registers = _factory_registers()
                return b"OK\r"
            case _:
                return LOW_INPUT * len(query.items)

    def _move(self, command: Ssc32Move, now: float) -> None:
        for channel, pulse, speed in command.goals:
            if not pulse:
                self._off(channel)
                continue
            pulse = clamp(pulse + self._offsets[channel])
            begin = self._ramps[channel].at(now)
            duration = command.time / 1000.0
            if speed:
                duration = max(duration, abs(pulse - begin) / speed)
            if not begin:  # the servo's position is unknown
                duration = 0.0
            self._ramps[channel] = PulseRamp(begin, pulse, now, duration)
            self._channels.drive(channel, pulse, duration)

    def _off(self, channel: int) -> None:
        self._ramps[channel] = PulseRamp()
        self._channels.release(channel)

    def _analog(self, item: int) -> int:
        first = item not in self._read
        self._read.add(item)
        if first or item != self._battery:
            return 0  # the first reading is not valid
        count = self.world.voltage(0) / self._divider / VOLT
        return min(max(round(count), 0), 255) if math.isfinite(count) else 0


def _factory_registers() -> list[int]:
    """The registers of a new SSC-32U: replies after 600 us, 70 us between their bytes, pulses of 1500 us."""
    registers = [0] * REGISTERS
    registers[TX_DELAY] = 600
    registers[TX_PACING] = 70
    registers[BAUD_TENTH] = FACTORY_BAUD // 10
    registers[FIRST_PULSE : FIRST_PULSE + LAST_CHANNEL + 1] = [1500] * (LAST_CHANNEL + 1)
    return registers


MAX_LINE_BYTES = 460  # of a valid line: all channels with their own S


@dataclass(frozen=True, slots=True)
class Ssc32Move:
    """A line of goals: (channel, pulse [us] of 500 to 2500 or 0 = off †, speed [us/s] or 0), and T [ms] or 0."""

    goals: tuple[tuple[int, int, int], ...]
    time: int = 0


@dataclass(frozen=True, slots=True)
class Ssc32Off:
    """Channels that get no pulse, but a constant level."""

    channels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Ssc32Stop:
    """A channel that halts."""

    channel: int


@dataclass(frozen=True, slots=True)
class Ssc32Offset:
    """Offsets [us] of the pulses of channels, until power-off."""

    offsets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Ssc32Register:
    """A register to write, or to read if there is no value."""

    number: int
    value: int | None = None


@dataclass(frozen=True, slots=True)
class Ssc32Query:
    """A request: `Q`, `VER`, `RDFLT`, `QP` (items are channels), `V` or `INPUT` (items are inputs, 0 is A)."""

    kind: str
    items: tuple[int, ...] = ()


Ssc32Command = Ssc32Move | Ssc32Off | Ssc32Offset | Ssc32Register | Ssc32Stop | Ssc32Query

_NUMBER = r"(\d{1,5})"
_GOAL = re.compile(rf"#{_NUMBER}P{_NUMBER}(?:S{_NUMBER})?")
_MOVE = re.compile(r"((?:#\d+P\d+(?:S\d+)?)+)(?:T(\d{1,5}))?")
_LEVEL = re.compile(r"(?:#\d{1,5}[LH])+")
_BYTE = re.compile(r"#([0-3]):(\d{1,3})")  # levels of eight channels
_OFFSET = re.compile(r"(?:#\d{1,5}PO-?\d{1,3})+")
_REGISTER = re.compile(r"R(\d{1,3})(?:=(-?\d{1,5}))?")
_QP = re.compile(r"(?:QP\d{1,5})+")
_ANALOG = re.compile(r"(?:V[A-H])+")
_DIGITAL = re.compile(r"(?:[A-F]L?)+")  # with L: whether it was low since the last request
_STOP = re.compile(r"STOP(\d{1,5})")
_INVALID = re.compile(rb"\d \d|[^ -~]")


def parse(line: bytes, last: int = LAST_CHANNEL) -> Ssc32Command | None:
    """Parses a line without CR and spaces; None for anything invalid, which the board ignores."""
    command = _command(line.decode("ascii", "replace").upper())
    match command:
        case Ssc32Move(goals):
            channels: tuple[int, ...] = tuple(goal[0] for goal in goals)
        case Ssc32Off(channels) | Ssc32Query("QP", channels):
            pass
        case Ssc32Offset(offsets):
            channels = tuple(channel for channel, _ in offsets)
        case Ssc32Stop(channel):
            channels = (channel,)
        case _:
            channels = ()
    return command if max(channels, default=0) <= last else None


def _command(text: str) -> Ssc32Command | None:
    if found := _MOVE.fullmatch(text):
        return _moved(found[1], found[2] or "0")
    if _LEVEL.fullmatch(text):
        return Ssc32Off(_numbers(text))
    if found := _BYTE.fullmatch(text):
        start = BANK * int(found[1])
        return Ssc32Off(tuple(range(start, start + BANK))) if int(found[2]) < 256 else None
    if _OFFSET.fullmatch(text):
        return _offset(text)
    if found := _REGISTER.fullmatch(text):
        return _register(int(found[1]), found[2])
    if _QP.fullmatch(text):
        return Ssc32Query("QP", _numbers(text))
    if _ANALOG.fullmatch(text):
        return Ssc32Query("V", tuple(ord(letter) - ord("A") for letter in text[1::2]))
    if found := _STOP.fullmatch(text):
        return Ssc32Stop(int(found[1]))
    if _DIGITAL.fullmatch(text):
        return Ssc32Query("INPUT", tuple(ord(letter) - ord("A") for letter in text.replace("L", "")))
    return Ssc32Query(text) if text in ("Q", "VER", "RDFLT") else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _offset(text: str) -> Ssc32Offset | None:
    found = [(int(channel), int(offset)) for channel, offset in re.findall(r"#(\d+)PO(-?\d+)", text)]
    return Ssc32Offset(tuple(found)) if all(abs(offset) <= MAX_OFFSET for _, offset in found) else None


def _register(number: int, value: str | None) -> Ssc32Register | None:
    if number >= REGISTERS or (value and not MIN_VALUE <= int(value) <= MAX_VALUE):
        return None
    return Ssc32Register(number, int(value) if value else None)


def _moved(goals: str, time: str) -> Ssc32Move | None:
    if _GOAL.sub("", goals):  # a number of more than five digits
        return None
    found = [(int(channel), int(pulse), int(speed or 0)) for channel, pulse, speed in _GOAL.findall(goals)]
    if max(max(goal) for goal in found) > MAX_MOVE_MS or int(time) > MAX_MOVE_MS:
        return None
    return Ssc32Move(
        tuple((channel, clamp(pulse) if pulse else 0, speed) for channel, pulse, speed in found), int(time)
    )


class Ssc32LineDecoder:
    """Decodes lines from a byte stream as the board does."""

    def __init__(self, last: int = LAST_CHANNEL) -> None:
        """A board whose last channel is `last`."""
        self._last = last
        self._line = bytearray()  # with at most one space between two other bytes

    def feed(self, data: bytes) -> list[Ssc32Command]:
        """The commands that these bytes complete; invalid and too long lines are dropped."""
        found: list[Ssc32Command] = []
        for byte in data:
            if byte == ESC[0]:
                self._line.clear()
            elif byte == 0x0D:
                command = self._command()
                if command is not None:
                    found.append(command)
                self._line.clear()
            elif byte not in b" \n":
                self._append(byte)
            elif not self._line.endswith(b" "):
                self._append(0x20)
        return found

    def _append(self, byte: int) -> None:
        if len(self._line) < 2 * MAX_LINE_BYTES + 2:  # more bytes without spaces are invalid
            self._line.append(byte)

    def _command(self) -> Ssc32Command | None:
        """The command of the line; None if it is invalid. A space inside a number makes it invalid."""
        line = self._line.replace(b" ", b"")
        if len(line) > MAX_LINE_BYTES or _INVALID.search(self._line):
            return None
        return parse(bytes(line), self._last)


DEVICES = {"ssc32": Ssc32Device}
