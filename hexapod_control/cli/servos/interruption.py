"""Signals that end a command which moves servos; an exception, raised once, lets it switch the torque off."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hexapod_control.config.errors import END_SIGNALS, signal_exit_code


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end; `exit_code` tells which."""

    def __init__(self, number: int) -> None:
        """`number` of the signal."""
        super().__init__(signal.strsignal(number))
        self.exit_code = signal_exit_code(number)


@contextmanager
def interruptions() -> Iterator[None]:
    """The first of END_SIGNALS raises Interrupted; further ones are ignored while the torque is released."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in END_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    previous = {number: signal.signal(number, interrupt) for number in END_SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
