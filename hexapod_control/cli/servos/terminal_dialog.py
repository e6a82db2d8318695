"""The dialog of the guided calibration in a terminal."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable

from hexapod_control.servos.calibration.dialog import Abandoned

POLL_PERIOD_S = 0.05


class TerminalDialog:
    """A dialog on standard input and output, line by line."""

    def __init__(self) -> None:
        self._rest = b""

    def say(self, text: str) -> None:
        """Prints a line."""
        print(text, flush=True)

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """Prints a question and returns the answer; calls `meanwhile` periodically until it is there.

        Raises Abandoned at the end of the input.
        """
        print(question, end="", flush=True)
        while b"\n" not in self._rest:
            if select.select([sys.stdin], [], [], POLL_PERIOD_S if meanwhile else None)[0]:
                data = os.read(sys.stdin.fileno(), 4096)
                if not data:
                    raise Abandoned
                self._rest += data
            elif meanwhile:
                meanwhile()
        line, _, self._rest = self._rest.partition(b"\n")
        if not sys.stdin.isatty():
            print(flush=True)
        return line.decode(errors="replace").strip()
