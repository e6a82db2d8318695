"""Asks boards for servos without replies whether they are there, and reads their digital inputs."""

from __future__ import annotations

import math
from typing import Protocol, runtime_checkable

from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.driver.group.board_loss import LosesBoards
from hexapod_control.servos.driver.group.servo_clock import ServoClock
from hexapod_control.servos.settings.servo_section import ServoSettings

QUERY_PERIOD_S = 0.1
MIN_SILENCE_S = 1.0  # three queries without a reply, with time for late replies


@runtime_checkable
class AnsweringBoard(Protocol):
    """A bus without feedback from servos whose board answers queries."""

    def answers(self) -> bool | None:
        """Queries the board. Returns whether it answers; None if it cannot be queried now."""


@runtime_checkable
class HasInputs(Protocol):
    """A bus whose board has digital inputs."""

    def input_levels(self) -> tuple[bool, ...] | None:
        """Whether each input is high; None if they are not read."""


class BoardWatch:
    """Queries the board every QUERY_PERIOD_S, and in every cycle while it does not answer."""

    def __init__(self, bus: Bus, settings: ServoSettings, servo_clock: ServoClock) -> None:
        """`check` does nothing on a bus whose servos reply themselves."""
        self.input_levels: tuple[bool, ...] | None = None  # whether each input of the board is high
        self._inputs = bus if isinstance(bus, HasInputs) else None
        self._board = bus if isinstance(bus, AnsweringBoard) else None
        self._names = bus.lost_boards if isinstance(bus, LosesBoards) else dict
        # [s] without an answer, after which the board is silent; never for a bus whose servos reply themselves
        self.timeout = math.inf if self._board is None else max(settings.lost_after, MIN_SILENCE_S)
        self._port = settings.port
        self._clock, self._due = servo_clock, -math.inf

    def check(self) -> None:
        """Reads the inputs, and asks the board when that is due; a late reply is an answer."""
        self.input_levels = self._inputs.input_levels() if self._inputs is not None else None
        now = self._clock()
        if self._board is None or now < self._due:
            return
        if self._board.answers():
            self._due = now + QUERY_PERIOD_S

    def silence_text(self, reaction: str) -> str:
        """Message about a silent board, with the `reaction` to it."""
        silence, boards = self._clock.silence(), ", ".join(self._names())
        text = f"its board has been silent for {silence:.1f} s{reaction}: check the board's power, press its reset"
        if boards:
            text = f"none of its boards ({boards}) has answered for {silence:.1f} s{reaction}: "
            text += "check their power and cables"
        return f"{self._port}: the port is open, but {text}"
