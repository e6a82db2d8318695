# SPDX-License-Identifier: Apache-2.0
"""Whether a map lies beside the ground that the feet feel: heights of touch-downs, compared with a shifted map.

With e(s) the distance in height between a foot that touches down and the map, shifted by s, each touch-down supports
the hypothesis of a shift by the difference of log-likelihoods

    l(s) = (min(e(0)^2, E^2) - min(e(s)^2, E^2)) / (2 sigma^2)

with the deviation sigma of a foot on a map that fits, and E as the limit of what one touch-down may say. The sum over
the last COUNT touch-downs is compared with EVIDENCE, above the logarithm of the number of shifts tried. Even ground
supports no shift, whatever it is; steps tell it within a few gait cycles.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Vector
from hexapod_control.core.terrain.ground_view import GroundView

SIGMA = 0.008  # [m] deviation of the heights of touch-downs on a map that fits
LIMIT = 0.025  # [m] distance in height up to which a touch-down counts
LARGEST_SHIFT = 0.12  # [m] shift
SMALLEST_SHIFT = 0.029  # [m] shift: a smaller one does no harm, as feet keep away from edges
COUNT = 24  # touch-downs that are compared
KNOWN = 18  # of them, of which the ground is known after a shift
EVIDENCE = 8.0  # log-likelihood from which a map is shifted ...
FITS = 4.0  # ... and up to which it fits


@lru_cache(maxsize=8)
def _far(cells: int, cell: float) -> NDArray[np.bool_]:
    """Which shifts (n, n) by up to some cells [m] are large enough to matter."""
    steps = cell * np.arange(-cells, cells + 1)
    return np.hypot(*np.meshgrid(steps, steps)) >= SMALLEST_SHIFT


class MapShift(Copyable):
    """The evidence of the last touch-downs."""

    def __init__(self) -> None:
        """Knows of none."""
        self._supports: tuple[Array, ...] = ()  # (n, n) l(s) of each touch-down, rows along y
        self._cell = 0.0  # [m]
        self.evidence = 0.0  # for the best of all shifts

    def forget(self) -> None:
        """Forgets all touch-downs."""
        self._supports = ()
        self.evidence = 0.0

    def touch(self, view: GroundView, foot: Vector) -> None:
        """Processes a foot (x, y, z) [m] in base_footprint that touches down."""
        x, y, z = view.to_odom(*foot)
        cell = view.grid.cell
        heights, _, _ = view.grid.window(x, y, LARGEST_SHIFT)
        cells = len(heights) // 2
        here = heights.item(cells, cells) - z
        if not math.isfinite(here):
            return
        if cell != self._cell:
            self.forget()
            self._cell = cell
        with np.errstate(invalid="ignore"):
            support = (min(here * here, LIMIT**2) - np.minimum((heights - z) ** 2, LIMIT**2)) / (2.0 * SIGMA**2)
        self._supports = (*self._supports, support)[-COUNT:]
        if len(self._supports) < COUNT:
            return
        supports = np.array(self._supports)
        known = np.isfinite(supports)
        usable = _far(cells, cell) & (known.sum(axis=0) >= KNOWN)
        self.evidence = float(np.where(usable, np.where(known, supports, 0.0).sum(axis=0), 0.0).max())
