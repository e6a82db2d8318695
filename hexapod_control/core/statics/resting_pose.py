"""The resting pose of a robot with given joint angles on flat ground: on its feet, its belly, or both.

Only joint angles are needed, so it gives the pose of a robot that has just been switched on. The ball feet and the
lower corners of the body's box can touch the ground. A plane below all of them that touches three is a face of their
lower hull; the robot rests on a face over which its centre of mass is. If there are several, it is the one nearest to
the level of the body, because the robot was set down upright.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.kinematics.support_detection import SAME_GROUND
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.core.statics.static_stability import center_of_mass, static_margin

TOUCH_TOLERANCE = 1e-6  # [m] rounding of points in the plane of three others
EDGE_TOLERANCE = 1e-12  # [m^2] rounding: twice the area of a triangle of collinear points
MIN_TRIANGLE = 1e-5  # [m^2] of three points that define a plane: 1 mm off a line of 1 cm


@dataclass(frozen=True, slots=True)
class RestingPose:
    """Resting pose of a robot on flat ground."""

    up: Vector  # unit normal of the ground in base_link
    height: float  # [m] of base_link's origin above the ground
    roll: float  # [rad] of the body over the ground, as in BodyPose
    pitch: float  # [rad]
    feet: tuple[bool, ...]  # True for feet that touch the ground, or almost
    on_belly: bool  # whether a corner of the body's box touches the ground
    margin: float  # [m] distance of the centre of mass from the edge of the support polygon


def resting_pose(robot: Robot, joints: Sequence[LegJoints]) -> RestingPose | None:
    """Returns the resting pose for joints (n, 3) [rad]; None if the robot cannot rest upright.

    Ground and joints are assumed rigid, and knees higher than feet and belly.
    """
    points, radii = _points(robot, joints)
    center = center_of_mass(robot, joints)
    face = _face(np.array(points), np.array(radii), np.array(center))
    if face is None:
        return None
    up, height = face
    x, y, z = up
    roll, pitch = math.atan2(y, z), math.atan2(-x, math.hypot(y, z))
    placement = Placement(BodyPose(roll=roll, pitch=pitch), height)
    seen = [placement.to_footprint(*point) for point in points]
    count = len(robot.legs)
    above = [point[2] - radius for point, radius in zip(seen, radii, strict=True)]
    touching = [gap <= (SAME_GROUND if row < count else TOUCH_TOLERANCE) for row, gap in enumerate(above)]
    ground = [point[:2] for point, touches in zip(seen, touching, strict=True) if touches]
    over = placement.to_footprint(*center)[:2]
    return RestingPose(
        up, height, roll, pitch, tuple(touching[:count]), any(touching[count:]), static_margin(ground, over)
    )


def _points(robot: Robot, joints: Sequence[LegJoints]) -> tuple[list[Vector], list[float]]:
    """Returns centres [m] in base_link and radii [m] of the feet, then of the corners of the body."""
    balls = [hip_to_base(leg, leg_forward(leg, row)[1]) for leg, row in zip(robot.legs, joints, strict=True)]
    (x, y, z), (length, width, depth) = robot.body.center, robot.body.size
    corners = [(x + a * length, y + b * width, z - depth / 2) for a, b in product((-0.5, 0.5), repeat=2)]
    return balls + corners, [robot.foot_radius] * len(balls) + [0.0] * len(corners)


@lru_cache(maxsize=8)
def _triples(count: int) -> tuple[NDArray[np.intp], ...]:
    """Returns the indices of the first, second and third point of all combinations of three points."""
    return tuple(np.array(column) for column in zip(*combinations(range(count), 3), strict=True))


def _face(points: Array, radii: Array, center: Array) -> tuple[Vector, float] | None:
    """Returns (unit normal, height of the origin [m]) of the plane on which balls with a centre of mass rest.

    A plane n.p + h = 0 touches the balls i, j, k from below if n.(p_j - p_i) = r_j - r_i, likewise for k, and n is
    a unit vector: n is a combination of the two edges that gives these products, and the rest is along their normal.
    """
    i, j, k = _triples(len(points))
    (ax, ay, az), (bx, by, bz) = (points[j] - points[i]).T, (points[k] - points[i]).T
    normal = np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))
    normal *= np.where(normal[2] < 0.0, -1.0, 1.0)
    area = (normal * normal).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        aa, bb, ab = ax * ax + ay * ay + az * az, bx * bx + by * by + bz * bz, ax * bx + ay * by + az * bz
        da, db = radii[j] - radii[i], radii[k] - radii[i]
        lean = (da * bb - db * ab) / area * np.array((ax, ay, az)) + (db * aa - da * ab) / area * np.array((bx, by, bz))
        up = lean + normal * np.sqrt((1.0 - (lean * lean).sum(axis=0)) / area)
        height = radii[i] - (up * points[i].T).sum(axis=0)
        clear = (up.T @ points.T + height[:, None] - radii).min(axis=1) >= -TOUCH_TOLERANCE
    candidates = np.flatnonzero(clear & (area > MIN_TRIANGLE**2) & (up[2] > 0.0))
    for row in candidates[np.argsort(-up[2, candidates], kind="stable")]:
        if _stands(points[[i[row], j[row], k[row]]], up[:, row], center):
            x, y, z = up[:, row].tolist()
            return (x, y, z), float(height[row])
    return None


def _stands(corners: Array, up: Array, center: Array) -> bool:
    """True if the centre of mass is over the triangle with corners (3, 3) [m], projected along the normal `up`."""
    p, q, r = corners - center
    x, y, z = up
    sides = [
        x * (a[1] * b[2] - a[2] * b[1]) + y * (a[2] * b[0] - a[0] * b[2]) + z * (a[0] * b[1] - a[1] * b[0])
        for a, b in ((p, q), (q, r), (r, p))
    ]
    return min(sides) >= -EDGE_TOLERANCE or max(sides) <= EDGE_TOLERANCE
