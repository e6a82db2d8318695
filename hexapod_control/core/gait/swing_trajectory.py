"""The swing of a foot: how far it has come and how high it is, over its progress u in [0, 1].

The share is a quintic that starts and ends with zero speed and zero acceleration, taken RELATIVE TO THE
GROUND, so that the foot leaves and lands without scrubbing. The lift sin^2(pi u) has zero vertical speed at both ends.
"""

from __future__ import annotations

import math
from typing import NamedTuple

PEAK_SHARE_SPEED = 1.875  # greatest d share / du, at u = 1/2
AIM_FROZEN = 0.8  # from this progress on the aim only rides with the ground, so that it cannot jump before touch-down


class SwingTiming(NamedTuple):
    """Progress of a swing at which its parts begin and end; as it stands here it is the smooth one over flat ground."""

    off: float = 0.0  # the foot sets off over the ground
    there: float = 1.0  # it is over its aim
    up: float = 0.5  # it is at its top; it does not stay there, as it may still be rising from low ground
    down: float = 1.0  # it is down

    def towards(self, other: SwingTiming, part: float) -> SwingTiming:
        """The timing a part (0 to 1) of the way to another one."""
        return SwingTiming(*(a + part * (b - a) for a, b in zip(self, other, strict=True)))

    def travelled(self, u: float) -> float:
        """Share of the way over the ground at progress u."""
        return share(max(0.0, u - self.off) / (self.there - self.off))

    def lifted(self, u: float) -> float:
        """Progress at which the smooth swing is as high, and on the same side of its top."""
        return 0.5 * u / self.up if u < self.up else 0.5 + 0.5 * (u - self.up) / (self.down - self.up)


SMOOTH = SwingTiming()


def share(u: float) -> float:
    """Share of the way from lift-off to the aim at progress u; 1 from u = 1 on."""
    if u >= 1.0:
        return 1.0
    return u * u * u * (10.0 + u * (6.0 * u - 15.0))


def lift(u: float, height: float) -> float:
    """Height of the foot above the ground [m] at progress u for a swing of this height [m]."""
    if u >= 1.0:
        return 0.0
    s = math.sin(math.pi * u)
    return height * s * s
