"""What a walk does when it comes near to tipping: slower first, then the body leans, then a gait with more support.

The static margin of every tick is held against the least one that is wanted. While it is smaller,
1. the walk slows down, to SLOWEST_SHARE of its speed;
2. then the body leans away from the nearest edge of the support polygon, by MAX_LEAN at most;
3. then, at most every GAIT_CHANGE_INTERVAL_S, a gait with the next greater duty factor is taken.
Each measure is used up before the next begins. After SETTLED_TIME_S with RELEASE_MARGIN to spare they are taken back in
reverse order and more slowly, the gait excepted: it stays until another is asked for.
See docs/architecture/walking-mathematics.md, "Static stability and margin recovery".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.robot import Point

SLOWEST_SHARE = 0.5  # share of the speed
SLOWING_RATE = 1.0  # [1/s]
LEAN_SPEED = 0.02  # [m/s]
MAX_LEAN = 0.03  # [m]
SETTLED_TIME_S = 2.0  # with sufficient margin, after which measures are taken back
RELEASE_MARGIN = 0.005  # [m] of margin more than wanted, for that
RELEASE_RATE = 0.25  # of the rates, for that
LEAN_STEP = 0.002  # [m] of lean at which the body is asked to follow
GAIT_CHANGE_INTERVAL_S = 3.0  # between two gaits that a small margin asks for


@dataclass(frozen=True, slots=True)
class RecoveryMeasures:
    """The measures in force."""

    least: float = 0.0  # [m] margin that is wanted; 0 takes no measures
    speed_share: float = 1.0  # of the speed
    lean: Point = (0.0, 0.0)  # [m] shift of the body in base_footprint
    settled: float = 0.0  # [s] since the margin was last too small, or looked at
    lowest: float = math.inf  # [m] margin in that time

    @property
    def exhausted(self) -> bool:
        """True if neither slower nor leaning farther is left."""
        return self.speed_share <= SLOWEST_SHARE and math.hypot(*self.lean) >= MAX_LEAN - 1e-9

    def after(self, dt: float, margin: float, inward: Point) -> RecoveryMeasures:
        """The measures `dt` [s] later for a margin [m]; `inward` is the unit vector away from the nearest edge."""
        if margin >= self.least:
            return self._relaxed(dt, margin)
        if self.speed_share > SLOWEST_SHARE:
            share = max(SLOWEST_SHARE, self.speed_share - SLOWING_RATE * dt)
            return replace(self, speed_share=share, settled=0.0, lowest=math.inf)
        x, y = self.lean[0] + LEAN_SPEED * dt * inward[0], self.lean[1] + LEAN_SPEED * dt * inward[1]
        size = math.hypot(x, y)
        factor = MAX_LEAN / size if size > MAX_LEAN else 1.0
        return replace(self, lean=(factor * x, factor * y), settled=0.0, lowest=math.inf)

    def _relaxed(self, dt: float, margin: float) -> RecoveryMeasures:
        """The measures `dt` [s] later if the margin [m] is large enough."""
        settled, lowest = self.settled + dt, min(self.lowest, margin)
        if settled < SETTLED_TIME_S or (self.speed_share >= 1.0 and self.lean == (0.0, 0.0)):
            return replace(self, settled=settled, lowest=lowest)
        if lowest < self.least + RELEASE_MARGIN:
            return replace(self, settled=0.0, lowest=math.inf)
        size = math.hypot(*self.lean)
        if size > 0.0:
            factor = max(0.0, 1.0 - RELEASE_RATE * LEAN_SPEED * dt / size)
            return replace(self, lean=(factor * self.lean[0], factor * self.lean[1]), settled=settled, lowest=lowest)
        share = min(1.0, self.speed_share + RELEASE_RATE * SLOWING_RATE * dt)
        return replace(self, speed_share=share, settled=settled, lowest=lowest)


class MarginRecovery:
    """Holds the measures, and when body and gait are to follow them."""

    __slots__ = ("_since_gait_change", "measures", "requested_lean")

    def __init__(self) -> None:
        """No measures."""
        self.measures = RecoveryMeasures()
        self.requested_lean: Point = (0.0, 0.0)  # [m] that the body was asked for
        self._since_gait_change = 0.0  # [s]

    def set_least_margin(self, margin: float) -> None:
        """Sets the margin [m] that is wanted from now on; 0 takes no measures."""
        self.measures = replace(self.measures, least=margin)

    def update(self, dt: float, margin: float, inward: Point) -> bool:
        """Takes the margin [m] of the last tick; True if the body is to follow another `requested_lean`."""
        self.measures = self.measures.after(dt, margin, inward)
        lean = self.measures.lean
        if math.dist(lean, self.requested_lean) > LEAN_STEP or (lean == (0.0, 0.0) != self.requested_lean):
            self.requested_lean = lean
            return True
        return False

    def safer_gait(self, dt: float, margin: float, gait: Gait, gaits: Iterable[Gait]) -> Gait | None:
        """The gait with the next greater duty factor if nothing else is left for a margin [m]; else None."""
        self._since_gait_change += dt
        measures = self.measures
        if not measures.exhausted or margin >= measures.least or self._since_gait_change <= GAIT_CHANGE_INTERVAL_S:
            return None
        self._since_gait_change = 0.0
        safer = (other for other in gaits if other.duty_factor > gait.duty_factor)
        return min(safer, key=lambda other: other.duty_factor, default=None)
