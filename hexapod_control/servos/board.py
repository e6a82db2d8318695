"""A board that falls silent behind a port that is still there: hung, or without power."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from hexapod_control.servos.bus import BoardSilent, Bus
from hexapod_control.servos.settings import ServoSettings

PERIOD = 0.1  # [s] between two questions
PATIENCE = 0.4  # [s] at least, for three questions without an answer


@runtime_checkable
class Board(Protocol):
    """A bus whose servos tell nothing, but whose board can."""

    def answers(self) -> bool | None:
        """Whether the board answers; None if it cannot be asked now."""


class BoardWatch:
    """Asks a board now and then, and every cycle once it does not answer."""

    def __init__(self, bus: Bus, settings: ServoSettings, clock: Callable[[], float]) -> None:
        """Where the servos themselves answer, there is nothing to watch."""
        self._board = bus if isinstance(bus, Board) else None
        self._port, self._patience = settings.port, max(settings.lost_after, PATIENCE)
        self._clock, self._heard, self._due = clock, clock(), -math.inf

    def look(self) -> None:
        """Raises BoardSilent if the board has not answered for so long that a servo would be lost."""
        now = self._clock()
        if self._board is None or now < self._due:
            return
        if self._board.answers():
            self._heard, self._due = self._clock(), now + PERIOD
            return
        silence = self._clock() - self._heard
        if silence >= self._patience:
            raise BoardSilent(
                f"{self._port}: the port is there, but the board behind it is silent for {silence:.1f} s: "
                "check the board's power, press its reset"
            )
