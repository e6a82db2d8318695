"""Signals that end a command which moves servos; an exception, raised once, lets it switch the torque off."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # Ctrl-C, kill, a lost terminal


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end; `exit_code` is 128 + its number."""

    def __init__(self, number: int) -> None:
        """`number` of the signal."""
        super().__init__(signal.strsignal(number))
        self.exit_code = 128 + number


@contextmanager
def interruptions() -> Iterator[None]:
    """The first of the signals raises Interrupted; further ones are ignored while the torque is released."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    previous = {number: signal.signal(number, interrupt) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
