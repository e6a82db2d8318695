# SPDX-License-Identifier: Apache-2.0
"""Where a robot can walk on a terrain, and how fast: steps and slopes against what its legs can climb."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.terrain.height_map import TerrainGrid

# as in nav_msgs/OccupancyGrid
FREE = 0
OCCUPIED = 100
UNKNOWN = -1
STEP_SHARE = 0.35  # of femur and tibia
STEP_WIDTH = 0.06  # [m] over which a height difference is a step
SLOPE_WIDTH = 0.3  # [m] over which it is a slope
MAX_SLOPE_DEG = 30.0
ROUGH_SPEED = 0.25  # share of the top speed on ground whose steps or slopes are as high as the limits
EVEN = 0.25  # share of the limits, up to which ground is walked on at full speed
# Shares of the ground with lower steps and slopes than those that count: an edge across the way is a small part of it.
STEPPED = 0.97
SLOPING = 0.9


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
    with np.errstate(invalid="ignore"):
        blocked = (_step(grid.ground, grid.cell) > limits.step) | (_slope(grid.ground, grid.cell) > limits.slope)
        blocked |= grid.ceiling - grid.ground < limits.clearance
    cost = np.where(blocked, OCCUPIED, FREE)
    return np.where(np.isnan(grid.ground), UNKNOWN, cost).astype(np.int8)


def speed_share(grid: TerrainGrid, at: Point, reach: float, limits: ClimbLimits) -> float:
    """The share of its top speed at which a robot walks on the known ground within `reach` [m] of a place [m].

    With the roughness r, the greater one of step / limit and slope / limit, it falls evenly from 1 at r = EVEN to
    ROUGH_SPEED at r = 1. Unknown ground does not count.
    """
    ground, _, (left, low) = grid.window(*at, reach + 0.5 * SLOPE_WIDTH)
    axis = grid.cell * np.arange(len(ground))
    near = np.hypot(axis + (left - at[0]), axis[:, np.newaxis] + (low - at[1])) < reach
    near &= np.isfinite(ground)
    roughness = max(
        _quantile(_step(ground, grid.cell)[near], STEPPED) / limits.step,
        _quantile(_slope(ground, grid.cell)[near], SLOPING) / limits.slope,
    )
    rough = min(max((roughness - EVEN) / (1.0 - EVEN), 0.0), 1.0)
    return 1.0 - (1.0 - ROUGH_SPEED) * rough


def _quantile(values: Array, share: float) -> float:
    """The quantile of the known values; 0 without any."""
    known = values[np.isfinite(values)]
    return float(np.quantile(known, share)) if known.size else 0.0


def _step(ground: Array, cell: float) -> Array:
    """The height differences within STEP_WIDTH around each cell."""
    reach = max(1, round(0.5 * STEP_WIDTH / cell))
    return _extreme(ground, reach, np.fmax) - _extreme(ground, reach, np.fmin)


def _slope(ground: Array, cell: float) -> Array:
    """Rise per way between the means on both sides of each cell; NaN where one is unknown."""
    half = max(1, round(0.25 * SLOPE_WIDTH / cell))
    known = np.isfinite(ground)
    total = _box(np.where(known, ground, 0.0), half)
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
        difference[tuple(middle)] = (mean[tuple(ahead)] - mean[tuple(behind)]) / (2 * half * cell)
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
