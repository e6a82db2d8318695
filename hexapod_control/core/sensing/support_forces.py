"""Support forces of the feet: the measured ones while they arrive, else the planned ones."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import GRAVITY

MAX_AGE_S = 0.2  # of usable measured forces
MIN_LOAD_SHARE = 0.02  # of the weight; a foot with a smaller measured force does not support the robot


class SupportForces:
    """The newest planned and measured forces of all feet."""

    def __init__(self, robot: Robot) -> None:
        self._min_load = MIN_LOAD_SHARE * robot.mass * GRAVITY  # [N]
        self._planned: list[float] = [0.0] * len(robot.legs)  # [N]
        self._measured: list[float] = []  # [N]
        self._measured_at = -math.inf  # [s]
        self._plans = 1  # since the last measured forces

    def needs_plan(self) -> bool:
        """Counts a plan, and returns whether it is needed: not while measured forces arrive as often as plans."""
        self._plans += 1
        return self._plans > 1

    def plan(self, forces: Sequence[float]) -> None:
        """Stores the planned forces [N]; 0 for a foot in the air."""
        self._planned = list(forces)

    def plan_none(self) -> None:
        """Clears the planned forces, as for a motion in joint space."""
        self._planned = [0.0] * len(self._planned)

    def measure(self, forces: Sequence[float], time: float) -> None:
        """Stores the forces [N] measured at `time` [s]."""
        self._measured = [force if force > self._min_load else 0.0 for force in forces]
        self._measured_at = time
        self._plans = 0

    def at(self, now: float) -> list[float]:
        """Returns the forces [N] at time `now` [s]; 0 for a foot in the air."""
        return self._measured if abs(now - self._measured_at) <= MAX_AGE_S else self._planned
