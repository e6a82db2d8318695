"""Converts a travel and a curvature to a twist.

Source: "Building a hexapod from scratch, part 8: improved motion maths". There x points right and z forward; here x is
forward and y left (REP 103): article x = -y, article z = x. A turn radius > 0 has its center on the right, so that
walking forward turns clockwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.kinematics.se2 import Twist

MAX_CURVATURE = 1.999  # a turn on the spot
MIN_CURVATURE = 0.001  # almost straight


def turn_radius(distance: float, curvature: float) -> float:
    """Returns the turn radius of the body [m] for the travel [m] of the outermost foot per stance; + is to the right.

    The absolute curvature is clamped to MIN_CURVATURE and MAX_CURVATURE.
    """
    size = min(max(abs(curvature), MIN_CURVATURE), MAX_CURVATURE)
    return math.copysign(math.tan((2.0 - size) * math.pi / 4.0) * abs(distance), curvature)


def arc_angle(distance: float, radius: float, feet: Sequence[tuple[float, float]]) -> float:
    """Returns the angle [rad] of the arc in one stance on which the outermost foot travels `distance` [m].

    `radius` [m] as from `turn_radius`, `feet` are the neutral footholds (x, y) [m] in base_footprint.
    """
    outermost = max(math.hypot(radius + y, x) for x, y in feet)
    return math.copysign(distance / outermost, distance * radius)


def twist(distance: float, curvature: float, feet: Sequence[tuple[float, float]], stance_time: float) -> Twist:
    """Returns the twist for a curvature and a `distance` [m] of the outermost foot per stance (< 0: backwards)."""
    radius = turn_radius(distance, curvature)
    rate = arc_angle(distance, radius, feet) / stance_time
    return Twist(rate * radius, 0.0, -rate)
