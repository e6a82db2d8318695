# SPDX-License-Identifier: Apache-2.0
"""Where a robot can walk on a terrain: steps and slopes against what its legs can climb."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.core.terrain.height_map import TerrainGrid

# as in nav_msgs/OccupancyGrid
FREE = 0
OCCUPIED = 100
UNKNOWN = -1
STEP_SHARE = 0.35  # of femur and tibia
STEP_WIDTH = 0.06  # [m] over which a height difference is a step
SLOPE_WIDTH = 0.3  # [m] over which it is a slope


@dataclass(frozen=True, slots=True)
class ClimbLimits:
    """What a robot can climb."""

    step: float  # [m]
    slope: float  # [1] rise per way
    clearance: float  # [m] from the ground to what hangs over it


def highest_step(robot: Robot) -> float:
    """The highest step [m] that the legs of a robot climb."""
    return STEP_SHARE * min(leg.femur.length + leg.tibia.length for leg in robot.legs)


def traversability(grid: TerrainGrid, limits: ClimbLimits) -> NDArray[np.int8]:
    """Costs (rows, columns) of the cells of a grid: FREE, OCCUPIED or UNKNOWN."""
    reach = max(1, round(0.5 * STEP_WIDTH / grid.cell))
    step = _extreme(grid.ground, reach, np.fmax) - _extreme(grid.ground, reach, np.fmin)
    with np.errstate(invalid="ignore"):
        blocked = (step > limits.step) | (_slope(grid) > limits.slope)
        blocked |= grid.ceiling - grid.ground < limits.clearance
    cost = np.where(blocked, OCCUPIED, FREE)
    return np.where(np.isnan(grid.ground), UNKNOWN, cost).astype(np.int8)


def _slope(grid: TerrainGrid) -> Array:
    """Rise per way between the means on both sides of each cell; NaN where one is unknown."""
    half = max(1, round(0.25 * SLOPE_WIDTH / grid.cell))
    known = np.isfinite(grid.ground)
    total = _box(np.where(known, grid.ground, 0.0), half)
    count = _box(known.astype(float), half)
    mean = np.where(count > half, total / np.maximum(count, 1.0), np.nan)
    slopes = []
    for axis in (0, 1):
        difference = np.full_like(mean, np.nan)
        ahead, behind = ([slice(None), slice(None)] for _ in range(2))
        middle = [slice(None), slice(None)]
        ahead[axis] = slice(2 * half, None)
        behind[axis] = slice(None, -2 * half)
        middle[axis] = slice(half, -half)
        difference[tuple(middle)] = (mean[tuple(ahead)] - mean[tuple(behind)]) / (2 * half * grid.cell)
        slopes.append(difference)
    found: Array = np.hypot(*slopes)
    return found


def _box(layer: Array, reach: int) -> Array:
    """Sums over squares of 2 * reach + 1 cells."""
    for axis in (0, 1):
        edge = [(0, 0), (0, 0)]
        edge[axis] = (reach + 1, reach)
        total = np.cumsum(np.pad(layer, edge), axis=axis)
        count = layer.shape[axis]
        layer = np.take(total, np.arange(count) + 2 * reach + 1, axis) - np.take(total, np.arange(count), axis)
    return layer


def _extreme(layer: Array, reach: int, of: np.ufunc) -> Array:
    """The extreme known value in the square of 2 * reach + 1 cells around each one."""
    for axis in (0, 1):
        edge = [(0, 0), (0, 0)]
        edge[axis] = (reach, reach)
        padded = np.pad(layer, edge, constant_values=np.nan)
        count = layer.shape[axis]
        shifted = [np.take(padded, np.arange(k, k + count), axis) for k in range(2 * reach + 1)]
        layer = of.reduce(shifted)
    return layer
