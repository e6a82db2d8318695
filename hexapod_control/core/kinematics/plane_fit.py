"""The least-squares plane through points, as feet on uneven ground stand on it: z = a x + b y + c."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.core.robot import Vector

FEWEST_POINTS = 3  # that make a plane
LEAST_SPREAD = 1e-3  # 1 - r^2 of the points' x and y: below it they are as good as in line


def fit_plane(points: Sequence[Vector]) -> tuple[float, float, float] | None:
    """(a, b, c) [1, 1, m] of the least-squares plane z = a x + b y + c through points [m].

    None for fewer than three points, or points in line. Solves the 2 x 2 normal equations about the mean.
    """
    n = len(points)
    if n < FEWEST_POINTS:
        return None
    mx, my, mz = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n, sum(p[2] for p in points) / n
    xx = sum((p[0] - mx) ** 2 for p in points)
    yy = sum((p[1] - my) ** 2 for p in points)
    xy = sum((p[0] - mx) * (p[1] - my) for p in points)
    xz = sum((p[0] - mx) * (p[2] - mz) for p in points)
    yz = sum((p[1] - my) * (p[2] - mz) for p in points)
    determinant = xx * yy - xy * xy
    if determinant <= LEAST_SPREAD * xx * yy or determinant == 0.0:
        return None
    a, b = (xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant
    return a, b, mz - a * mx - b * my
