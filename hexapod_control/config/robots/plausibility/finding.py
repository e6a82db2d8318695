# SPDX-License-Identifier: Apache-2.0
"""Findings of the plausibility rules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.robot import Leg, Robot


@dataclass(frozen=True, slots=True)
class Finding:
    """An implausible value: key, value, usual values, and remedy."""

    key: str  # dotted; below the leg's section if there is a leg
    value: str  # "is 17"
    bound: str  # usual values
    remedy: str
    leg: str = ""  # name; empty for a key of the whole robot
    rule: str = ""  # that has found it


@dataclass(frozen=True, slots=True)
class CheckedRobot:
    """Input of the rules: the robot, and the servo model of each leg as named in the file."""

    robot: Robot
    models: tuple[str, ...]
    chosen: frozenset[str] = frozenset()  # names of the legs whose foothold is chosen, as the file has none

    @property
    def middle(self) -> tuple[float, float]:
        """Middle [m] of the hips, seen from above."""
        x, y, _ = zip(*(leg.hip for leg in self.robot.legs), strict=True)
        return (min(x) + max(x)) / 2.0, (min(y) + max(y)) / 2.0


def listed(values: Sequence[float]) -> str:
    """Values as a YAML list."""
    return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"


def neutral_coxa(leg: Leg) -> float:
    """Angle [rad] of the coxa joint with the foot on its neutral foothold."""
    x = leg.foothold[0] - leg.hip[0]
    y = leg.foothold[1] - leg.hip[1]
    aside = max(-1.0, min(1.0, leg.femur_lateral / max(math.hypot(x, y), 1e-9)))
    return math.remainder(math.atan2(y, x) - leg.hip_yaw - math.asin(aside), math.tau)
