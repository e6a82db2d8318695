"""Driving by keyboard: what the keys mean, and a terminal that gives them one by one.

A key stays in force until the next one: terminals do not tell when a key is let go.
"""

from __future__ import annotations

import os
import select
import sys
import termios
import tty
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TextIO

from hexapod_control.core.se2 import ZERO, Twist

DIRECTIONS = {  # key: forward, left, counter-clockwise; Shift strafes instead of turning
    "u": (1, 0, 1),
    "i": (1, 0, 0),
    "o": (1, 0, -1),
    "j": (0, 0, 1),
    "k": (0, 0, 0),
    "l": (0, 0, -1),
    "m": (-1, 0, -1),
    ",": (-1, 0, 0),
    ".": (-1, 0, 1),
    "U": (1, 1, 0),
    "I": (1, 0, 0),
    "O": (1, -1, 0),
    "J": (0, 1, 0),
    "K": (0, 0, 0),
    "L": (0, -1, 0),
    "M": (-1, 1, 0),
    "<": (-1, 0, 0),
    ">": (-1, -1, 0),
}
FASTER, SLOWER = 1.1, 1 / 1.1
SLOWEST = 0.05  # share of the greatest speed
REQUESTS = {"t": "stand", "g": "sit", " ": "stop"}
HELP = (
    "u i o   Shift: strafe        t stand   g sit   space stop",
    "j k l   q/z: faster, slower  1-4 gait  Ctrl-C end",
    "m , .   a key holds until the next one",
)


@dataclass(slots=True)
class Keyboard:
    """What the keys pressed so far ask for."""

    gaits: Sequence[str] = ()
    direction: tuple[int, int, int] = (0, 0, 0)
    speed: float = 0.5  # share of the greatest speed

    def press(self, key: str) -> str:
        """Takes a key. Returns `stand`, `sit`, `stop` or `gait NAME` for a key that asks for more than a motion."""
        if key in DIRECTIONS:
            self.direction = DIRECTIONS[key]
        elif key in "qz" and key:
            self.speed = min(1.0, max(SLOWEST, self.speed * (FASTER if key == "q" else SLOWER)))
        elif key in REQUESTS:
            self.direction = (0, 0, 0)
            return REQUESTS[key]
        elif key.isdigit() and 1 <= int(key) <= len(self.gaits):
            return f"gait {self.gaits[int(key) - 1]}"
        return ""

    def twist(self, maxima: Twist) -> Twist:
        """The twist asked for, with the greatest speed along each axis."""
        if self.direction == (0, 0, 0):
            return ZERO
        return Twist(*(self.speed * way * most for way, most in zip(self.direction, maxima, strict=True)))


class Terminal:
    """Context manager: the terminal gives single keys, unseen; Ctrl-C remains a signal. Restored on the way out."""

    def __init__(self, keys: TextIO = sys.stdin, screen: TextIO = sys.stderr) -> None:
        self._keys, self._screen = keys.fileno(), screen
        self._before: list[Any] | None = None
        self._status = ""

    def __enter__(self) -> Terminal:
        self._before = termios.tcgetattr(self._keys)
        tty.setcbreak(self._keys)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)
        self._write("\r\x1b[K")

    def read(self) -> str:
        """The keys pressed since the last call."""
        if not select.select([self._keys], [], [], 0.0)[0]:
            return ""
        return os.read(self._keys, 64).decode(errors="ignore")

    def line(self, text: str) -> None:
        """Writes a line above the status; may be called from any thread."""
        self._write(f"\r\x1b[K{text}\n{self._status}")

    def status(self, text: str) -> None:
        """Replaces the status, the last line of the screen."""
        text = text[: os.get_terminal_size(self._screen.fileno()).columns - 1] if self._screen.isatty() else text
        if text != self._status:
            self._status = text
            self._write(f"\r\x1b[K{text}")

    def _write(self, text: str) -> None:
        self._screen.write(text)
        self._screen.flush()
