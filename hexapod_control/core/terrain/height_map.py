# SPDX-License-Identifier: Apache-2.0
"""A rolling grid of ground heights around the robot, fixed in odom, from points that sensors see and feet feel.

Every cell holds the surface on which a foot would stand, with its variance, the time of its newest measurement, and the
lowest surface that hangs over it. A cell that was never seen is NaN: unknown is not flat. Per scan:

1. Points of one cell are sorted by height and split where more than `headroom` is free: the lower part is ground, what
   begins above it, or above the sensor, hangs over it. The ground of a cell is the mean of its uppermost points: with
   a riser in the cell that is the tread above it.
2. The median difference between the scan and the map is the drift of odom in z since the last scan. It moves the map,
   as the newest scan fits the feet; a scan older than the map moves instead. Steep faces tell the drift in x and y
   (`steep_faces.py`), by which the map as a whole moves.
3. Cells that agree are fused like a Kalman filter. Where they do not, the newer measurement replaces the older one: an
   edge stays sharp although odom drifts.
4. A ray that passes through what stands in the map as ground shows that there is none: such a cell is lowered to the
   ray, with a large variance. So a gap is seen of which a sensor that looks obliquely sees only the far wall.
5. A cell at an edge that its surface covers by less than half gets a large variance, too (`cell_cover.py`).

The variance of a cell grows with the way that the robot has gone since its measurement. See docs/terrain-map.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.terrain.cell_cover import CellCover
from hexapod_control.core.terrain.steep_faces import Faces, SteepFaces, faces

# Deviation of a point, from sensor and pose.
RANGE_NOISE = 0.01  # [1] of the distance, along the ray
POINT_NOISE = 0.002  # [m] of every point
TILT_NOISE = 0.006  # [rad] of the pose of the sensor: common to all points of a scan
CONTACT_NOISE = 0.008  # [m] of a foot that stands: joints with wrong zeros do not know where it is
DRIFT = 0.01  # [m/m] growth of the deviation of a cell with the way of the robot
MIN_DEVIATION = 0.002  # [m] of a cell, however often it was seen
TOP_BAND = 0.012  # [m] below the highest point of a cell, in which points belong to its surface
AGREEMENT = 3.0  # deviations up to which two measurements of a cell agree
OVER_SENSOR = 0.05  # [m] above the sensor, from which a surface cannot be seen from above
MAX_RANGE = 5.0  # [m]
# Drift of a scan against the map
MIN_MATCHED_CELLS = 30
MAX_DRIFT = 0.06  # [m]
MATCH_SHARE = 0.5  # of the drift that is corrected in one scan: in z ...
SLIDE_SHARE = 0.5  # ... and along x and y
# Cells that rays pass under
CARVED_CELLS = 12  # before the point that was measured
CARVING_SCANS = 2  # in which all rays have had their turn, as they are many
CARVE_MARGIN = 0.004  # [m] by which a ray is lower than a cell, besides a deviation of its tilt
CARVED_DEVIATION = 0.2  # [m] of a cell after that: the ground may be much lower
FELT_SHARE = 0.2  # of the difference between map and feet that is corrected in one call


@dataclass(frozen=True, slots=True)
class TerrainGrid:
    """The heights around the robot at one time, as values. Rows run along y, columns along x of odom."""

    origin: tuple[float, float]  # [m] x, y of the centre of cell [0, 0]
    cell: float  # [m]
    ground: Array  # (rows, columns) [m] height of the ground; NaN: unknown
    deviation: Array  # (rows, columns) [m] standard deviation of it
    ceiling: Array  # (rows, columns) [m] underside of what hangs over it; NaN: nothing was seen
    time: float  # [s] of the newest scan

    def heights(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights [m] of the ground at points [m] of odom, in their shape; NaN where it is unknown."""
        return self._at(self.ground, x, y)

    def height(self, x: float, y: float) -> float:
        """As `heights` for one point, without arrays."""
        return self._item(self.ground, x, y)

    def window(self, x: float, y: float, half: float) -> tuple[Array, Array, tuple[float, float]]:
        """The cells within `half` [m] of a point [m]: heights and deviations (n, n) [m], and x, y [m] of the first."""
        near = math.ceil(half / self.cell)
        size = 2 * near + 1
        column = round((x - self.origin[0]) / self.cell) - near
        row = round((y - self.origin[1]) / self.cell) - near
        heights, deviations = (self._cut(layer, row, column, size) for layer in (self.ground, self.deviation))
        return heights, deviations, (self.origin[0] + self.cell * column, self.origin[1] + self.cell * row)

    def spread(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Standard deviations [m] of `heights`; NaN where they are unknown."""
        return self._at(self.deviation, x, y)

    def ceilings(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights [m] of what hangs over the ground; NaN where nothing was seen."""
        return self._at(self.ceiling, x, y)

    def _cut(self, layer: Array, row: int, column: int, size: int) -> Array:
        """`size` rows and columns of a layer; NaN outside of it."""
        rows, columns = layer.shape
        cut = layer[max(row, 0) : max(row + size, 0), max(column, 0) : max(column + size, 0)]
        if cut.shape == (size, size):
            return cut
        whole = np.full((size, size), np.nan)
        whole[max(-row, 0) : max(rows - row, 0), max(-column, 0) : max(columns - column, 0)] = cut
        return whole

    def _item(self, layer: Array, x: float, y: float) -> float:
        column = round((x - self.origin[0]) / self.cell)
        row = round((y - self.origin[1]) / self.cell)
        rows, columns = layer.shape
        return layer.item(row, column) if 0 <= row < rows and 0 <= column < columns else math.nan

    def _at(self, layer: Array, x: ArrayLike, y: ArrayLike) -> Array:
        columns = np.rint((np.asarray(x, dtype=float) - self.origin[0]) / self.cell)
        rows = np.rint((np.asarray(y, dtype=float) - self.origin[1]) / self.cell)
        inside = (rows >= 0) & (rows < layer.shape[0]) & (columns >= 0) & (columns < layer.shape[1])
        if inside.all():
            return layer[rows.astype(int), columns.astype(int)]
        found = layer[np.where(inside, rows, 0).astype(int), np.where(inside, columns, 0).astype(int)]
        return np.where(inside, found, np.nan)


class _Columns(NamedTuple):
    """What a scan has seen in each of its cells."""

    cells: NDArray[np.intp]  # (k,) index of the cell in the flat ring
    ground: Array  # (k,) [m]; NaN: only something above it was seen
    variance: Array  # (k,) [m^2]
    points: Array  # (k,) how many of this ground
    ceiling: Array  # (k,) [m]; NaN: nothing was seen above the ground
    faces: Faces


class HeightMap:
    """The rolling grid: a ring buffer in x and y, of which a cell keeps its place while the robot moves."""

    def __init__(self, cell: float = 0.015, cells: int = 160, headroom: float = 0.25) -> None:
        """A grid of `cells` x `cells` of `cell` [m]; the robot fits under what is `headroom` [m] over the ground."""
        self.cell = cell
        self._cells = cells
        self._headroom = headroom
        self.time = -math.inf  # [s] of the newest scan
        self.bias = 0.0  # [m] by which the sensors see the ground higher than the feet feel it
        self._faces = SteepFaces(cell, cells)
        self._cover = CellCover(cells)
        self.offset = np.zeros(2)  # [m] of the map in odom: the drift of odom since the beginning, as far as known
        self._low = np.array((-(cells // 2), -(cells // 2)))  # index (x, y) of the first cell inside
        self._at: tuple[float, float] | None = None  # [m] where the robot was at the last move
        self._way = 0.0  # [m] of the robot
        self._scans = 0
        shape = cells * cells
        self._ground = np.full(shape, np.nan)
        self._variance = np.full(shape, np.nan)
        self._ceiling = np.full(shape, np.nan)
        self._time = np.full(shape, np.nan)
        self._way_then = np.zeros(shape)  # [m] way of the robot at the newest measurement

    def move(self, x: float, y: float) -> None:
        """Centres the grid on the robot at (x, y) [m] in odom: cells that leave it are forgotten."""
        if self._at is not None:
            self._way += math.dist(self._at, (x, y))
        self._at = (x, y)
        low = np.floor((np.array(self._at) - self.offset) / self.cell).astype(int) - self._cells // 2
        kept = [_indices(low[axis], self._cells) == _indices(self._low[axis], self._cells) for axis in (0, 1)]
        self._low = low
        forgotten = ~np.outer(kept[1], kept[0]).ravel()
        for layer in (self._ground, self._variance, self._ceiling, self._time):
            layer[forgotten] = np.nan
        self._faces.forget(forgotten)
        self._cover.forget(forgotten)

    def insert(self, points: Array, origin: ArrayLike, time: float) -> None:
        """Processes a scan: points (n, 3) [m] in odom, seen from `origin` (3,) [m] at `time` [s].

        Scans may come late and out of order. Points that are not finite, too far away or outside are left out.
        """
        points = self._on_map(points)
        columns = self._columns(points, self._on_map(origin))
        drift = self._drift(columns)
        newest = time >= self.time
        if drift is not None and newest:
            self._ground += MATCH_SHARE * drift
            self._ceiling += MATCH_SHARE * drift
        error = (drift or 0.0) * (1.0 - MATCH_SHARE if newest else 1.0)
        self._fuse(columns.cells, columns.ground - error, columns.variance, time)
        self._cover.note(columns.cells, columns.points)
        if newest:
            self._carve(points, self._on_map(origin), self.bias + error)
            shift = SLIDE_SHARE * self._faces.drift(columns.faces)
            self._faces.remember(columns.faces, shift)
            self.offset += shift
        self._hang(columns.cells, columns.ceiling)
        self.time = max(self.time, time)

    def feel(self, points: Array, time: float) -> None:
        """Processes contacts: the lowest points (n, 3) [m] in odom of feet that stand at `time` [s].

        What the sensors see higher or lower than all feet feel is their error, and corrected from then on.
        """
        points = self._on_map(points)
        points = points[self._inside(points)]
        if not len(points):
            return
        cells = self._index(points[:, 0], points[:, 1])
        errors = self._ground[cells] - points[:, 2]
        errors = errors[np.isfinite(errors) & (np.abs(errors) < MAX_DRIFT)]
        if len(errors) >= 3:
            correction = FELT_SHARE * float(np.median(errors))
            self.bias += correction
            self._ground -= correction
            self._ceiling -= correction
        self._fuse(cells, points[:, 2], np.full(len(cells), CONTACT_NOISE**2), time)

    def match(self, points: Array, origin: ArrayLike) -> float | None:
        """Returns by how much [m] a scan lies above the map; None if they have too little in common.

        Points and origin as for `insert`.
        """
        return self._drift(self._columns(self._on_map(points), self._on_map(origin)))

    def heights(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Heights [m] of the ground at points [m] of odom, in their shape; NaN where it is unknown."""
        return self._read(self._ground, x, y)

    def spread(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Standard deviations [m] of `heights`, with the drift of odom since their measurement."""
        return self._read(self._deviation(), x, y)

    def age(self, x: ArrayLike, y: ArrayLike, time: float) -> Array:
        """Times [s] since points [m] of odom were measured, in their shape; NaN where they never were."""
        return time - self._read(self._time, x, y)

    def grid(self) -> TerrainGrid:
        """Returns the map as values."""
        x, y = (self._low + 0.5) * self.cell + self.offset
        ground, deviation, ceiling = map(self._unrolled, (self._ground, self._deviation(), self._ceiling))
        return TerrainGrid((float(x), float(y)), self.cell, ground, deviation, ceiling, self.time)

    def _deviation(self) -> Array:
        deviation: Array = np.sqrt(self._variance + (DRIFT * (self._way - self._way_then)) ** 2)
        deviation[self._cover.partial(self._ground)] = CARVED_DEVIATION
        return deviation

    def _unrolled(self, layer: Array) -> Array:
        columns, rows = (-self._low) % self._cells
        return np.roll(layer.reshape(self._cells, self._cells), (rows, columns), (0, 1))

    def _read(self, layer: Array, x: ArrayLike, y: ArrayLike) -> Array:
        x, y = np.broadcast_arrays(np.asarray(x, float) - self.offset[0], np.asarray(y, float) - self.offset[1])
        inside = self._inside(np.stack((x, y), axis=-1))
        return np.where(inside, layer[self._index(np.where(inside, x, 0.0), np.where(inside, y, 0.0))], np.nan)

    def _on_map(self, points: ArrayLike) -> Array:
        """Points (n, 3) [m] of odom, or one of them, on the map."""
        on_map: Array = np.asarray(points, dtype=float) - (*self.offset, 0.0)
        return on_map

    def _inside(self, points: Array) -> NDArray[np.bool_]:
        """Which points (..., >= 2) [m] lie in the grid."""
        least = self._low * self.cell
        x = points[..., 0]
        y = points[..., 1]
        side = self._cells * self.cell
        return (x >= least[0]) & (x < least[0] + side) & (y >= least[1]) & (y < least[1] + side)

    def _index(self, x: Array, y: Array) -> NDArray[np.intp]:
        columns = np.floor(x / self.cell).astype(np.intp) % self._cells
        rows = np.floor(y / self.cell).astype(np.intp) % self._cells
        return rows * self._cells + columns

    def _columns(self, points: Array, origin: Array) -> _Columns:
        """Sorts a scan into cells."""
        away = points - origin
        with np.errstate(invalid="ignore"):
            usable = self._inside(points) & ((away * away).sum(axis=1) < MAX_RANGE**2)
        points = points[usable]
        away = away[usable]
        if not len(points):
            nothing = np.empty(0)
            none = np.empty(0, dtype=np.intp)
            return _Columns(none, nothing, nothing, nothing, nothing, Faces(none, np.empty((0, 2))))
        cells = self._index(points[:, 0], points[:, 1])
        order = np.lexsort((points[:, 2], cells))
        cells = cells[order]
        points = points[order]
        z = points[:, 2] - self.bias
        away = away[order]
        first = np.concatenate(([True], cells[1:] != cells[:-1]))
        starts = np.flatnonzero(first)
        cell_of = np.cumsum(first) - 1  # of every point
        # A point hangs over the ground if much is free below it, or if it is above the sensor and nothing is below it.
        free = ~first & (np.diff(z, prepend=z[0]) > self._headroom)
        over = z > origin[2] - self.bias + OVER_SENSOR
        begins = np.where(first, over, free).astype(int)
        above = np.cumsum(begins)
        above = above > (above - begins)[starts][cell_of]
        ceiling = np.minimum.reduceat(np.where(above, z, np.inf), starts)
        top = np.maximum.reduceat(np.where(above, -np.inf, z), starts)
        noise = (RANGE_NOISE * away[:, 2]) ** 2 + POINT_NOISE**2
        used = ~above & (z > top[cell_of] - np.maximum(TOP_BAND, 4.0 * np.sqrt(noise)))
        count = np.maximum(np.add.reduceat(used.astype(float), starts), 1.0)
        ground = np.add.reduceat(np.where(used, z, 0.0), starts) / count
        distance = np.hypot(away[starts, 0], away[starts, 1])
        variance = noise[starts] / count + (TILT_NOISE * distance) ** 2 + MIN_DEVIATION**2
        seen = np.isfinite(top)
        return _Columns(
            cells[starts],
            np.where(seen, ground, np.nan),
            np.where(seen, variance, np.nan),
            np.where(seen, count, 0.0),
            np.where(np.isfinite(ceiling), ceiling, np.nan),
            faces(points, starts, cells),
        )

    def _carve(self, points: Array, origin: Array, error: float) -> None:
        """Lowers cells under which rays pass to points (n, 3) [m], which lie too high by an error [m]."""
        self._scans += 1
        points = points[self._scans % CARVING_SCANS :: CARVING_SCANS]
        points = points[points[:, 2] - error < np.fmax.reduce(self._ground, initial=-np.inf) - CARVE_MARGIN]
        away = points - origin
        distance = np.linalg.norm(away, axis=1)
        usable = self._inside(points) & (distance < MAX_RANGE) & (away[:, 2] < 0.0)
        x, y, z = points[usable].T[..., None]
        distance = distance[usable, None]
        across, up, high = -away[usable].T[..., None] / np.hypot(away[usable, 0], away[usable, 1])[:, None]
        # Back from a point to the sensor; first over the part that may be range noise.
        steps = np.maximum(0.5 * self.cell, 3.0 * RANGE_NOISE * distance) + self.cell * np.arange(CARVED_CELLS)
        z = z + steps * high - error
        cells = self._index(x + steps * across, y + steps * up)
        margin = CARVE_MARGIN + TILT_NOISE * distance
        under = (self._ground[cells] > z + margin) & (z < origin[2])
        lowest = np.full_like(self._ground, np.inf)
        np.minimum.at(lowest, cells[under], z[under])
        carved = np.isfinite(lowest)
        self._cover.forget(carved)
        self._ground[carved] = lowest[carved]
        self._variance[carved] = CARVED_DEVIATION**2

    def _drift(self, scan: _Columns) -> float | None:
        errors = scan.ground - self._ground[scan.cells]
        errors = errors[np.isfinite(errors) & (np.abs(errors) < MAX_DRIFT)]
        return float(np.median(errors)) if len(errors) >= MIN_MATCHED_CELLS else None

    def _fuse(self, cells: NDArray[np.intp], z: Array, variance: Array, time: float) -> None:
        """Fuses measured heights (k,) [m] with variances (k,) [m^2] into cells."""
        seen = np.isfinite(z)
        cells = cells[seen]
        z = z[seen]
        variance = variance[seen]
        old = self._ground[cells]
        old_variance = self._variance[cells] + (DRIFT * (self._way - self._way_then[cells])) ** 2
        with np.errstate(invalid="ignore"):
            agree = (z - old) ** 2 < AGREEMENT**2 * (variance + old_variance)
            newer = ~(self._time[cells] > time)
        share = np.where(agree, old_variance / (old_variance + variance), np.where(newer, 1.0, 0.0))
        taken = share > 0.0
        cells = cells[taken]
        share = share[taken]
        agree = agree[taken]
        fused = old[taken] + share * (z[taken] - old[taken])
        self._ground[cells] = np.where(agree, fused, z[taken])
        self._variance[cells] = np.maximum(np.where(agree, share, 1.0) * variance[taken], MIN_DEVIATION**2)
        self._time[cells] = np.fmax(self._time[cells], time)
        self._way_then[cells] = self._way

    def _hang(self, cells: NDArray[np.intp], z: Array) -> None:
        """Stores undersides (k,) [m] of what hangs over cells; one that the ground has grown into is forgotten."""
        seen = np.isfinite(z)
        self._ceiling[cells[seen]] = z[seen]
        with np.errstate(invalid="ignore"):
            self._ceiling[self._ceiling < self._ground + TOP_BAND] = np.nan


def _indices(low: int, count: int) -> NDArray[np.intp]:
    """Index of the cell that each place of a ring holds, if `low` is the first of `count` cells."""
    places = np.arange(count)
    return low + (places - low) % count
