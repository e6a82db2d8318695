"""Loss of single boards while others continue. Servos of a board that is back resume leg by leg at their last goal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.driver.group.presence import Presence
from hexapod_control.servos.driver.group.servo_readings import ServoReadings

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
