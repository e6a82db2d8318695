"""Left and right legs in order along the body, by the positions of their hips, not by their names or rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.robot import Leg

CENTERLINE = 0.001  # [m] half the width of the strip that is neither left nor right
SAME_ANGLE = 1e-6  # [rad] more than the rounding error of the angle of a leg straight ahead


def leg_sides(legs: Sequence[Leg]) -> tuple[list[int], list[int]]:
    """Rows of the left and of the right legs, front to rear on each side.

    Legs in two rows, at most one more on one side, are ordered along x. Any others, for instance a leg straight ahead
    with the rest around the body, are ordered by angle: the first half from the front over the left is the left side.
    """
    across = list(enumerate(map(_across, legs)))
    sides = [row for row, y in across if y > CENTERLINE], [row for row, y in across if y < -CENTERLINE]
    if sum(map(len, sides)) == len(legs) and abs(len(sides[0]) - len(sides[1])) <= 1:
        left, right = (sorted(side, key=lambda row: _along(legs[row])) for side in sides)
        return left, right
    center = [math.fsum(leg.hip[axis] for leg in legs) / len(legs) for axis in (0, 1)]

    def angle(row: int) -> float:
        x, y, _ = legs[row].hip
        return (math.atan2(y - center[1], x - center[0]) + SAME_ANGLE) % math.tau

    around = sorted(range(len(legs)), key=angle)
    half = (len(legs) + 1) // 2
    return around[:half], around[: half - 1 : -1]


def _across(leg: Leg) -> float:
    """Lateral position [m] of the hip, + left; of the foothold if the hip is on the centerline."""
    return leg.hip[1] if abs(leg.hip[1]) > CENTERLINE else leg.foothold[1]


def _along(leg: Leg) -> tuple[float, float]:
    """Sort key from front to rear: x of the hip, then of the foothold."""
    return -round(leg.hip[0], 6), -leg.foothold[0]
