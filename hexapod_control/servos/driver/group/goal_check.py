"""Reads goals back on a noisy line: an 8-bit checksum does not detect every corrupt frame."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from hexapod_control.servos.bus.bus_interface import Bus

HISTORY = 25  # stored sets of goals; a servo may have missed all but one
SHARE_PER_CYCLE = 0.25  # of the reads per cycle, on a bus with one transaction per servo


@runtime_checkable
class ReportsGoals(Protocol):
    """A bus whose servos report the goals that they have received."""

    def received_goals(self, ids: Sequence[int]) -> dict[int, int]:
        """Raw goals as the servos have received them; silent servos are missing from the result."""


class GoalCheck:
    """Compares the goals that servos have received with those sent on one bus.

    Life cycle: `sent` after every write of goals, `repair` while the line is noisy.
    """

    def __init__(self, bus: Bus, reads: int, *, one_by_one: bool) -> None:
        """`reads` is the number of servos read per cycle; `one_by_one`: each needs its own transaction."""
        self._bus, self._duration = bus, 0.0
        self._goals: dict[int, int] = {}  # servo id -> last goal, in the order of reading
        self._history: deque[Mapping[int, int]] = deque(maxlen=HISTORY)  # goals sent, including the last ones
        self._count = max(1, round(SHARE_PER_CYCLE * reads)) if one_by_one else len(bus.ids)

    def sent(self, goals: Mapping[int, int], duration: float) -> None:
        """Records goals that were sent, to be reached in `duration` [s]."""
        clamped = {servo: self._bus.scale.clamp_goal(raw) for servo, raw in goals.items()}
        self._history.append(clamped)
        self._goals = {servo: clamped[servo] for servo in self._goals if servo in clamped} | clamped
        self._duration = duration

    def repair(self) -> int:
        """Resends goals that servos have not received. Returns how many had received a value that was never sent."""
        if not isinstance(self._bus, ReportsGoals) or not self._goals:
            return 0
        ids = list(self._goals)[: self._count]
        for servo in ids:  # moved to the end of the order
            self._goals[servo] = self._goals.pop(servo)
        received = self._bus.received_goals(ids)
        missed = {servo: self._goals[servo] for servo, raw in received.items() if raw != self._goals[servo]}
        if missed:
            self._bus.write_goals(missed, self._duration)
        wrong = sum(all(received[servo] != goals.get(servo) for goals in self._history) for servo in missed)
        self._bus.counters.wrong_goals += wrong
        return wrong
