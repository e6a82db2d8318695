# SPDX-License-Identifier: Apache-2.0
"""Clearance between neighbouring legs: the gap between their femurs and tibias.

Every femur and tibia is a capsule: a segment (femur axis to knee, knee to the center of the foot's ball) with the
radius of the robot file; a tibia has the radius of its ball if that is larger, so the capsules contain the bars and
balls of the URDF. Each leg is compared with the next one around the body. Everything is in base_link.

Capsules are compared only where legs may be close. Femur and tibia are in a vertical plane, so from above a leg is a
line. Its extent along a fixed axis of each pair takes few operations and gives a lower bound of the gap, which is
sufficient in ordinary walking.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import atan2, cos, dist, hypot, sin, sqrt
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.robot import Leg, Robot, Vector

BODY_POINTS = 12  # of a capsule's axis that are compared with the body
MAX_GAP = 0.05  # [m] wider gaps are not computed: no leg moves this far within a tick


class LegClearance(NamedTuple):
    """The smallest gap between two neighbouring legs."""

    distance: float  # [m] from surface to surface, negative where they overlap; capped at `max_gap`
    legs: tuple[int, int] | None  # rows of the two legs; None if all gaps are at least `max_gap`


class LegCapsule(NamedTuple):
    """The points within a radius of a line segment."""

    start: Vector  # [m]
    end: Vector  # [m]
    radius: float  # [m]


class LegSpan(NamedTuple):
    """A leg seen from above, with its axes towards the next leg and from the previous one."""

    row: int
    hip: tuple[float, float]  # [m]
    yaw: float  # [rad]
    lengths: tuple[float, float, float, float]  # [m] coxa, femur, tibia, lateral offset
    ahead: tuple[float, float]  # unit vector towards the next leg
    behind: tuple[float, float]  # unit vector from the leg before to this one
    thickness: float  # [m] sum of the maximum radii of this leg and the next


@dataclass(frozen=True, slots=True)
class LegNeighbours:
    """The legs of one robot in cyclic order around the body; consecutive legs are neighbours."""

    robot: Robot
    spans: tuple[LegSpan, ...]

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, robot: Robot) -> LegNeighbours:
        """The neighbours in a robot, computed once. Store the result: a cache lookup is slower than computing a gap."""
        middles = [(leg.hip[0] + leg.foothold[0], leg.hip[1] + leg.foothold[1]) for leg in robot.legs]
        x, y = (sum(column) / len(middles) for column in zip(*middles, strict=True))
        order = sorted(range(len(middles)), key=lambda row: atan2(middles[row][1] - y, middles[row][0] - x))
        after = [*order[1:], order[0]]
        # The axis of a pair runs between the middles of its legs, whose neutral directions diverge about it.
        axes = [_unit(middles[a], middles[b]) for a, b in zip(order, after, strict=True)]
        thick = [max(radii(leg, robot)) for leg in robot.legs]
        spans = tuple(
            _span(robot, a, ahead, behind, thick[a] + thick[b])
            for a, b, ahead, behind in zip(order, after, axes, [axes[-1], *axes[:-1]], strict=True)
        )
        return cls(robot, spans)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Rows of all pairs of neighbouring legs."""
        rows = [span.row for span in self.spans]
        return tuple(zip(rows, [*rows[1:], rows[0]], strict=True))

    @property
    def by_row(self) -> tuple[tuple[int, int], ...]:
        """Rows of the two neighbours of each leg, by its row."""
        before = {b: a for a, b in self.pairs}
        return tuple((before[a], b) for a, b in sorted(self.pairs))

    def gap(self, joints: Sequence[LegJoints], max_gap: float = MAX_GAP) -> LegClearance:
        """The smallest gap for joints (n, 3) [rad]; gaps above `max_gap` [m] are not computed."""
        best = LegClearance(max_gap, None)
        fronts, backs = self._extents(joints)
        # Each leg with the next one around the body; the last one, with index -1, comes before the first one.
        for last in range(-1, len(fronts) - 1):
            span = self.spans[last]
            after = last + 1
            if backs[after] - fronts[last] - span.thickness < best.distance:
                pair = span.row, self.spans[after].row
                first, second = (capsules(self.robot, row, joints[row]) for row in pair)
                distance = capsule_distance(first, second, best.distance)
                if distance < best.distance:
                    best = LegClearance(distance, pair)
        return best

    def _extents(self, joints: Sequence[LegJoints]) -> tuple[list[float], list[float]]:
        """Upper ends [m] of the legs along the axis to the next leg, lower ends along that from the previous one."""
        fronts = []
        backs = []
        for row, (hip_x, hip_y), yaw, (coxa, femur, tibia, lateral), ahead, behind, _ in self.spans:
            turn, lift, bend = joints[row]
            heading = yaw + turn
            c, s = cos(heading), sin(heading)
            knee = coxa + femur * cos(lift)
            foot = knee + tibia * cos(lift + bend)
            far = knee if knee > foot else foot
            near = foot if foot < knee else knee
            if coxa > far:
                far = coxa
            elif coxa < near:
                near = coxa
            x = hip_x - lateral * s
            y = hip_y + lateral * c
            ux, uy = ahead
            along = ux * c + uy * s
            fronts.append(ux * x + uy * y + along * (far if along > 0.0 else near))
            ux, uy = behind
            along = ux * c + uy * s
            backs.append(ux * x + uy * y + along * (near if along > 0.0 else far))
        return fronts, backs


