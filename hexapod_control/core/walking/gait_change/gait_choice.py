"""Chooses the gait by speed: the most stable one that can go it with a reserve, with hysteresis.

A faster gait is chosen as soon as the speed is above FULL_SHARE of what the present one can do, so that the change is
over before the speed exceeds it. A more stable one is chosen once the speed has been below SLOW_SHARE of what that one
can do for SLOW_TIME_S. At rest, and while the robot comes to rest, the gait stays; a robot that starts begins in the
gait of the speed it starts for.
"""

from __future__ import annotations

from hexapod_control.core.gait.gait_table import Gait, GaitSelection
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.speed_envelope import SpeedEnvelope

FULL_SHARE = 0.75  # of the highest speed of a gait, above which a faster one is chosen
SLOW_SHARE = 0.6  # of the highest speed of a more stable gait, below which that one is chosen ...
SLOW_TIME_S = 1.0  # ... after this long


class GaitChoice:
    """One of the selected gaits, by the speed of the walk."""

    __slots__ = ("_envelope", "_places", "_slow_for", "_under", "gait", "selection")

    def __init__(self, envelope: SpeedEnvelope, selection: GaitSelection, present: Gait) -> None:
        """Starts with the present gait if it is among the selected ones."""
        self._envelope = envelope
        self.selection = selection
        self.gait = present if present in selection.gaits else selection.most_stable
        self._slow_for = 0.0  # [s] for which a more stable gait has been enough
        self._under: tuple[Twist, float, float] | None = None  # what the places were found for
        self._places = (0, 0)  # of the most stable gait that can go the speed: with FULL_SHARE, with SLOW_SHARE

    def follow(self, dt: float, goal: Twist, height: float, room: float, *, walking: bool) -> None:
        """Chooses for a twist to walk at, with a body at `height` [m] that leaves a share `room` of the regions."""
        if len(self.selection.gaits) == 1 or goal.is_zero:
            return
        gaits, under = self.selection.gaits, (goal, height, room)
        if under != self._under:
            full = self._first_able(goal.scaled(1.0 / FULL_SHARE), height, room)
            slow = self._first_able(goal.scaled(1.0 / SLOW_SHARE), height, room)
            self._under, self._places = under, (full, slow)
        present, (full, slow) = gaits.index(self.gait), self._places
        self._slow_for = self._slow_for + dt if slow < present else 0.0
        if full > present or not walking:
            self.gait = gaits[full]
        elif self._slow_for > SLOW_TIME_S:
            self.gait = gaits[slow]

    def _first_able(self, twist: Twist, height: float, room: float) -> int:
        """Returns the place of the most stable gait that can go a twist; of the fastest one if none can."""
        gaits = self.selection.gaits
        able = (place for place, gait in enumerate(gaits) if self._able(gait, twist, height, room))
        return next(able, len(gaits) - 1)

    def _able(self, gait: Gait, twist: Twist, height: float, room: float) -> bool:
        return self._envelope.limit(gait, height, room, twist).twist == twist
