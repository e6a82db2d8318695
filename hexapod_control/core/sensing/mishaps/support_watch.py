"""Detects whether the feet of a standing or walking robot bear load, and whether enough of them do."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.statics.static_stability import MIN_SUPPORTING_FEET

CARRIED_TIME_S = 0.4  # without load on any foot: longer than a hop after a push
LOADED_TIME_S = 0.2  # with load on MIN_SUPPORTING_FEET: the robot stands on its feet
AVERAGING_TIME_S = 2.0  # longer than a gait cycle
MAX_SHORTAGE = 0.6  # share of the time without load on MIN_SUPPORTING_FEET: above it, the body rests on an edge


class SupportWatch(Copyable):
    """Detects that the robot was lifted, or hangs on an edge.

    Sensors that have not reported enough load since the robot came to its feet are ignored: they may be broken.
    """

    def __init__(self) -> None:
        """Starts without load."""
        self._loaded = self._unloaded = 0.0  # [s] with load on enough feet, and without load
        self._shortage = 0.0  # mean share of the time without load on enough feet
        self._worked = False  # whether the sensors have reported load on enough feet
        self.known = False  # whether it is known which feet bear load

    def step(self, dt: float, loaded: Sequence[bool] | None, *, on_feet: bool) -> None:
        """Processes which feet bear load, `dt` [s] after the last time; None if unknown."""
        self.known = loaded is not None
        if loaded is None:
            self._loaded = self._unloaded = self._shortage = 0.0
            return
        supported = sum(loaded) >= MIN_SUPPORTING_FEET
        self._loaded = self._loaded + dt if supported else 0.0
        self._worked = on_feet and (self._worked or supported)
        self._unloaded = self._unloaded + dt if self._worked and not any(loaded) else 0.0
        change = float(not supported) - self._shortage
        self._shortage = self._shortage + min(1.0, dt / AVERAGING_TIME_S) * change if self._worked else 0.0

    @property
    def carried(self) -> bool:
        """True if no foot has borne load for CARRIED_TIME_S."""
        return self._unloaded > CARRIED_TIME_S

    @property
    def too_few_loaded(self) -> bool:
        """True if too few feet to stand on have borne load for most of the last AVERAGING_TIME_S."""
        return self._shortage > MAX_SHORTAGE

    @property
    def loaded(self) -> bool:
        """True if enough feet to stand on have borne load for LOADED_TIME_S."""
        return self._loaded > LOADED_TIME_S
