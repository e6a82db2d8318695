# SPDX-License-Identifier: Apache-2.0
"""How far a surface covers the cells at its edges: a cell that it covers by less than half does not belong to it.

A sensor that looks obliquely sees the top of a block up to its far edge, and nothing behind it. If every cell with a
point of the top were part of it, the top would end half a cell too far on average, and another one with the flying
pixels at its edge, always away from the sensor. But such cells have fewer points than their neighbours, as these are
in view at the same time: the share of a cell that is covered is their ratio.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array

LEAST_COVER = 0.5  # of a cell
KEPT_SHARE = 0.97  # of the points with each scan
MOST_CELLS = 2  # by which a surface can be too large
EDGE_DROP = 0.02  # [m] by which the ground beyond an edge is lower at least


class CellCover:
    """How many points of the ground each cell has had, in a ring of `cells` x `cells`."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._points = np.zeros(cells * cells)

    def forget(self, cells: NDArray[np.bool_]) -> None:
        """Forgets the points in cells of the flat ring."""
        self._points[cells] = 0.0

    def note(self, cells: NDArray[np.intp], counts: Array) -> None:
        """Takes how many points (k,) of a scan lie in its cells (k,)."""
        self._points *= KEPT_SHARE
        self._points[cells] += counts

    def partial(self, ground: Array) -> NDArray[np.intp]:
        """Which cells (k,) of flat heights (n * n,) [m] are covered by less than LEAST_COVER, at the end of a surface.

        A surface ends where the next cell is lower; where that is unknown, it may go on.
        """
        size = self._cells
        heights = ground.reshape(size, size)
        lines = []  # rows and columns of cells at an end, and of the next ones on the surface
        for axis, step in enumerate(np.eye(2, dtype=np.intp)):
            fall = heights - np.roll(heights, -1, axis)
            down = np.argwhere(fall > EDGE_DROP)  # False with NaN
            up = np.argwhere(fall < -EDGE_DROP) + step
            lines += [np.stack((down, down - step)), np.stack((up, up + step))]
        ends, inner = np.concatenate(lines, axis=1) % size
        found = []
        for _ in range(MOST_CELLS):
            end, next_one = (rows * size + columns for rows, columns in (ends.T, inner.T))
            level = np.abs(ground[next_one] - ground[end]) < EDGE_DROP
            partial = level & (self._points[end] < LEAST_COVER * self._points[next_one])
            found.append(end[partial])
            ends, inner = inner[partial], (2 * inner - ends)[partial] % size
        return np.concatenate(found)
