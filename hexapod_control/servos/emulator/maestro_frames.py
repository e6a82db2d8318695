"""What a Maestro hears: commands out of bytes that may be split anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hexapod_control.servos.maestro import (
    COMPACT,
    DEVICE,
    ERRORS,
    LAST,
    MOVING,
    POLOLU,
    POSITION,
    SPEED,
    TARGET,
    TARGETS,
    Error,
    Form,
    crc7,
)

PARAMETERS = {TARGET: 3, SPEED: 3, POSITION: 1, MOVING: 0, ERRORS: 0}  # bytes


@dataclass(frozen=True, slots=True)
class Command:
    """A frame that is complete and right: for TARGETS the parameters are count, first, pulses; 7 bits each."""

    code: int
    parameters: bytes


class Decoder:
    """Commands out of bytes that may be split anywhere, as the board hears them; `errors` gathers what was wrong."""

    def __init__(self, form: Form = COMPACT) -> None:
        """With a device number in the form, frames for other devices are left out; compact ones are always taken."""
        self._form = form
        self._frame = bytearray()
        self.errors = Error.NONE

    def feed(self, data: bytes) -> list[Command]:
        """Commands that are complete now."""
        return [command for byte in data for command in self._take(byte)]

    def _take(self, byte: int) -> Iterator[Command]:
        if byte & 0x80:
            if self._frame:
                self.errors |= Error.PROTOCOL
            self._frame.clear()
        elif not self._frame:
            self.errors |= Error.PROTOCOL  # a parameter of nothing
            return
        self._frame.append(byte)
        head = 3 if self._frame[0] == POLOLU else 1
        if len(self._frame) < head:
            return
        code = self._frame[head - 1] | 0x80
        size = self._size(code, self._frame[head:])
        if size is None:
            self.errors |= Error.PROTOCOL
            self._frame.clear()
        elif len(self._frame) == head + size + self._form.crc:
            frame = bytes(self._frame)
            self._frame.clear()
            if self._form.crc and crc7(frame[:-1]) != frame[-1]:
                self.errors |= Error.CRC
            elif head == 1 or frame[1] == (DEVICE if self._form.device is None else self._form.device):
                yield Command(code, frame[head : head + size])

    @staticmethod
    def _size(code: int, parameters: bytes | bytearray) -> int | None:
        """How many parameters the command has; for TARGETS the first says it; None if there is no such command."""
        if code != TARGETS:
            return PARAMETERS.get(code)
        if not parameters:
            return 2
        return 2 + 2 * parameters[0] if 1 <= parameters[0] <= LAST + 1 else None
