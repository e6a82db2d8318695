# SPDX-License-Identifier: Apache-2.0
"""Steep faces that scans see: fronts of steps, sides of blocks. They tell how far odom has drifted horizontally.

On flat ground a scan says nothing about x and y, and nothing depends on them. Among steps a foot needs to know where
the edges are, to a few millimetres, after odom has drifted by as much for each 0.1 m: joints with wrong zeros measure
each step too long or too short. A cell with points at all heights over FACE_HEIGHT holds a face, and their mean is a
place on it, finer than the cell. With the places m_i that earlier scans have seen near a place q of a new scan, their
mean m and the normal n of the line through them, (q - m) n is the drift along n. All such equations of a scan give

    s = argmin sum w ((q - m) n - s n)^2 + w0 s^2,   w = 1 / max(residual, NOISE)

so a face corrects the drift along its normal only: stairs that are as wide as the view say nothing about y. Down edges
say nothing at all: their faces are hidden from a robot that comes from above.

Source: Y. Chen, G. Medioni, Object modelling by registration of multiple range images, 1992 (point to plane).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array

FACE_HEIGHT = 0.025  # [m] of a face at least
TRIMMED = 0.006  # [m] at its upper and lower end: these points belong to the ground
GREATEST_GAP = 0.03  # [m] between the heights of its points
MIN_POINTS = 3  # of a face in a cell
REACH = 3  # cells, in which a face continues
MIN_NEIGHBOURS = 4  # cells of a line
FACE_THICKNESS = 0.005  # [m] deviation of the places of a face from its line; at a corner it is more
FACE_LENGTH = 0.01  # [m] their deviation along it
MOST_DRIFT = 0.02  # [m] drift between two scans that can be one
NOISE = 0.002  # [m] of the mean of a cell
MIN_FACES = 5  # cells of a scan, from which they tell a drift
STANDSTILL = 2.0  # cells of a scan that would say as surely that there is no drift
SETTLED = 3  # scans after which a place is compared with
MOST_SCANS = 100  # the weight of a place against that of a newer scan: it must not follow the drift
ITERATIONS = 4


class Faces(NamedTuple):
    """The cells of a scan that hold a face."""

    cells: NDArray[np.intp]  # (k,) index in the flat ring
    places: Array  # (k, 2) [m] the mean of their points


def faces(points: Array, starts: NDArray[np.intp], cells: NDArray[np.intp]) -> Faces:
    """Finds the faces in points (n, 3) [m] that are sorted by cell, then by height.

    `starts` (c,) are the first points of the cells (n,) of the flat ring.
    """
    z = points[:, 2]
    ends = np.append(starts[1:], len(z)) - 1
    lowest = z[starts]
    highest = z[ends]
    steps = np.diff(z, prepend=z[0])
    steps[starts] = 0.0
    steep = (highest - lowest > FACE_HEIGHT) & (np.maximum.reduceat(steps, starts) < GREATEST_GAP)
    counts = ends - starts + 1
    used = np.repeat(steep, counts)
    used &= (z > np.repeat(lowest, counts) + TRIMMED) & (z < np.repeat(highest, counts) - TRIMMED)
    number = np.add.reduceat(used.astype(float), starts)
    sums = np.add.reduceat(np.where(used[:, np.newaxis], points[:, :2], 0.0), starts)
    found = number >= MIN_POINTS
    return Faces(cells[starts][found], sums[found] / number[found, np.newaxis])


class SteepFaces:
    """The faces that scans have seen, in the cells of a ring of `cells` x `cells` of `cell` [m]."""

    def __init__(self, cell: float, cells: int) -> None:
        self._reach = (REACH + 1) * cell
        self._cells = cells
        self._places = np.zeros((cells * cells, 2))
        self._scans = np.zeros(cells * cells)
        steps = range(-REACH, REACH + 1)
        self._rows, self._columns = np.array([(i, j) for i in steps for j in steps]).T

    def forget(self, cells: NDArray[np.bool_]) -> None:
        """Forgets the faces in cells of the flat ring."""
        self._scans[cells] = 0.0

    def drift(self, seen: Faces) -> Array:
        """Returns the drift (2,) [m] of a scan against the faces known so far; 0 in directions in which none tells."""
        rows, columns = np.divmod(seen.cells[:, np.newaxis], self._cells)
        near = (rows + self._rows) % self._cells * self._cells + (columns + self._columns) % self._cells
        known = self._scans[near] >= SETTLED
        enough = np.count_nonzero(known, axis=1) >= MIN_NEIGHBOURS
        if np.count_nonzero(enough) < MIN_FACES:
            return np.zeros(2)
        places = seen.places[enough]
        # Relative to the place that was seen; cells on the other side of the ring are no neighbours.
        others = self._places[near[enough]] - places[:, np.newaxis]
        weights = (known[enough] & (np.abs(others).max(axis=2) < self._reach)).astype(float)
        total = np.maximum(weights.sum(axis=1), 1.0)
        middles = (weights[..., np.newaxis] * others).sum(axis=1) / total[:, np.newaxis]
        x, y = (others - middles[:, np.newaxis]).transpose(2, 0, 1)
        xx, yy, xy = ((weights * product).sum(axis=1) / total for product in (x * x, y * y, x * y))
        half = 0.5 * (xx + yy)
        difference = np.hypot(0.5 * (xx - yy), xy)
        along = 0.5 * np.arctan2(2.0 * xy, xx - yy)
        normals = np.stack((-np.sin(along), np.cos(along)), axis=1)
        errors = -(middles * normals).sum(axis=1)
        told = (total >= MIN_NEIGHBOURS) & (np.abs(errors) < MOST_DRIFT)
        told &= (half - difference < FACE_THICKNESS**2) & (half + difference > FACE_LENGTH**2)
        return _shift(normals[told], errors[told]) if np.count_nonzero(told) >= MIN_FACES else np.zeros(2)

    def remember(self, seen: Faces, shift: Array) -> None:
        """Stores the faces of a scan, which lie too far by `shift` (2,) [m]."""
        cells = seen.cells
        scans = self._scans[cells] + 1.0
        share = 1.0 / np.minimum(scans, MOST_SCANS)
        self._places[cells] += share[:, np.newaxis] * (seen.places - shift - self._places[cells])
        self._scans[cells] = scans


def _shift(normals: Array, errors: Array) -> Array:
    """The shift (2,) [m] that explains errors (k,) [m] along normals (k, 2), by weighted least squares."""
    shift: Array = np.zeros(2)
    for _ in range(ITERATIONS):
        weights = NOISE / np.maximum(np.abs(errors - normals @ shift), NOISE)
        weighted = weights[:, np.newaxis] * normals
        solved = np.linalg.solve(weighted.T @ normals + STANDSTILL * np.eye(2), weighted.T @ errors)
        shift = np.asarray(solved, dtype=float)
    return shift
