"""Which axes of a gamepad count: those that rest at their center.

A driver may report a trigger where the map of the gamepad expects a stick. A trigger rests at an end and passes the
center when it is pulled, so that the dead-man alone would drive the robot. A stick that is stuck, or held at the start,
looks the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from hexapod_control.core.steering.gamepad_map import GamepadState

CENTER = 0.1  # deflection that counts as centered: zero
CENTER_TIME_S = 0.3  # at the center, while the dead-man is held: a trigger that is pulled passes it faster
REST_TIME_S = 2.0  # away from the center without dead-man, after which an axis is taken to rest there


@dataclass(slots=True)
class AxisCenters:
    """Where the axes of a gamepad rest, from all of its states since it was connected."""

    _found: dict[int, float] = field(default_factory=dict)  # deflection in the first state
    _sides: dict[int, tuple[bool, float]] = field(default_factory=dict)  # whether at the center, and since when [s]
    _counting: set[int] = field(default_factory=set)

    def see(self, pad: GamepadState, *, held: bool) -> None:
        """Takes a state into account; `held`: the dead-man is pressed, so deflections are commands."""
        for number in range(len(pad.axes)):
            value = pad.axis(number)
            centered = abs(value) <= CENTER
            found = self._found.setdefault(number, value)
            before, since = self._sides.get(number, (centered, -math.inf))
            since = since if centered is before else pad.time
            self._sides[number] = centered, since
            if centered and (not held or pad.time - since >= CENTER_TIME_S):
                self._counting.add(number)
            elif not centered and not held and (abs(value - found) <= CENTER or pad.time - since >= REST_TIME_S):
                self._counting.discard(number)  # it is back where it was found, or stays away

    def deflection(self, pad: GamepadState, number: int) -> float:
        """Deflection of an axis in [-1, 1]: 0 at its center, and as long as the axis does not count."""
        value = pad.axis(number)
        beyond = max(0.0, abs(value) - CENTER) / (1.0 - CENTER) if number in self._counting else 0.0
        return beyond if value > 0.0 else -beyond

    def ignored(self, pad: GamepadState, number: int) -> bool:
        """Whether an axis is deflected without counting."""
        return abs(pad.axis(number)) > CENTER and number not in self._counting
