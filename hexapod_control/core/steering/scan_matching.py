# SPDX-License-Identifier: Apache-2.0
"""Where a robot is on a map of what its planar lidar has seen before: odometry drifts, walls do not.

A scan is laid on the map so that the squares of the distances from its points to the nearest mapped point are least
(Gauss-Newton on the distance field of the map, with weights that leave out points which the map does not know). After
Fitzgibbon, "Robust registration of 2D and 3D point sets" (2003), and Kohlbrecher et al., "A flexible and scalable SLAM
system with full 3D motion estimation" (2011).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose, wrap
from hexapod_control.core.steering.obstacle_avoidance import transform_points

CELL_M = 0.03  # of the grid
REACH_M = 0.3  # beyond which the distance to the nearest point does not count
MARGIN_M = 2.0  # by which the grid grows
MAX_SIDE_M = 200.0  # of the grid; points beyond are left out
MAX_POINTS = 60_000  # of the map
NEAR_M = 0.08  # a point of a scan that is nearer to the map fits
HALF_WEIGHT_M = 0.06  # distance at which a point has a quarter of the weight of one that fits
PRIOR = (1.0, 1.0, 1.0)  # weight of the guess, as that of this number of points 1 m away
MAX_STEPS = 20
SMALLEST_STEP = 1e-4  # [m] and [rad] after which the match has converged
LEAST_POINTS = 15  # that fit
TRACKED_SHARE = 0.3  # of the points of a scan that fit, with which the place is known further on
FOUND_SHARE = 0.6  # with which an unknown place is found
SEARCH_STEP_M = 0.2
SEARCH_WIDTH_M = 0.4  # to each side of a way
HEADINGS = np.linspace(-math.pi, math.pi, 48, endpoint=False)  # [rad] that are tried
SEARCH_POINTS = 90  # of a scan
BEST = 12  # places from a search that are matched
LEARNING_STEP_M = 0.1  # between two scans that are added to a map
LEARNING_TURN_RAD = 0.15


class ScanMatch(NamedTuple):
    """A pose on the map, and the share of the points of the scan that fit there."""

    pose: Pose
    share: float
    fitting: int  # points

    def is_fit(self, share: float) -> bool:
        """True if at least this share of the points fits."""
        return self.share >= share and self.fitting >= LEAST_POINTS


class ScanMap:
    """Points that scans have seen, and the field of distances to the nearest one."""

    def __init__(self, points: Array | None = None) -> None:
        """`points` (k, 2) [m] are those of another map."""
        self._corner = np.zeros(2)  # [m] of the grid
        self._field: Array = np.zeros((0, 0), dtype=np.float32)  # [m] by x and y
        self._points: list[Array] = []
        self._count = 0
        side = round(REACH_M / CELL_M)
        offsets = CELL_M * np.arange(-side, side + 1)
        self._stamp = np.minimum(np.hypot(offsets[:, None], offsets), REACH_M).astype(np.float32)
        if points is not None and len(points):
            self.add(points)

    @property
    def points(self) -> Array:
        """All points (k, 2) [m], at most one in a cell of the grid."""
        return np.concatenate(self._points) if self._points else np.zeros((0, 2))

    def add(self, points: Array) -> None:
        """Adds the points (k, 2) [m] that are not known yet."""
        if len(points) and self._count < MAX_POINTS:
            self._make_room(points)
            for point in points[self.distances(points) > CELL_M]:
                self._add_point(point)

    def _add_point(self, point: Array) -> None:
        index = np.rint((point - self._corner) / CELL_M).astype(int)
        reach = len(self._stamp) // 2
        low = index - reach
        high = index + reach + 1
        if (low < 0).any() or (high > self._field.shape).any() or self._field[tuple(index)] == 0.0:
            return
        area = self._field[low[0] : high[0], low[1] : high[1]]
        np.minimum(area, self._stamp, out=area)
        self._points.append((self._corner + CELL_M * index)[None])
        self._count += 1

    def _make_room(self, points: Array) -> None:
        low = points.min(axis=0) - REACH_M - 2 * CELL_M
        high = points.max(axis=0) + REACH_M + 2 * CELL_M
        far = self._corner + CELL_M * (np.array(self._field.shape) - 1)
        if self._field.size:
            low, high = np.minimum(low, self._corner), np.maximum(high, far)
        if self._field.size and (low >= self._corner).all() and (high <= far).all():
            return
        if (high - low).max() > MAX_SIDE_M:
            return
        before = np.ceil((self._corner - low + MARGIN_M) / CELL_M).astype(int) * (low < self._corner)
        if not self._field.size:
            self._corner = low - MARGIN_M
            size = np.ceil((high - low + 2 * MARGIN_M) / CELL_M).astype(int) + 1
            self._field = np.full(size, REACH_M, dtype=np.float32)
            return
        after = np.ceil((high - far + MARGIN_M) / CELL_M).astype(int) * (high > far)
        self._field = np.pad(self._field, np.column_stack((before, after)), constant_values=REACH_M)
        self._corner = self._corner - CELL_M * before

    def distances(self, points: Array) -> Array:
        """Distances (k,) [m] from points (k, 2) [m] to the nearest point of the map, at most REACH_M."""
        return self._sampled(points)[0]

    def _sampled(self, points: Array) -> tuple[Array, Array]:
        """Bilinear distances (k,) [m] at points (k, 2) [m], and their gradients (k, 2)."""
        if not self._field.size:
            return np.full(len(points), REACH_M), np.zeros((len(points), 2))
        place = (points - self._corner) / CELL_M
        within = (place >= 0.0) & (place < np.array(self._field.shape) - 1.0)
        inside = within[:, 0] & within[:, 1]
        place = np.where(inside[:, None], place, 0.0)
        i, j = place.astype(int).T
        u, v = (place - np.column_stack((i, j))).T
        a = self._field[i, j]
        b = self._field[i + 1, j]
        c = self._field[i, j + 1]
        d = self._field[i + 1, j + 1]
        values = (a * (1 - u) + b * u) * (1 - v) + (c * (1 - u) + d * u) * v
        gradients = np.column_stack(((b - a) * (1 - v) + (d - c) * v, (c - a) * (1 - u) + (d - b) * u)) / CELL_M
        return np.where(inside, values, REACH_M), np.where(inside[:, None], gradients, 0.0)

    def match(self, scan: Array, guess: Pose) -> ScanMatch:
        """Lays a scan, points (k, 2) [m] in base_footprint, on the map, beginning with a guess of the pose."""
        pose = guess
        for _ in range(MAX_STEPS):
            turned = transform_points(scan, Pose(0.0, 0.0, pose.yaw))
            values, slopes = self._sampled(turned + np.array(pose[:2]))
            weights = (1.0 + (values / HALF_WEIGHT_M) ** 2) ** -2 * (values < REACH_M)
            jacobian = np.column_stack((slopes, turned[:, 0] * slopes[:, 1] - turned[:, 1] * slopes[:, 0]))
            weighted = jacobian * weights[:, None]
            away = (pose.x - guess.x, pose.y - guess.y, wrap(pose.yaw - guess.yaw))
            step = -np.linalg.solve(
                weighted.T @ jacobian + np.diag(PRIOR), weighted.T @ values + np.multiply(PRIOR, away)
            )
            pose = Pose(pose.x + step[0], pose.y + step[1], wrap(pose.yaw + step[2]))
            if np.abs(step).max() < SMALLEST_STEP:
                break
        fitting = int((self.distances(transform_points(scan, pose)) < NEAR_M).sum())
        return ScanMatch(Pose(*map(float, pose)), fitting / max(1, len(scan)), fitting)

    def find(self, scan: Array, guess: Pose, way: Array) -> ScanMatch:
        """Finds where on the map a scan was taken: near a guess, or near one of the places (k, 2) [m] of a way."""
        best = self.match(scan, guess)
        few = scan[:: max(1, len(scan) // SEARCH_POINTS)]
        places = _beside(way)
        scored = []
        for yaw in HEADINGS.tolist():
            turned = transform_points(few, Pose(0.0, 0.0, yaw))
            points = (places[:, None, :] + turned[None]).reshape(-1, 2)
            scores = self.distances(points).reshape(len(places), -1).mean(axis=1)
            scored += [(score, Pose(x, y, yaw)) for score, (x, y) in zip(scores.tolist(), places.tolist(), strict=True)]
        for _, pose in sorted(scored)[:BEST]:
            found = self.match(scan, pose)
            if found.share > best.share + (0.1 if best.share >= FOUND_SHARE else 0.0):
                best = found
        return best


def _beside(way: Array) -> Array:
    """Places (k, 2) [m] on a way (k, 2) [m] and on both of its sides, at most one in a square of SEARCH_STEP_M."""
    shifts = np.arange(-SEARCH_WIDTH_M, SEARCH_WIDTH_M + 1e-9, SEARCH_STEP_M)
    wide = way[:, None, None, :] + np.stack(np.meshgrid(shifts, shifts, indexing="ij"), axis=-1)
    found: Array = SEARCH_STEP_M * np.unique(np.rint(wide.reshape(-1, 2) / SEARCH_STEP_M), axis=0)
    return found


class MapTracker:
    """The place of a robot on a map, from its odometry and its scans."""

    def __init__(self, surroundings: ScanMap, *, learns: bool = False) -> None:
        """If it `learns`, scans from new places are added to the map."""
        self.surroundings = surroundings
        self.odom_on_map = Pose(0.0, 0.0, 0.0)
        self.fits = True  # the last scan
        self._learns = learns
        self._learned: Pose | None = None

    def pose(self, odometry: Pose) -> Pose:
        """The pose on the map of a pose in odom."""
        return self.odom_on_map @ odometry

    def take_scan(self, scan: Array, odometry: Pose) -> None:
        """Takes a scan, points (k, 2) [m] in base_footprint, and the pose in odom where it was taken."""
        if self._learned is None and self._learns:
            return self._learn(scan, odometry)
        found = self.surroundings.match(scan, self.pose(odometry))
        self.fits = found.is_fit(TRACKED_SHARE)
        if self.fits:
            self.odom_on_map = found.pose @ odometry.inverse()
            if self._learns:
                self._learn(scan, found.pose)
        return None

    def _learn(self, scan: Array, pose: Pose) -> None:
        last = self._learned
        if (
            last
            and math.dist(last[:2], pose[:2]) < LEARNING_STEP_M
            and abs(wrap(last.yaw - pose.yaw)) < LEARNING_TURN_RAD
        ):
            return
        self._learned = pose
        self.surroundings.add(transform_points(scan, pose))
