# SPDX-License-Identifier: Apache-2.0
"""A terminal in single-key mode with a status line; the context manager restores it."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import tty
from types import TracebackType
from typing import Any, Self, TextIO


class TerminalClosed(Exception):  # noqa: N818 - no error: the user closed the window
    """The terminal is gone."""


class Terminal:
    """Context manager: single keys without echo, restored at the end; Ctrl-C still sends a signal.

    A program that is killed outright (SIGKILL) leaves the terminal in single-key mode: `stty sane` restores it.
    """

    def __init__(self, keys: TextIO = sys.stdin, screen: TextIO = sys.stderr) -> None:
        self._keys = keys.fileno()
        self._screen = screen
        self._output = screen.fileno()
        self._settings: list[Any] | None = None  # Any: termios mixes numbers and bytes
        self._status = ""

    def __enter__(self) -> Self:
        if self._screen.isatty():  # opened once more, as others share the flag of the first one
            self._output = os.open(os.ttyname(self._output), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
        self._settings = termios.tcgetattr(self._keys)
        tty.setcbreak(self._keys)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(termios.error, OSError):  # the window may be closed
            if self._settings is not None:
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._settings)
        self._write("\r\x1b[K")
        if self._output != self._screen.fileno():
            os.close(self._output)

    def read(self) -> str:
        """The keys pressed since the last call. Raises TerminalClosed."""
        if not select.select([self._keys], [], [], 0.0)[0]:
            return ""
        try:
            keys = os.read(self._keys, 64)
        except OSError:  # the window was closed
            raise TerminalClosed from None
        if not keys:
            raise TerminalClosed
        return keys.decode(errors="ignore")

    def line(self, text: str) -> None:
        """Writes a line above the status line; may be called from any thread."""
        self._write(f"\r\x1b[K{text}\n{self._status}")

    def status(self, text: str) -> None:
        """Replaces the status line, the last line of the screen."""
        columns = os.get_terminal_size(self._screen.fileno()).columns if self._screen.isatty() else 0
        text = text[: columns - 1] if columns else text
        if text != self._status:
            self._status = text
            self._write(f"\r\x1b[K{text}")

    def _write(self, text: str) -> None:
        """Writes a text, or loses it: a terminal that is full or stopped must not keep keys from the robot."""
        with contextlib.suppress(OSError):  # full, or closed, which `read` reports
            os.write(self._output, text.encode())
