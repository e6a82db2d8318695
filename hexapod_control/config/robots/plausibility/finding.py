"""What a rule finds implausible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.robot import Leg, Robot


@dataclass(frozen=True, slots=True)
class Finding:
    """A value that is hardly right: key, value, what a real robot has, and what to change."""

    key: str  # dotted; below the leg's section if there is a leg
    value: str  # "is 17"
    bound: str  # what is usual
    remedy: str
    leg: str = ""  # name; empty for a key of the whole robot


@dataclass(frozen=True, slots=True)
class Described:
    """What the rules look at: the robot, and the model of every leg's servos by the name in the file."""

    robot: Robot
    models: tuple[str, ...]


def listed(values: Sequence[float]) -> str:
    """A list of a robot file."""
    return "[" + ", ".join(f"{value:.4g}" for value in values) + "]"


def neutral_coxa(leg: Leg) -> float:
    """Angle [rad] of the coxa joint with the foot on its neutral foothold."""
    x, y = leg.foothold[0] - leg.hip[0], leg.foothold[1] - leg.hip[1]
    aside = max(-1.0, min(1.0, leg.femur_lateral / max(math.hypot(x, y), 1e-9)))
    return math.remainder(math.atan2(y, x) - leg.hip_yaw - math.asin(aside), math.tau)
