"""What an SSC-32 hears: commands out of bytes that may be split anywhere. † from memory of the manual, not verified."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hexapod_control.servos.pwm import clamp
from hexapod_control.servos.ssc32 import ESC, LAST, LONGEST

LINE = 460  # bytes of the longest line that is taken: all channels with their own S


@dataclass(frozen=True, slots=True)
class Move:
    """A line of goals: (channel, pulse [us] of 500 to 2500 or 0 = off †, speed [us/s] or 0), and T [ms] or 0."""

    goals: tuple[tuple[int, int, int], ...]
    time: int = 0


@dataclass(frozen=True, slots=True)
class Off:
    """Channels that get no pulse."""

    channels: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """A channel that halts."""

    channel: int


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked: `Q`, `QP` (items are channels) or `V` (items are inputs, 0 is A)."""

    kind: str
    items: tuple[int, ...] = ()


Command = Move | Off | Stop | Query

_NUMBER = r"(\d{1,5})"
_GOAL = re.compile(rf"#{_NUMBER}P{_NUMBER}(?:S{_NUMBER})?")
_MOVE = re.compile(r"((?:#\d+P\d+(?:S\d+)?)+)(?:T(\d{1,5}))?")
_OFF = re.compile(r"(?:#\d{1,5}L)+")
_QP = re.compile(r"(?:QP\d{1,5})+")
_ANALOG = re.compile(r"(?:V[A-H])+")
_STOP = re.compile(r"STOP(\d{1,5})")


def parse(line: bytes, last: int = LAST) -> Command | None:
    """What a line without CR and spaces says; None for anything that is not entirely right: then nothing is done."""
    command = _command(line.decode("ascii", "replace").upper())
    match command:
        case Move(goals):
            channels: tuple[int, ...] = tuple(goal[0] for goal in goals)
        case Off(channels) | Query("QP", channels):
            pass
        case Stop(channel):
            channels = (channel,)
        case _:
            channels = ()
    return command if max(channels, default=0) <= last else None


def _command(text: str) -> Command | None:
    if found := _MOVE.fullmatch(text):
        return _moved(found[1], found[2] or "0")
    if _OFF.fullmatch(text):
        return Off(_numbers(text))
    if _QP.fullmatch(text):
        return Query("QP", _numbers(text))
    if _ANALOG.fullmatch(text):
        return Query("V", tuple(ord(letter) - ord("A") for letter in text[1::2]))
    if found := _STOP.fullmatch(text):
        return Stop(int(found[1]))
    return Query("Q") if text == "Q" else None


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text))


def _moved(goals: str, time: str) -> Move | None:
    if _GOAL.sub("", goals):  # a number of more than five digits
        return None
    found = [(int(channel), int(pulse), int(speed or 0)) for channel, pulse, speed in _GOAL.findall(goals)]
    if max(max(goal) for goal in found) > LONGEST or int(time) > LONGEST:
        return None
    return Move(tuple((channel, clamp(pulse) if pulse else 0, speed) for channel, pulse, speed in found), int(time))


class Decoder:
    """Lines out of bytes that may be split anywhere, as the board hears them."""

    def __init__(self, last: int = LAST) -> None:
        """A board whose last channel is `last`."""
        self._last = last
        self._new_line()

    def _new_line(self) -> None:
        self._line = bytearray()
        self._spoilt = self._spaced = False

    def feed(self, data: bytes) -> list[Command]:
        """Commands that are complete now; a line that is wrong or too long is left out."""
        found: list[Command] = []
        for byte in data:
            if byte == ESC[0]:
                self._new_line()
            elif byte == 0x0D:
                command = None if self._spoilt else parse(bytes(self._line), self._last)
                if command is not None:
                    found.append(command)
                self._new_line()
            else:
                self._keep(byte)
        return found

    def _keep(self, byte: int) -> None:
        """Spaces may stand between words only; what cannot be in a line spoils it."""
        if byte in b" \n":
            self._spaced = True
            return
        torn = self._spaced and bytes(self._line[-1:]).isdigit() and bytes([byte]).isdigit()
        self._spaced = False
        if torn or not 0x20 < byte < 0x7F or len(self._line) >= LINE:
            self._spoilt = True
        else:
            self._line.append(byte)