def radii(leg: Leg, robot: Robot) -> tuple[float, float]:
    """Radius [m] of a leg's femur and of its tibia with the ball of the foot."""
    return leg.femur.radius, max(leg.tibia.radius, robot.foot_radius)


def capsules(robot: Robot, row: int, joints: LegJoints) -> tuple[LegCapsule, LegCapsule]:
    """Tibia and femur of the leg in a row, in base_link, for its joints [rad]."""
    leg = robot.legs[row]
    coxa, lift, bend = joints
    c, s = cos(leg.hip_yaw + coxa), sin(leg.hip_yaw + coxa)
    x = leg.hip[0] - leg.femur_lateral * s
    y = leg.hip[1] + leg.femur_lateral * c
    z = leg.hip[2] + leg.femur_vertical
    r = leg.coxa.length
    axis = x + r * c, y + r * s, z
    r = r + leg.femur.length * cos(lift)
    z = z + leg.femur.length * sin(lift)
    knee = x + r * c, y + r * s, z
    r = r + leg.tibia.length * cos(lift + bend)
    z = z + leg.tibia.length * sin(lift + bend)
    femur, tibia = radii(leg, robot)
    return LegCapsule(knee, (x + r * c, y + r * s, z), tibia), LegCapsule(axis, knee, femur)


def capsule_distance(first: Sequence[LegCapsule], second: Sequence[LegCapsule], max_distance: float) -> float:
    """Smallest distance [m] between the capsules of two legs, from surface to surface; capped at `max_distance` [m]."""
    best = max_distance
    for (p, q, r), (a, b, t) in product(first, second):
        # Each segment is inside a ball about its middle; capsules in distant balls are skipped. Lengths are doubled.
        x = p[0] + q[0] - a[0] - b[0]
        y = p[1] + q[1] - a[1] - b[1]
        z = p[2] + q[2] - a[2] - b[2]
        apart = 2.0 * (best + r + t) + dist(p, q) + dist(a, b)
        if x * x + y * y + z * z < apart * apart:
            best = min(best, segment_distance(p, q, a, b) - r - t)
    return best


def body_gaps(robot: Robot, joints: Sequence[LegJoints]) -> Array:
    """Gaps (n,) [m] between the body's box and each leg with joints [rad]; negative where a leg is inside."""
    legs = [capsules(robot, row, angles) for row, angles in enumerate(joints)]
    ends = np.array([[(part.start, part.end) for part in leg] for leg in legs])
    radius = np.array([[part.radius for part in leg] for leg in legs])
    share = np.linspace(0.0, 1.0, BODY_POINTS)[:, None]
    points = ends[..., :1, :] + share * (ends[..., 1:, :] - ends[..., :1, :])
    beyond = np.abs(points - robot.body.center) - np.array(robot.body.size) / 2.0
    outside = np.linalg.norm(np.maximum(beyond, 0.0), axis=-1) + np.minimum(beyond.max(-1), 0.0)
    gaps: Array = (outside - radius[..., None]).min((1, 2))
    return gaps


def segment_distance(p: Vector, q: Vector, a: Vector, b: Vector) -> float:
    """Distance [m] between the segments p q and a b [m], both longer than 0.

    Source: C. Ericson, Real-Time Collision Detection, section 5.1.9.
    """
    ux = q[0] - p[0]
    uy = q[1] - p[1]
    uz = q[2] - p[2]
    vx = b[0] - a[0]
    vy = b[1] - a[1]
    vz = b[2] - a[2]
    wx = p[0] - a[0]
    wy = p[1] - a[1]
    wz = p[2] - a[2]
    uu = ux * ux + uy * uy + uz * uz
    vv = vx * vx + vy * vy + vz * vz
    uv = ux * vx + uy * vy + uz * vz
    uw = ux * wx + uy * wy + uz * wz
    vw = vx * wx + vy * wy + vz * wz
    determinant = uu * vv - uv * uv
    # Parallel segments: any point of the first can be used; the end of the second then decides.
    s = min(max((uv * vw - uw * vv) / determinant, 0.0), 1.0) if determinant > 1e-15 * uu * vv else 0.0
    t = (uv * s + vw) / vv
    if t < 0.0:
        s = min(max(-uw / uu, 0.0), 1.0)
        t = 0.0
    elif t > 1.0:
        s = min(max((uv - uw) / uu, 0.0), 1.0)
        t = 1.0
    x = wx + s * ux - t * vx
    y = wy + s * uy - t * vy
    z = wz + s * uz - t * vz
    return sqrt(x * x + y * y + z * z)


def _unit(start: tuple[float, float], end: tuple[float, float]) -> tuple[float, float]:
    dx = end[0] - start[0]
    dy = end[1] - start[1]
    length = hypot(dx, dy)
    return (dx / length, dy / length) if length > 0.0 else (1.0, 0.0)


def _span(robot: Robot, row: int, ahead: tuple[float, float], behind: tuple[float, float], thickness: float) -> LegSpan:
    leg = robot.legs[row]
    lengths = leg.coxa.length, leg.femur.length, leg.tibia.length, leg.femur_lateral
    return LegSpan(row, leg.hip[:2], leg.hip_yaw, lengths, ahead, behind, thickness)
