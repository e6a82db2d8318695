"""Detects whether the feet of a standing or walking robot bear load."""

from __future__ import annotations

from collections.abc import Sequence

CARRIED_TIME_S = 0.4  # without load on any foot: longer than a hop after a push
LOADED_TIME_S = 0.2  # with load on MIN_LOADED_FEET: the robot stands again
MIN_LOADED_FEET = 3


class SupportWatch:
    """Detects that the robot was lifted.

    Sensors that have never reported load on these feet are ignored: they may be broken.
    """

    __slots__ = ("_loaded", "_unloaded", "_worked", "known")

    def __init__(self) -> None:
        """Starts without load."""
        self._loaded = self._unloaded = 0.0  # [s] with load on enough feet, and without load
        self._worked = False
        self.known = False  # which feet bear load

    def step(self, dt: float, loaded: Sequence[bool] | None, *, on_feet: bool) -> None:
        """Takes which feet bear load, `dt` [s] after the last time; None if unknown."""
        self.known = loaded is not None
        if loaded is None:
            self._loaded = self._unloaded = 0.0
            return
        enough = sum(loaded) >= MIN_LOADED_FEET
        self._loaded = self._loaded + dt if enough else 0.0
        self._worked = on_feet and (self._worked or enough)
        self._unloaded = self._unloaded + dt if self._worked and not any(loaded) else 0.0

    @property
    def carried(self) -> bool:
        """True if no foot has borne load for CARRIED_TIME_S."""
        return self._unloaded > CARRIED_TIME_S

    @property
    def loaded(self) -> bool:
        """True if enough feet to stand on have borne load for LOADED_TIME_S."""
        return self._loaded > LOADED_TIME_S
