# SPDX-License-Identifier: Apache-2.0
"""Boards of servos that do not reply themselves: whether they are there, their inputs, and the loss of single ones.

Servos of a board that is back resume leg by leg at their last goal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.driver.presence import Presence, ServoClock
from hexapod_control.servos.driver.servo_readings import ServoReadings
from hexapod_control.servos.settings.servo_section import ServoSettings

QUERY_PERIOD_S = 0.1
MIN_SILENCE_S = 1.0  # three queries without a reply, with time for late replies


class BoardWatch:
    """Queries the board every QUERY_PERIOD_S, and in every cycle while it does not answer."""

    def __init__(self, bus: Bus, settings: ServoSettings, servo_clock: ServoClock) -> None:
        """`check` does nothing on a bus whose servos reply themselves."""
        self.input_levels: tuple[bool, ...] | None = None  # whether each input of the board is high
        # [s] without an answer, after which the board is silent; never for a bus whose servos reply themselves
        self.timeout = max(settings.lost_after, MIN_SILENCE_S) if bus.features.board else math.inf
        self._bus = bus
        self._port = settings.port
        self._clock = servo_clock
        self._due = -math.inf

    def check(self) -> None:
        """Reads the inputs, and asks the board when that is due; a late reply is an answer."""
        self.input_levels = self._bus.input_levels()
        now = self._clock()
        if now >= self._due and self._bus.answers():
            self._due = now + QUERY_PERIOD_S

    def silence_text(self, reaction: str) -> str:
        """Message about a silent board, with the `reaction` to it."""
        silence = self._clock.silence()
        boards = ", ".join(self._bus.lost_boards())
        text = f"its board has been silent for {silence:.1f} s{reaction}: check the board's power, press its reset"
        if boards:
            text = f"none of its boards ({boards}) has answered for {silence:.1f} s{reaction}: "
            text += "check their power and cables"
        return f"{self._port}: the port is open, but {text}"


SERVOS_AT_ONCE = 3  # that get torque again together, to limit the inrush current
PAUSE_S = 0.2  # between such groups


class BoardLoss:
    """Updates the presence of servos that do not respond themselves, from their boards. Indices are in row order."""

    def __init__(self, bus: Bus, ids: Sequence[int], presence: Presence, readings: ServoReadings) -> None:
        """`update` does nothing on a bus that cannot lose single boards (`is_supported`)."""
        self._readings = readings
        self._goals: dict[int, int] = {}  # servo id -> last raw goal
        self.is_supported = bus.features.single_boards
        self._bus = bus
        self._presence = presence
        self._index = {servo: index for index, servo in enumerate(ids)}
        self._due = -math.inf  # [s] servo time of the next return
        self.lost: Mapping[str, tuple[int, ...]] = {}  # indices of the servos of lost boards, by name

    def sent(self, goals: Mapping[int, int]) -> None:
        """Records raw goals that were sent, by servo id."""
        self._goals.update(goals)

    def update(self, now: float) -> list[int]:
        """Updates the lost boards at a servo time [s]. Returns the servos that are back, a few at a time.

        Their position counts as the last goal sent.
        """
        if not self.is_supported:
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
