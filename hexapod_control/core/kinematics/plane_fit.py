"""The plane that feet on uneven ground stand on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

FEWEST = 3  # feet that make a plane


class SupportPlane(Protocol):
    """A foot at a place [m]."""

    x: float
    y: float
    z: float


def fit_plane(feet: Sequence[SupportPlane]) -> tuple[float, float, float] | None:
    """(a, b, c) of the least-squares plane z = a x + b y + c [m] through feet; None for too few, or in line."""
    if len(feet) < FEWEST:
        return None
    n = len(feet)
    mx, my, mz = sum(f.x for f in feet) / n, sum(f.y for f in feet) / n, sum(f.z for f in feet) / n
    xx = sum((f.x - mx) ** 2 for f in feet)
    yy = sum((f.y - my) ** 2 for f in feet)
    xy = sum((f.x - mx) * (f.y - my) for f in feet)
    xz = sum((f.x - mx) * (f.z - mz) for f in feet)
    yz = sum((f.y - my) * (f.z - mz) for f in feet)
    determinant = xx * yy - xy * xy
    if determinant <= 1e-3 * xx * yy or determinant == 0.0:
        return None
    a, b = (xz * yy - yz * xy) / determinant, (yz * xx - xz * xy) / determinant
    return a, b, mz - a * mx - b * my
