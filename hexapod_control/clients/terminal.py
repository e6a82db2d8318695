"""A terminal that gives single keys, and is as before when the program ends, however it ends."""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import termios
import tty
from types import TracebackType
from typing import Any, TextIO

# Outlives the program, also if that is killed: then its pipe closes without a word, and the terminal is set back.
GUARD = """
import os, signal, sys, termios
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTTOU):
    signal.signal(number, signal.SIG_IGN)
before = termios.tcgetattr(0)
os.write(1, b"ready")
if not os.read(int(sys.argv[1]), 1):
    termios.tcsetattr(0, termios.TCSANOW, before)
"""


class TerminalClosed(Exception):  # noqa: N818 - no error: its window was closed
    """There is no terminal any more."""


class Terminal:
    """Context manager: the terminal gives single keys, unseen; Ctrl-C remains a signal. Restored on the way out."""

    def __init__(self, keys: TextIO = sys.stdin, screen: TextIO = sys.stderr) -> None:
        self._keys, self._screen = keys.fileno(), screen
        self._before: list[Any] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._alive = -1  # our end of the guard's pipe
        self._status = ""

    def __enter__(self) -> Terminal:
        self._before = termios.tcgetattr(self._keys)
        self._start_guard()
        tty.setcbreak(self._keys)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(termios.error, OSError):  # it may be gone
            if self._before is not None:
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)
        self._end_guard()
        self._write("\r\x1b[K")

    def _start_guard(self) -> None:
        theirs, self._alive = os.pipe()
        try:
            self._guard = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", GUARD, str(theirs)],
                stdin=self._keys,
                stdout=subprocess.PIPE,
                pass_fds=(theirs,),
                start_new_session=True,  # what is killed with the program's group does not hit it
            )
        finally:
            os.close(theirs)
        assert self._guard.stdout is not None
        with self._guard.stdout as said:
            said.read(len(b"ready"))

    def _end_guard(self) -> None:
        if self._guard is not None:
            with contextlib.suppress(BrokenPipeError):
                os.write(self._alive, b"q")
            os.close(self._alive)
            self._guard.wait()
            self._guard = None

    def read(self) -> str:
        """The keys pressed since the last call. Raises Gone."""
        if not select.select([self._keys], [], [], 0.0)[0]:
            return ""
        try:
            keys = os.read(self._keys, 64)
        except OSError:  # hung up
            raise TerminalClosed from None
        if not keys:
            raise TerminalClosed
        return keys.decode(errors="ignore")

    def line(self, text: str) -> None:
        """Writes a line above the status; may be called from any thread."""
        self._write(f"\r\x1b[K{text}\n{self._status}")

    def status(self, text: str) -> None:
        """Replaces the status, the last line of the screen."""
        columns = os.get_terminal_size(self._screen.fileno()).columns if self._screen.isatty() else 0
        text = text[: columns - 1] if columns else text
        if text != self._status:
            self._status = text
            self._write(f"\r\x1b[K{text}")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError):  # hung up: `read` says so
            self._screen.write(text)
            self._screen.flush()
