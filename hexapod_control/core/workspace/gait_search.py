# SPDX-License-Identifier: Apache-2.0
"""Search for the fastest gait of a robot with any number of legs.

The smaller the duty factor, the faster the gait. The cycle is divided into equal parts; every leg is in swing for the
same number of them, and lifts off at the start of one. For each share of the cycle in swing, from one half down, the
lift-offs with the greatest static margin are found; the first ones that keep a margin on full strides are used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache
from itertools import product

from hexapod_control.core.gait.gait_table import Gait, leg_sides
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.workspace.stance_regions import nominal_stance
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN, stride_margin

MAX_COMBINATIONS = 4096  # of lift-offs per share of the cycle; if there are more, only waves around the body are tried
MARGIN_DIGITS = 6  # rounding of margins [m]: equal ones must not differ by rounding errors

Parts = tuple[int, ...]
"""Part of the cycle at which each leg lifts off."""


def fastest_gait(robot: Robot, center: Point, max_duty: float) -> Gait | None:
    """The gait with the smallest duty factor that keeps a margin on full strides; None if that is not below `max_duty`.

    `center` is the center of mass (x, y) [m].
    """
    left, right = leg_sides(robot.legs)
    legs = left + right[::-1]  # around the body
    stance = nominal_stance(robot)
    feet = [stance.footholds[leg] for leg in legs]
    for share in _shares(len(legs)):
        duty_factor = float(1 - share)
        if duty_factor >= max_duty:
            return None
        parts = _best(feet, center, share)
        if parts is None:
            continue
        lift_off = [0.0] * len(legs)
        for leg, part in zip(legs, parts, strict=True):
            lift_off[leg] = part / share.denominator
        gait = Gait("fastest", duty_factor, tuple(lift_off))
        if stride_margin((gait,), stance, center, 1.0) >= MIN_STRIDE_MARGIN:
            return gait
    return None


def _shares(count: int) -> list[Fraction]:
    """Shares of the cycle in swing, greatest first; the cycle has at most as many parts as there are legs."""
    shares = {Fraction(swing, parts) for parts in range(2, count + 1) for swing in range(1, parts // 2 + 1)}
    return sorted(shares, reverse=True)


def _best(feet: Sequence[Point], center: Point, share: Fraction) -> Parts | None:
    """The lift-offs with the greatest margin, None if it is not positive; `feet` (n, 2) [m] are around the body."""

    @cache
    def margin(lifted: frozenset[int]) -> float:
        return round(static_margin([p for k, p in enumerate(feet) if k not in lifted], center), MARGIN_DIGITS)

    swing, count = share.numerator, share.denominator

    def least_margin(parts: Parts) -> float:
        return min(
            margin(frozenset(k for k, part in enumerate(parts) if (now - part) % count < swing)) for now in range(count)
        )

    best = max(_candidates(len(feet), count), key=least_margin)
    return best if least_margin(best) > 0.0 else None


def _candidates(legs: int, count: int) -> Iterator[Parts]:
    """All lift-offs in a cycle of `count` parts; if too many, those with equal times between the legs of a side."""
    if count ** (legs - 1) <= MAX_COMBINATIONS:
        yield from ((0, *rest) for rest in product(range(count), repeat=legs - 1))
        return
    half = (legs + 1) // 2
    for lag, between_sides in product(range(1, count), range(count)):
        yield tuple((lag * k + between_sides * (k >= half)) % count for k in range(legs))
