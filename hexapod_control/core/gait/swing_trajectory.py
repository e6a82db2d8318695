# SPDX-License-Identifier: Apache-2.0
"""The swing trajectory of a foot: travel and height over the progress u in [0, 1].

Travel is a quintic that starts and ends with zero speed and zero acceleration, taken RELATIVE TO THE GROUND, so that
the foot leaves and lands without scrubbing: s(u) = u^3 (10 - 15 u + 6 u^2). The height is h sin^2(pi u), with zero
vertical speed at both ends. See docs/architecture/walking-mathematics.md, "Swing".
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array

PEAK_TRAVEL_SPEED = 1.875  # maximum of d smooth_travel / du, at u = 1/2
LEAD_TOP = 0.7  # progress at which a foot leads its aim most
AIM_FROZEN = 0.8  # progress from which the aim is fixed in the world, so that it does not jump before touch-down


class SwingTiming(NamedTuple):
    """Progress at which the parts of a swing begin and end; the default is a smooth swing over flat ground."""

    travel_start: float = 0.0  # start of the travel over the ground
    travel_end: float = 1.0  # end of the travel: the foot is over its aim
    top: float = 0.5  # highest point; the foot does not stop there, it may still be rising from low ground
    descent_end: float = 1.0  # from here on the height is 0

    @property
    def searches_ground(self) -> bool:
        """True if the travel ends before the swing, so that the foot can search the ground below its aim."""
        return self.travel_end < 1.0

    def towards(self, other: SwingTiming, part: float) -> SwingTiming:
        """Interpolates between this timing (part 0) and another one (part 1)."""
        return SwingTiming(*(a + part * (b - a) for a, b in zip(self, other, strict=True)))

    def travel_share(self, u: float) -> float:
        """Share of the travel over the ground at progress u."""
        if self is SMOOTH:  # a short cut
            return smooth_travel(u)
        return smooth_travel(max(0.0, u - self.travel_start) / (self.travel_end - self.travel_start))

    def lead_share(self, u: float) -> float:
        """Share of the lead at progress u, see `lead`."""
        return lead(max(0.0, u - self.travel_start) / (self.travel_end - self.travel_start))

    def lift_progress(self, u: float) -> float:
        """Progress at which the smooth swing has the height that this one has at progress u."""
        if self is SMOOTH:
            return u
        return 0.5 * u / self.top if u < self.top else 0.5 + 0.5 * (u - self.top) / (self.descent_end - self.top)


SMOOTH = SwingTiming()


def smooth_travel(u: float) -> float:
    """Share (0 to 1) of a travel from rest to rest at progress u: s(u) = u^3 (10 - 15 u + 6 u^2), 1 for u >= 1."""
    return 1.0 if u >= 1.0 else u * u * u * (10.0 + u * (6.0 * u - 15.0))


def lead(u: float) -> float:
    """Share (0 to 1) of the lead over the aim at progress u: it rises until LEAD_TOP and is gone at u = 1."""
    if u >= 1.0:
        return 0.0
    return smooth_travel(u / LEAD_TOP) if u < LEAD_TOP else 1.0 - smooth_travel((u - LEAD_TOP) / (1.0 - LEAD_TOP))


def lift(u: float, height: float) -> float:
    """Height [m] of the foot above the ground at progress u of a swing with this maximum height [m]."""
    if u >= 1.0:
        return 0.0
    s = math.sin(math.pi * u)
    return height * s * s


def steady_position(since: float, stance: float) -> float:
    """Position of a foot relative to the body in steady walking, in half strides ahead of its stride center.

    `since` is the time since its lift-off, `stance` the duration of a stance [swing times].
    """
    travelled = smooth_travel(since) * (1.0 + stance) - since
    return 2.0 * travelled / stance - 1.0


def travel_and_lift(u: Array) -> tuple[Array, Array]:
    """`smooth_travel` and `lift` of a swing of height 1 for many values of the progress in [0, 1], for tables."""
    return u**3 * (10.0 + u * (6.0 * u - 15.0)), np.sin(math.pi * u) ** 2
