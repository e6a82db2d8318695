# SPDX-License-Identifier: Apache-2.0
"""The ground on a height map as the walk sees it: the map is given in odom, the walk is planned in base_footprint.

The plane of base_footprint follows the feet. `GroundView` is the transform between the two, with the height of the map
corrected by the feet that stand on it. Where the ground about the robot is one plane, level or a slope, `plane_around`
finds it: a slope seen with noise and with legs that give way is no uneven ground.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.frame_tree import FramePose
from hexapod_control.core.kinematics.leg_kinematics import Coordinate
from hexapod_control.core.robot import Matrix, Point, Vector
from hexapod_control.core.terrain.height_map import TerrainGrid

EVEN = 0.004  # [m] height up to which the ground counts as the plane of the feet, or as that about the robot
SMOOTH = 0.02  # [m] roughness up to which a place on it is even: cells of a slope differ, and feet feel it elsewhere
ON_PLANE = 0.9  # of the known ground about the robot, that is within EVEN of a plane
MIN_PLANE_CELLS = 100


class Window(NamedTuple):
    """A square part of the map."""

    heights: Array  # (n, n) [m]; NaN: unknown
    deviations: Array  # (n, n) [m] of these
    x: float  # [m] of the first cell
    y: float
    cell: float  # [m]

    def highest(self, within: float) -> Window:
        """The window with the greatest height within a distance [m] of each cell, to a cell, along x and y."""
        heights = self.heights.copy()
        for _ in range(round(within / self.cell)):
            for line in (heights, heights.T):
                line[1:-1] = np.fmax(np.fmax(line[:-2], line[1:-1]), line[2:])
        return self._replace(heights=heights)

    def height(self, x: float, y: float) -> float:
        """The height [m] at a point [m] of odom; NaN outside of the window."""
        column = round((x - self.x) / self.cell)
        row = round((y - self.y) / self.cell)
        size = len(self.heights)
        return self.heights.item(row, column) if 0 <= row < size and 0 <= column < size else math.nan


class Plane(NamedTuple):
    """The plane z = a x + b y + c [m] of odom."""

    a: float
    b: float
    c: float

    def above(self, x: Coordinate, y: Coordinate, z: Coordinate) -> Coordinate:
        """How much [m] a point, or points, are above it."""
        return z - (self.a * x + self.b * y + self.c)


def plane_around(grid: TerrainGrid, at: Point, radius: float) -> Plane | None:
    """The plane of the known ground within `radius` [m] of a point [m] of odom; None: it is not one plane."""
    heights, _, (x0, y0) = grid.window(*at, radius)
    steps = grid.cell * np.arange(len(heights))
    x, y = np.meshgrid(x0 + steps, y0 + steps)
    used = np.isfinite(heights) & (np.hypot(x - at[0], y - at[1]) < radius)
    if np.count_nonzero(used) < MIN_PLANE_CELLS:
        return None
    points = np.stack((x[used], y[used], np.ones(np.count_nonzero(used))), axis=1)
    found = Plane(*np.linalg.lstsq(points, heights[used], rcond=None)[0].tolist())
    fits = np.abs(found.above(x[used], y[used], heights[used])) < EVEN
    return found if np.count_nonzero(fits) >= ON_PLANE * len(fits) else None


@dataclass(frozen=True)
class GroundView:
    """The ground as seen from base_footprint at one time."""

    grid: TerrainGrid
    rotation: Matrix  # base_footprint to odom, row by row
    origin: Vector  # [m] of base_footprint on the map, whose height is that of the feet, not that of odom
    start: Point = (0.0, 0.0)  # [m] where the robot began to see, on the map
    radius: float = 0.0  # [m] around it, in which ground that is not known is that of the feet: no camera sees it
    plane: Plane | None = None  # of the ground about the robot, if it is one

    @classmethod
    def of(
        cls,
        grid: TerrainGrid,
        base: FramePose,
        placement: Placement,
        standing: Sequence[Vector],
        start: Point = (0.0, 0.0),
        radius: float = 0.0,
        plane: Plane | None = None,
    ) -> GroundView:
        """The view of a robot whose base_link has a rotation (3, 3) and a position (3,) [m] in odom.

        `standing` are the feet (x, y, z) [m] in base_footprint that stand on the ground; `start` [m], `radius` [m] and
        `plane` as in the view.
        """
        first, second, third = base[0].tolist()
        rotation = (placement.rotate(*first), placement.rotate(*second), placement.rotate(*third))
        # Where base_footprint is, if base_link were the origin; then as base_link is.
        x, y, z = placement.to_footprint(0.0, 0.0, 0.0)
        u, v, w = cls(grid, rotation, (0.0, 0.0, 0.0)).to_odom(-x, -y, -z)
        a, b, c = base[1].tolist()
        view = cls(grid, rotation, (a + u, b + v, c + w), start, radius, plane)
        errors = [error for error in map(view.error, standing) if error == error]  # known
        return replace(view, origin=(a + u, b + v, c + w + median(errors))) if errors else view

    def moved(self, before: FramePose, after: FramePose) -> GroundView:
        """The view of a robot that stands, of which odom says that base_link has moved between two poses."""
        turn = after.rotation @ before.rotation.T
        first, second, third = (turn @ np.array(self.rotation)).tolist()
        x, y, z = (turn @ (np.array(self.origin) - before.position) + after.position).tolist()
        return replace(self, rotation=(tuple(first), tuple(second), tuple(third)), origin=(x, y, z))

    def height(self, x: float, y: float) -> float:
        """Height [m] of the ground at a point [m] of odom; NaN where it is unknown."""
        height = self.grid.height(x, y)
        if height == height or math.dist((x, y), self.start) >= self.radius:  # known, or not near the start
            return height
        return self._felt(x, y)

    def heights(self, x: Array, y: Array) -> Array:
        """As `height` for points, in their shape."""
        heights = self.grid.heights(x, y)
        return self._with_felt(heights, x, y) if self.radius > 0.0 and np.isnan(heights).any() else heights

    def _with_felt(self, heights: Array, x: Array, y: Array) -> Array:
        """Heights [m] at points [m] of odom; where they are unknown, near the start, those of the plane of the feet."""
        near = np.hypot(x - self.start[0], y - self.start[1]) < self.radius
        return np.where(np.isnan(heights) & near, self._felt(x, y), heights)

    def _felt(self, x: Coordinate, y: Coordinate) -> Coordinate:
        """Height [m] of the plane about the robot, or else of that of the feet, at points [m] of odom."""
        if self.plane is not None:
            return self.plane.a * x + self.plane.b * y + self.plane.c
        a, b, c = (row[2] for row in self.rotation)
        return self.origin[2] - (a * (x - self.origin[0]) + b * (y - self.origin[1])) / c

    def window(self, at: Point, half: float) -> Window:
        """The cells within `half` [m] of a point [m] of odom."""
        heights, deviations, (x, y) = self.grid.window(*at, half)
        cell = self.grid.cell
        if self.radius > 0.0 and math.isnan(heights.max()):
            steps = cell * np.arange(len(heights))
            heights = self._with_felt(heights, *np.meshgrid(x + steps, y + steps))
        return Window(heights, deviations, x, y, cell)

    def is_plane(self, window: Window) -> bool:
        """Whether no cell of a window is as far as EVEN from the plane of the feet; may be False if it is tilted."""
        a, b, c = (row[2] for row in self.rotation)
        half = 0.5 * (len(window.heights) - 1) * window.cell
        tilted = (abs(a) + abs(b)) * half
        level = a * (window.x + half - self.origin[0]) + b * (window.y + half - self.origin[1]) - c * self.origin[2]
        highest = level + c * float(window.heights.max()) + tilted
        lowest = level + c * float(window.heights.min()) - tilted
        return lowest > -EVEN and highest < EVEN  # False with NaN

    def is_even(self, x: Array, y: Array, z: Array, rough: Array, *, free: bool) -> bool:
        """Whether places (k,) [m] of odom lie on the plane of the feet, or the first one on that about the robot.

        `rough` (k,) [m] is the roughness of the ground at each, `free` is whether no edge is near the first one.
        """
        if max(np.abs(self.to_footprint(x, y, z)[2]).max(), rough.max()) < EVEN:  # False with NaN
            return True
        if self.plane is None or not free:
            return False
        return bool(abs(self.plane.above(x[0], y[0], z[0])) < EVEN and rough[0] < SMOOTH)

    def error(self, foot: Vector) -> float:
        """By how much [m] the map is higher than a foot (x, y, z) [m] in base_footprint; NaN where it is unknown."""
        x, y, z = self.to_odom(*foot)
        return self.grid.height(x, y) - z

    def to_odom(self, x: Coordinate, y: Coordinate, z: Coordinate) -> tuple[Coordinate, Coordinate, Coordinate]:
        """A point [m] of base_footprint, or arrays of points, in odom."""
        (a, b, c), (d, e, f), (g, h, i) = self.rotation
        u, v, w = self.origin
        return u + a * x + b * y + c * z, v + d * x + e * y + f * z, w + g * x + h * y + i * z

    def to_footprint(self, x: Coordinate, y: Coordinate, z: Coordinate) -> tuple[Coordinate, Coordinate, Coordinate]:
        """A point [m] of odom, or arrays of points, in base_footprint."""
        (a, b, c), (d, e, f), (g, h, i) = self.rotation
        u, v, w = self.origin
        x = x - u
        y = y - v
        z = z - w
        return a * x + d * y + g * z, b * x + e * y + h * z, c * x + f * y + i * z
