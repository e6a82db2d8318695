"""What a walk does when it comes near to tipping: slower first, then the body leans, then a gait with more support.

The static margin of every tick is held against the least one that is wanted. Each measure is used up before the next
begins; they are taken back in a calmer time, the gait excepted: it stays until another is asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hexapod_control.core.robot import Point

SLOWEST = 0.5  # share of the speed
SLOWING = 1.0  # [1/s]
LEANING = 0.02  # [m/s]
FARTHEST = 0.03  # [m] of the lean
CALM = 2.0  # [s] without want of margin, after which measures are taken back
TO_SPARE = 0.005  # [m] of margin more than wanted, for that
BACK = 0.25  # of the rates, for that


@dataclass(frozen=True, slots=True)
class MarginRecovery:
    """The measures in force."""

    least: float = 0.0  # [m] margin that is wanted; 0 takes no measures
    share: float = 1.0  # of the speed
    lean: Point = (0.0, 0.0)  # [m] shift of the body in base_footprint
    calm: float = 0.0  # [s] since the margin was last too small, or looked at
    lowest: float = math.inf  # [m] margin in that time

    @property
    def exhausted(self) -> bool:
        """True if neither slower nor leaning farther is left."""
        return self.share <= SLOWEST and math.hypot(*self.lean) >= FARTHEST - 1e-9

    def after(self, dt: float, margin: float, inward: Point) -> MarginRecovery:
        """The measures `dt` [s] later for a margin [m]; `inward` is the unit vector away from the nearest edge."""
        if margin >= self.least:
            return self._calmer(dt, margin)
        if self.share > SLOWEST:
            return replace(self, share=max(SLOWEST, self.share - SLOWING * dt), calm=0.0, lowest=math.inf)
        x, y = self.lean[0] + LEANING * dt * inward[0], self.lean[1] + LEANING * dt * inward[1]
        size = math.hypot(x, y)
        factor = FARTHEST / size if size > FARTHEST else 1.0
        return replace(self, lean=(factor * x, factor * y), calm=0.0, lowest=math.inf)

    def _calmer(self, dt: float, margin: float) -> MarginRecovery:
        calm, lowest = self.calm + dt, min(self.lowest, margin)
        if calm < CALM or (self.share >= 1.0 and self.lean == (0.0, 0.0)):
            return replace(self, calm=calm, lowest=lowest)
        if lowest < self.least + TO_SPARE:
            return replace(self, calm=0.0, lowest=math.inf)
        size = math.hypot(*self.lean)
        if size > 0.0:
            factor = max(0.0, 1.0 - BACK * LEANING * dt / size)
            return replace(self, lean=(factor * self.lean[0], factor * self.lean[1]), calm=calm, lowest=lowest)
        return replace(self, share=min(1.0, self.share + BACK * SLOWING * dt), calm=calm, lowest=lowest)
