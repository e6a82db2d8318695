# SPDX-License-Identifier: Apache-2.0
"""Take-over of a standing robot: contact points, attitude and height from measured joints.

A planner that is started or restarted while the robot stands or walks must not make it collapse. Five steps:

1. Every leg must be at the knee-up solution of its inverse kinematics, which the planner uses.
2. Statics gives the resting pose on flat ground: roll, pitch and height of the body. The robot is not
   taken over if its belly touches or almost touches (measured joints are not more accurate), or if it cannot walk at
   that height.
3. Forward kinematics in that attitude gives the contact points of all feet. A foot above the ground is in the air; its
   contact is the point below it, where it will be set down.
4. x, y and yaw of the body over its neutral stance are those of the rigid motion that maps the contact points to the
   neutral footholds in least squares (`kinematics.fits`).
5. All feet must reach the ground in that pose. The joints for it are the goal of the move that sets feet down.

See docs/architecture/walking-mathematics.md, "Taking over a standing robot".

The resting pose is that of given joint angles on flat ground: on the feet, the belly, or both. Only joint angles are
needed, so this is known for a robot that has just been switched on. The ball feet and the lower corners of the body's
box can touch the ground. A plane below all of them that touches three of them is a face of their lower convex hull. The
robot rests on a face if its center of mass is over the triangle of these three. If there are several such faces, it is
the one with the smallest tilt of the body, because the robot was set down upright.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.fits import fit_rigid
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward, leg_inverse
from hexapod_control.core.kinematics.support_detection import SAME_GROUND, detect_support
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Leg, Point, Robot, Vector
from hexapod_control.core.statics.static_stability import center_of_mass, static_margin
from hexapod_control.core.workspace.stance_regions import StanceRegionTable

TOUCH_TOLERANCE = 1e-6  # [m] for rounding: height of points in the plane of three others
EDGE_TOLERANCE = 1e-12  # [m^2] for rounding: twice the area of a triangle of collinear points
MIN_TRIANGLE = 1e-5  # [m^2] of three points that define a plane: 1 mm off a line of 1 cm


@dataclass(frozen=True, slots=True)
class RestingPose:
    """Resting pose of a robot on flat ground."""

    up: Vector  # unit normal of the ground in base_link
    height: float  # [m] of base_link's origin above the ground
    roll: float  # [rad] of the body over the ground, as in BodyPose
    pitch: float  # [rad]
    feet: tuple[bool, ...]  # True for feet that touch the ground, or almost
    on_belly: bool  # whether a corner of the body touches the ground
    margin: float  # [m] distance of the center of mass from the edge of the support polygon


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
    roll = math.atan2(y, z)
    pitch = math.atan2(-x, math.hypot(y, z))
    placement = Placement(BodyPose(roll=roll, pitch=pitch), height)
    above_ground = [placement.to_footprint(*point) for point in points]
    count = len(robot.legs)
    gaps = [point[2] - radius for point, radius in zip(above_ground, radii, strict=True)]
    touching = [gap <= (SAME_GROUND if row < count else TOUCH_TOLERANCE) for row, gap in enumerate(gaps)]
    contacts = [point[:2] for point, touches in zip(above_ground, touching, strict=True) if touches]
    margin = static_margin(contacts, placement.to_footprint(*center)[:2])
    return RestingPose(up, height, roll, pitch, tuple(touching[:count]), any(touching[count:]), margin)


def _points(robot: Robot, joints: Sequence[LegJoints]) -> tuple[list[Vector], list[float]]:
    """Returns centers [m] in base_link and radii [m] of the feet, then of the corners of the body."""
    balls = [hip_to_base(leg, leg_forward(leg, angles)[1]) for leg, angles in zip(robot.legs, joints, strict=True)]
    (x, y, z), (length, width, depth) = robot.body.center, robot.body.size
    corners = [(x + a * length, y + b * width, z - depth / 2) for a, b in product((-0.5, 0.5), repeat=2)]
    return balls + corners, [robot.foot_radius] * len(balls) + [0.0] * len(corners)


@lru_cache(maxsize=8)
def _triples(count: int) -> tuple[NDArray[np.intp], ...]:
    """Returns the indices of the first, second and third point of all combinations of three points."""
    return tuple(np.array(column) for column in zip(*combinations(range(count), 3), strict=True))


def _face(points: Array, radii: Array, center: Array) -> tuple[Vector, float] | None:
    """Returns (unit normal, height of the origin [m]) of the plane on which balls rest; None if there is none.

    Centers (N, 3), radii (N,) and center of mass (3,) in [m]. A plane n.p + h = 0 touches the balls i, j, k from below
    if n is a unit vector with n.(p_j - p_i) = r_j - r_i, and likewise for k. So n is the combination of both edges
    p_j - p_i and p_k - p_i that gives these products, plus a part along their normal.
    """
    i, j, k = _triples(len(points))
    ax, ay, az = (points[j] - points[i]).T
    bx, by, bz = (points[k] - points[i]).T
    normal = np.array((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx))
    normal *= np.where(normal[2] < 0.0, -1.0, 1.0)
    area = (normal * normal).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        aa = ax * ax + ay * ay + az * az
        bb = bx * bx + by * by + bz * bz
        ab = ax * bx + ay * by + az * bz
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
    """True if the center of mass is over the triangle with corners (3, 3) [m], projected along the normal `up`."""
    p, q, r = corners - center
    x, y, z = up
    sides = [
        x * (a[1] * b[2] - a[2] * b[1]) + y * (a[2] * b[0] - a[0] * b[2]) + z * (a[0] * b[1] - a[1] * b[0])
        for a, b in ((p, q), (q, r), (r, p))
    ]
    return min(sides) >= -EDGE_TOLERANCE or max(sides) <= EDGE_TOLERANCE


POSE_DIGITS = 9  # rounding of the pose [m, rad], so that a robot in its neutral stance has exactly the neutral pose
KNEE_UP_TOLERANCE_RAD = 1e-6  # [rad] between measured joints and the knee-up solution of the inverse kinematics


class StandingRobot(NamedTuple):
    """The contacts, body pose and joint angles of a robot that was found standing."""

    contacts: list[Point]  # [m, base_footprint] of its feet, or below those in the air
    pose: BodyPose
    joints: tuple[LegJoints, ...]  # [rad] with all feet on the ground


def take_over(robot: Robot, stances: StanceRegionTable, joints: Sequence[LegJoints]) -> StandingRobot | None:
    """Returns contacts and pose of a robot that stands with joints (n, 3) [rad]; None if it does not stand.

    It stands if all knees are up, it rests on its feet alone at a height where it can walk, and every foot reaches the
    ground below it.
    """
    if not all(_knee_up(leg, angles) for leg, angles in zip(robot.legs, joints, strict=True)):
        return None
    rest = resting_pose(robot, joints)
    if rest is None or rest.on_belly or not stances.contains(rest.height):
        return None
    support = detect_support(robot, joints, BodyPose(roll=rest.roll, pitch=rest.pitch))
    if not any(support.planted):
        return None
    body = fit_rigid(support.contacts, stances.at(rest.height).footholds)
    contacts = [body.apply(*contact) for contact in support.contacts]
    pose = support.pose._replace(x=body.x, y=body.y, yaw=body.yaw)
    pose = BodyPose(*(round(value, POSE_DIGITS) + 0.0 for value in pose))
    goal = joints_in_pose(robot, contacts, pose)
    return None if goal is None else StandingRobot(contacts, pose, goal)


def _knee_up(leg: Leg, joints: LegJoints) -> bool:
    """True if joints [rad] are the knee-up solution for their foot position."""
    solution = leg_inverse(leg, leg_forward(leg, joints)[1], joints)
    return (
        not solution.reason
        and max(abs(a - b) for a, b in zip(solution.joints, joints, strict=True)) <= KNEE_UP_TOLERANCE_RAD
    )
