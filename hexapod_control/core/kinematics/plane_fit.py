"""Least-squares plane through points, such as feet on uneven ground: z = a x + b y + c."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Vector

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
