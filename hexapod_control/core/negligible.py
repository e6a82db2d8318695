"""Numbers too small to mean anything: rounding, or a denormal number whose inverse overflows."""

from __future__ import annotations

NEGLIGIBLE = 1e-9
"""Smaller magnitudes count as 0 in parameters and files: no quantity there is that small, in any of its units."""


def without_negligible(value: float) -> float:
    """The value, 0 if it is negligible."""
    return value if abs(value) >= NEGLIGIBLE or value != value else 0.0
