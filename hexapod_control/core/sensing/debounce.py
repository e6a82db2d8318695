"""Debouncing of switches: a change is accepted after it has lasted for a time."""

from __future__ import annotations

from collections.abc import Sequence


class Debounce:
    """States of several switches, initialised by the first reading."""

    def __init__(self, time: float) -> None:
        """`time` [s] for which a new state must last."""
        self.states: tuple[bool, ...] = ()
        self._time = time
        self._changed: list[float] = []  # [s] for which the readings of each switch have differed from its state

    def update(self, read: Sequence[bool], dt: float) -> tuple[bool, ...]:
        """Returns the states after a reading `dt` [s] after the last one."""
        if not self.states:
            self.states = tuple(read)
            self._changed = [0.0] * len(read)
        states = list(self.states)
        for i, new in enumerate(read):
            self._changed[i] = self._changed[i] + dt if new != states[i] else 0.0
            if new != states[i] and self._changed[i] >= self._time:
                states[i] = new
                self._changed[i] = 0.0
        self.states = tuple(states)
        return self.states
