"""Mishaps of a robot: falls, lifts, stuck legs, slipping feet."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class MishapKind(Enum):
    """Kind of a mishap."""

    FALLEN = "fallen"  # the attitude is beyond the limit for standing
    CARRIED = "carried"  # no foot bears load
    STUCK = "stuck"  # a leg does not follow its targets
    SLOWED = "slowed"  # feet slip, or a leg begins to lag: the robot walks slowly


@dataclass(frozen=True, slots=True)
class Mishap:
    """A mishap, and a message with its cause, place, values and remedy."""

    kind: MishapKind
    text: str
