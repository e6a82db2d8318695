# SPDX-License-Identifier: Apache-2.0
"""Least-squares fits of points, such as feet: the plane z = a x + b y + c, and a planar motion between two sets.

For the motion the best rotation follows from sums of dot and cross products: see
docs/architecture/walking-mathematics.md, "Taking over a standing robot". Source: W. Kabsch, see docs/links.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.robot import Point, Vector

MIN_POINTS = 3  # that define a plane
MIN_SPREAD = 1e-3  # 1 - r^2, with the correlation r of the points' x and y; below it they count as collinear


def fit_plane(
    points: Sequence[Vector], weights: Sequence[float] | None = None, min_spread: float = MIN_SPREAD
) -> tuple[float, float, float] | None:
    """(a, b, c) [1, 1, m] of the plane z = a x + b y + c that fits points [m] in (weighted) least squares.

    None for fewer than three or collinear points (see MIN_SPREAD). Solves the 2 x 2 normal equations
    about the mean.
    """
    if len(points) < MIN_POINTS:
        return None
    weighted = (
        [(1.0, *p) for p in points] if weights is None else [(w, *p) for w, p in zip(weights, points, strict=True)]
    )
    total = sum(w for w, _, _, _ in weighted)
    mx, my, mz = (sum(row[0] * row[axis] for row in weighted) / total for axis in (1, 2, 3))
    xx = sum(w * (x - mx) ** 2 for w, x, _, _ in weighted)
    yy = sum(w * (y - my) ** 2 for w, _, y, _ in weighted)
    xy = sum(w * (x - mx) * (y - my) for w, x, y, _ in weighted)
    xz = sum(w * (x - mx) * (z - mz) for w, x, _, z in weighted)
    yz = sum(w * (y - my) * (z - mz) for w, _, y, z in weighted)
    determinant = xx * yy - xy * xy
    if determinant <= min_spread * xx * yy or determinant == 0.0:
        return None
    a = (xz * yy - yz * xy) / determinant
    b = (yz * xx - xz * xy) / determinant
    return a, b, mz - a * mx - b * my


def attitude_over_feet(centers: Sequence[Vector], foot_radius: float) -> BodyPose | None:
    """Height z [m], roll and pitch [rad] of base_link over the plane on which feet stand; None as for `fit_plane`.

    `centers` [m] are the ball centers of the standing feet in base_link.
    """
    plane = fit_plane(centers)
    if plane is None:
        return None
    a, b, c = plane
    # The ground's normal in base_link is the last row of the rotation base_link -> base_footprint.
    length = math.sqrt(a * a + b * b + 1.0)
    nx = -a / length
    ny = -b / length
    nz = 1.0 / length
    return BodyPose(z=foot_radius - c * nz, roll=math.atan2(ny, nz), pitch=math.asin(-nx))


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
