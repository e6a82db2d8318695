# SPDX-License-Identifier: Apache-2.0
"""Points from a depth image, or from a cloud in rows and columns, without flying pixels.

A pixel at the edge of a near surface sees the far one, too, and measures something between them. On a plane the inverse
depth is linear in the pixel's row and column, however obliquely it is seen, so a pixel belongs to a surface if its
inverse depth continues that of two neighbours on one side, or lies midway between those on both sides. A pixel that
does not, along its row or along its column, is left out. So is anything that is one pixel wide. The same holds for the
inverse ranges of a lidar, as nearly as its rays are close to each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array

CONTINUATION = 0.07  # [1] of the inverse depth: three deviations of the second difference, with a range noise of 1 %


def depth_points(depth: Array, focal: tuple[float, float], center: tuple[float, float]) -> Array:
    """Returns the points (n, 3) [m] of a depth image (rows, columns) [m], in its optical frame.

    That is x right, y down, z ahead. `focal` and `center` [pixels] are (fx, fy) and (cx, cy) of the camera. A depth
    that is not finite and positive is no return.
    """
    depth = np.asarray(depth, dtype=float)
    rows, columns = np.nonzero(_on_surface(depth))
    z = depth[rows, columns]
    return np.column_stack(((columns - center[0]) / focal[0] * z, (rows - center[1]) / focal[1] * z, z))


def cloud_points(grid: Array) -> Array:
    """Returns the points (n, 3) [m] of a cloud (rows, columns, 3) [m], in the frame of its sensor.

    One with a single row has no neighbours to compare, so all of its points that are finite are returned.
    """
    ranges = np.linalg.norm(grid, axis=-1)
    points: Array = grid[_on_surface(ranges) if len(grid) > 1 else np.isfinite(ranges)]
    return points


def _on_surface(depth: Array) -> NDArray[np.bool_]:
    """Which pixels continue their neighbours along rows and columns, for depths or ranges (rows, columns) [m]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = np.where(np.isfinite(depth) & (depth > 0.0), 1.0 / depth, np.nan)
    found: NDArray[np.bool_] = _continued(inverse) & _continued(inverse.T).T
    return found


def _continued(inverse: Array) -> NDArray[np.bool_]:
    """Which pixels continue their neighbours in the same row, for inverse depths (rows, columns) [1/m]."""
    padded = np.pad(inverse, ((0, 0), (2, 2)), constant_values=np.nan)
    far_left, left, right, far_right = (padded[:, k : k + inverse.shape[1]] for k in (0, 1, 3, 4))
    tolerance = CONTINUATION * inverse
    with np.errstate(invalid="ignore"):
        continued: NDArray[np.bool_] = (
            (np.abs(2.0 * left - far_left - inverse) < tolerance)
            | (np.abs(2.0 * right - far_right - inverse) < tolerance)
            | (np.abs(left + right - 2.0 * inverse) < tolerance)
        )
    return continued
