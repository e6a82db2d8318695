"""Least-squares planar motion between two sets of points, such as the feet in two samples of the joints.

In the plane the best rotation follows from sums of dot and cross products: see
docs/architecture/walking-mathematics.md, "Taking over a standing robot". Source: W. Kabsch, see docs/links.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.robot import Point


def fit_rigid(
    points: Sequence[Point], targets: Sequence[Point], weights: Sequence[float] | None = None, yaw: float | None = None
) -> Pose:
    """The rigid motion that maps points [m] to their targets [m] in (weighted) least squares.

    `yaw` [rad] is its rotation, if that is known: then only the translation is fitted.
    """
    weights = weights if weights is not None else (1.0,) * len(points)
    total = math.fsum(weights)
    (px, py), (tx, ty) = (
        [math.fsum(w * place[axis] for w, place in zip(weights, places, strict=True)) / total for axis in (0, 1)]
        for places in (points, targets)
    )
    if yaw is None:
        # The weighted deviations of the points sum to zero, so the targets need no centering.
        pairs = [(w * (x - px), w * (y - py), u, v) for w, (x, y), (u, v) in zip(weights, points, targets, strict=True)]
        cross = math.fsum(x * v - y * u for x, y, u, v in pairs)
        dot = math.fsum(x * u + y * v for x, y, u, v in pairs)
        yaw = math.atan2(cross, dot)
    x, y = Pose(0.0, 0.0, yaw).apply(px, py)
    return Pose(tx - x, ty - y, yaw)
