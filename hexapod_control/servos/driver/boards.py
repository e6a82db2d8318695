"""Boards of servos that do not reply themselves: whether they are there, their inputs, and the loss of single ones.

Servos of a board that is back resume leg by leg at their last goal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.driver.presence import Presence, ServoClock
from hexapod_control.servos.driver.servo_readings import ServoReadings
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


SERVOS_AT_ONCE = 3  # that get torque again together, to limit the inrush current
PAUSE_S = 0.2  # between such groups


@runtime_checkable
class LosesBoards(Protocol):
    """A bus with several boards."""

    def lost_boards(self) -> Mapping[str, tuple[int, ...]]:
        """Silent boards by name, with the ids of their servos."""


class BoardLoss:
    """Updates the presence of servos that do not respond themselves, from their boards. Indices are in row order."""

    def __init__(self, bus: Bus, ids: Sequence[int], presence: Presence, readings: ServoReadings) -> None:
        """`update` does nothing on a bus that cannot lose single boards."""
        self._readings = readings
        self._goals: dict[int, int] = {}  # servo id -> last raw goal
        self._bus = bus if isinstance(bus, LosesBoards) else None
        self._index, self._presence = {servo: index for index, servo in enumerate(ids)}, presence
        self._due = -math.inf  # [s] servo time of the next return
        self.lost: Mapping[str, tuple[int, ...]] = {}  # indices of the servos of lost boards, by name

    @property
    def is_supported(self) -> bool:
        """Whether the bus can lose single boards."""
        return self._bus is not None

    def sent(self, goals: Mapping[int, int]) -> None:
        """Records raw goals that were sent, by servo id."""
        self._goals.update(goals)

    def update(self, now: float) -> list[int]:
        """Updates the lost boards at a servo time [s]. Returns the servos that are back, a few at a time.

        Their position counts as the last goal sent.
        """
        if self._bus is None:
            return []
        boards = self._bus.lost_boards()
        self.lost = {name: tuple(self._index[servo] for servo in ids) for name, ids in boards.items()}
        away = {index for indices in self.lost.values() for index in indices}
        returned: list[int] = []
        for index in self._index.values():
            if index in away:
                if not self._presence.quarantined(index):
                    self._presence.quarantine(index, now)
            elif not self._presence.quarantined(index):
                self._presence.answered(index, now)
            elif now >= self._due and len(returned) < SERVOS_AT_ONCE:
                self._presence.answered(index, now)
                returned.append(index)
        for servo, index in self._index.items():
            if index in returned and servo in self._goals:
                self._readings.positions[index] = float(self._goals[servo])
        self._due = now + PAUSE_S if returned else self._due
        return returned
