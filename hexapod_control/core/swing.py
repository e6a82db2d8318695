"""The swing of a foot: how far it has come and how high it is, over its progress u in [0, 1].

The share is a quintic that starts and ends with zero speed and zero acceleration, taken RELATIVE TO THE
GROUND, so that the foot leaves and lands without scrubbing. The lift sin^2(pi u) has zero vertical speed at both ends.
"""

from __future__ import annotations

import math

PEAK_SHARE_SPEED = 1.875  # greatest d share / du, at u = 1/2
AIM_FROZEN = 0.8  # from this progress on the aim only rides with the ground, so that it cannot jump before touch-down


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
