"""Mishaps as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class MishapKind(Enum):
    """Kinds of mishaps."""

    FALLEN = "fallen"  # the attitude is beyond the limit for standing
    CARRIED = "carried"  # no foot bears load
    STUCK = "stuck"  # a leg does not follow its targets
    SLOWED = "slowed"  # feet slip, or a leg begins to lag: the robot walks slowly


@dataclass(frozen=True, slots=True)
class Mishap:
    """A mishap, with a message: what, where, value and remedy."""

    kind: MishapKind
    text: str
