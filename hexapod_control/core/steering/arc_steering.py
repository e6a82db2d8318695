"""Steering by distance and curvature, as a twist.

Source: "Building a hexapod from scratch, part 8: improved motion maths". There x points right and z forward;
here x is forward and y left (REP-103): article x = -y, article z = x. With its turn radius R > 0 the centre
of the turn lies at article x = R, to the right, so that going forward turns clockwise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.kinematics.se2 import Twist

MAX_CURVATURE = 1.999
MIN_CURVATURE = 0.001


def turn_radius(distance: float, curvature: float) -> float:
    """Radius of the body's turn [m] for the outermost foot's travel per stance [m]; + is to the right.

    Curvature is clamped to +-1.999 (on the spot) and taken as +-0.001 below that (almost straight).
    """
    size = min(max(abs(curvature), MIN_CURVATURE), MAX_CURVATURE)
    return math.copysign(math.tan((2.0 - size) * math.pi / 4.0) * abs(distance), curvature)


def arc_angle(distance: float, radius: float, feet: Sequence[tuple[float, float]]) -> float:
    """Angle [rad] all feet travel in one stance such that the outermost one travels `distance` [m].

    `feet` are the neutral footholds (x, y) [m] in base_footprint. + drives forward.
    """
    outermost = max(math.hypot(radius + y, x) for x, y in feet)
    return math.copysign(distance / outermost, distance * radius)


def twist(distance: float, curvature: float, feet: Sequence[tuple[float, float]], stance_time: float) -> Twist:
    """The body's twist for `distance` [m] (of the outermost foot per stance; < 0 is backwards) and curvature."""
    radius = turn_radius(distance, curvature)
    rate = arc_angle(distance, radius, feet) / stance_time
    return Twist(rate * radius, 0.0, -rate)
