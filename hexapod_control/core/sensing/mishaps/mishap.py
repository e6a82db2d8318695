"""Mishaps as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class MishapKind(Enum):
    """What has happened to the robot."""

    FALLEN = "fallen"  # its attitude is beyond what it can stand in
    CARRIED = "carried"  # no foot bears load
    STUCK = "stuck"  # a leg does not go where it is sent
    SLOWED = "slowed"  # feet slip, or a leg begins to lag behind: the robot walks slowly


@dataclass(frozen=True, slots=True)
class Mishap:
    """A mishap, with a sentence that names what, where, the value and the remedy."""

    kind: MishapKind
    text: str
