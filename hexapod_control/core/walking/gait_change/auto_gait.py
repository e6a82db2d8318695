"""Chooses the gait by speed: the most stable one that reaches the speed with a reserve, with hysteresis.

A faster gait is chosen as soon as the commanded speed is above FULL_SHARE of the highest speed of the present gait, so
that the change is complete before the gait is at its limit. A more stable gait is chosen once the speed has been below
MORE_STABLE_SHARE of the highest speed of that gait for MORE_STABLE_DELAY_S. At rest, and while the robot comes to rest,
the gait does not change; a robot that starts to walk uses the gait for the commanded speed.
"""

from __future__ import annotations

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import Gait, GaitSelection
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.workspace.speed_envelope import SpeedEnvelope

FULL_SHARE = 0.75  # of the highest speed of a gait, above which a faster one is chosen
MORE_STABLE_SHARE = 0.6  # of the highest speed of a more stable gait, below which that one is chosen ...
MORE_STABLE_DELAY_S = 1.0  # ... after this time


class AutoGait(Copyable):
    """Chooses one of the selected gaits by speed; `follow` updates the choice every tick."""

    _conditions: tuple[Twist, float, float] | None  # for which the indices were computed
    _indices: tuple[int, int]  # of the most stable gait that is fast enough: with FULL_SHARE, with MORE_STABLE_SHARE
    _slow_for: float  # [s] time for which a more stable gait has been fast enough
    gait: Gait
    selection: GaitSelection

    def __init__(self, envelope: SpeedEnvelope, selection: GaitSelection, present: Gait) -> None:
        """Starts with the present gait if it is among the selected ones."""
        self._envelope = envelope
        self.selection = selection
        self.gait = present if present in selection.gaits else selection.most_stable
        self._slow_for = 0.0
        self._conditions = None
        self._indices = (0, 0)

    def follow(self, dt: float, goal: Twist, height: float, region_share: float, *, walking: bool) -> None:
        """Chooses the gait for a twist at a body height [m] and a region share, `dt` [s] after the last call."""
        if goal.is_zero:
            return
        gaits = self.selection.gaits
        conditions = (goal, height, region_share)
        if conditions != self._conditions:
            full = self._most_stable(goal.scaled(1.0 / FULL_SHARE), height, region_share)
            slow = self._most_stable(goal.scaled(1.0 / MORE_STABLE_SHARE), height, region_share)
            self._conditions = conditions
            self._indices = (full, slow)
        present = gaits.index(self.gait)
        full, slow = self._indices
        self._slow_for = self._slow_for + dt if slow < present else 0.0
        if full > present or not walking:
            self.gait = gaits[full]
        elif self._slow_for > MORE_STABLE_DELAY_S:
            self.gait = gaits[slow]

    def _most_stable(self, twist: Twist, height: float, region_share: float) -> int:
        """Returns the index of the most stable gait that is fast enough for a twist; of the fastest one if none is."""
        for index, gait in enumerate(self.selection.gaits):
            if self._envelope.limit(gait, height, region_share, twist).twist == twist:
                return index
        return len(self.selection.gaits) - 1
