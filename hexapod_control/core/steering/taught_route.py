# SPDX-License-Identifier: Apache-2.0
"""Routes that are taught by driving once: the way, and a map of what the lidar saw on it, in one frame.

The frame is odom where the lesson began. Scans hold the way straight while it is learned, and find the robot on it when
it is walked again, so that the drift of the odometry does not add up.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.scan_matching import FOUND_SHARE, NEAR_M, MapTracker, ScanMap

TOLERANCE_M = 0.03  # with which a point of a route is reached
STEP_M = 0.05  # between two points of a lesson
JUMP_M = 0.3  # between two poses of a robot whose odometry was reset
BEND_M = 0.02  # by which a straight line may be beside the way
MAX_POINTS = 200  # of a route
MAPPED_SHARE = 0.8  # of the scans of a lesson that fit, with which a route has a map
MAX_WAY = 20_000  # points of a lesson
ON_WAY_M = 0.1  # from the way, within which the robot may be as near to what it knows as it was when it was taught
BESIDE_M = 0.04  # by which it then may be beside the way
MAX_LEANING_M = 0.2  # by which it may then be nearer than elsewhere


class RouteLesson:
    """The way of a robot that is driven, since the lesson began."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._tracker = MapTracker(ScanMap(), learns=True)
        self._way: list[tuple[float, float]] = []
        self._odometry: Pose | None = None
        self._scans = 0
        self._fitting = 0
        self.length = 0.0  # [m]

    @property
    def seen(self) -> Array:
        """What the lidar has seen (k, 2) [m]; nothing if it saw too little to say where the robot was."""
        enough = self._scans and self._fitting >= MAPPED_SHARE * self._scans
        return self._tracker.surroundings.points if enough else np.zeros((0, 2))

    @property
    def odom_on_map(self) -> Pose:
        """The present place of the frame odom."""
        return self._tracker.odom_on_map

    def take_scan(self, scan: Array, odometry: Pose) -> None:
        """Takes a scan, points (k, 2) [m] in base_footprint, and the pose in odom where it was taken."""
        first = not self._scans
        self._tracker.take_scan(scan, odometry)
        self._scans += 1
        self._fitting += self._tracker.fits and not first

    def take_odometry(self, pose: Pose) -> None:
        """Takes the present pose in odom; after a jump the lesson begins anew."""
        if self._odometry is not None and math.dist(self._odometry[:2], pose[:2]) > JUMP_M:
            self._begin()
        self._odometry = pose
        x, y, _ = self._tracker.pose(pose)
        step = math.dist(self._way[-1], (x, y)) if self._way else math.inf
        if step >= STEP_M and len(self._way) < MAX_WAY:
            self.length += step if self._way else 0.0
            self._way.append((x, y))

    def route(self) -> list[tuple[float, float]]:
        """The way (x, y) [m] with at most MAX_POINTS points, from its first to its present one."""
        end = [self._tracker.pose(self._odometry)[:2]] if self._odometry else []
        return simplified([*self._way, *end])


class TaughtRoute:
    """A route on the map of what the lidar saw: finds the robot there, and tells known obstacles from new ones."""

    def __init__(self, points: Sequence[tuple[float, float]], seen: Array) -> None:
        """`points` (x, y) [m] of the route and `seen` (k, 2) [m] are in one frame."""
        self._surroundings = ScanMap(seen)
        self._way = along(points, STEP_M)
        self._room = min((float(np.hypot(*(seen - place).T).min()) for place in self._way), default=math.inf)

    def find(self, scan: Array, odometry: Pose) -> MapTracker | None:
        """A tracker for a robot that stands somewhere along the route; None if its scan fits nowhere."""
        found = self._surroundings.find(scan, odometry, self._way)
        if not found.is_fit(FOUND_SHARE):
            return None
        tracker = MapTracker(self._surroundings)
        tracker.odom_on_map = found.pose @ odometry.inverse()
        return tracker

    def obstacles(self, seen: Array, place: tuple[float, float], disc: float) -> Array:
        """Obstacles (k, 2) [m] for a disc of that radius [m] at a place, from what the lidar sees (k, 2) [m].

        On the way, known ones are moved away by as much as the taught way was nearer to them than the disc allows: the
        robot has passed there.
        """
        leaning = min(MAX_LEANING_M, disc - self._room + BESIDE_M)
        if not len(seen) or leaning <= 0.0 or float(np.hypot(*(self._way - place).T).min()) > ON_WAY_M:
            return seen
        away = seen - place
        far = np.maximum(np.hypot(*away.T), 1e-6)
        known = self._surroundings.distances(seen) < NEAR_M
        moved: Array = seen + np.where(known, leaning / far, 0.0)[:, None] * away
        return moved


def along(points: Sequence[tuple[float, float]], step: float) -> Array:
    """Places (k, 2) [m] along a way, at most `step` [m] from each other."""
    corners = np.array(points, dtype=float).reshape(-1, 2)
    parts = [corners]
    for start, end in itertools.pairwise(corners):
        count = max(1, math.ceil(math.dist(start, end) / step))
        parts.append(start + (end - start) * np.linspace(0.0, 1.0, count + 1)[:, None])
    return np.concatenate(parts)


def simplified(points: Sequence[tuple[float, float]], bend: float = BEND_M) -> list[tuple[float, float]]:
    """Leaves out the points of a way that are within `bend` [m] of a straight line, more if there are too many.

    Source: Douglas and Peucker, "Algorithms for the reduction of the number of points required to represent a digitized
    line or its caricature" (1973).
    """
    kept = _kept(points, bend)
    return kept if len(kept) <= MAX_POINTS else simplified(points, 2.0 * bend)


def _kept(points: Sequence[tuple[float, float]], bend: float) -> list[tuple[float, float]]:
    kept = {0, len(points) - 1}
    spans = [(0, len(points) - 1)]
    while spans:
        first, last = spans.pop()
        off = [_beside(point, points[first], points[last]) for point in points[first + 1 : last]]
        if off and max(off) > bend:
            middle = first + 1 + off.index(max(off))
            kept.add(middle)
            spans += [(first, middle), (middle, last)]
    return [points[number] for number in sorted(kept) if number >= 0]


def _beside(point: tuple[float, float], start: tuple[float, float], end: tuple[float, float]) -> float:
    """Distance [m] of a point from the line between two others, which may be in the same place."""
    x, y = point
    ax, ay = start
    bx, by = end
    span = (bx - ax) ** 2 + (by - ay) ** 2
    part = min(1.0, max(0.0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / span)) if span > 0.0 else 0.0
    return math.dist(point, (ax + part * (bx - ax), ay + part * (by - ay)))
