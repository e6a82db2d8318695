"""Cache of motions that have passed a rehearsal: when they are played again, they start at once."""

from __future__ import annotations

from hexapod_control.core.motions.motion_player import RehearsedMotion
from hexapod_control.core.motions.motion_steps import Choreography

MAX_REHEARSED = 32


class RehearsedMotions:
    """The last MAX_REHEARSED motions by name, of one robot."""

    def __init__(self) -> None:
        self._motions: dict[str, RehearsedMotion] = {}

    def add(self, rehearsed: RehearsedMotion) -> None:
        """Stores a motion; it replaces the one with its name, or the oldest one if the cache is full."""
        self._motions.pop(rehearsed.motion.name, None)
        self._motions[rehearsed.motion.name] = rehearsed
        if len(self._motions) > MAX_REHEARSED:
            del self._motions[next(iter(self._motions))]

    def find(self, motion: Choreography) -> RehearsedMotion | None:
        """The rehearsed motion; None if it is not stored, or if its steps have changed since."""
        known = self._motions.get(motion.name)
        return known if known is not None and known.motion == motion else None
