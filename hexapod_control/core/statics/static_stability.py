# SPDX-License-Identifier: Apache-2.0
"""Static stability: support polygon, center of mass, static margin and foot loads.

The support polygon is the convex hull of the feet on the ground, seen from above; the static margin is the distance of
the center of mass from its nearest edge. See docs/architecture/walking-mathematics.md, "Static stability and margin
recovery".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import cos, hypot, sin

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.robot import Point, Robot, Vector

GRAVITY = 9.81  # [m/s^2]
STEEPEST_COSINE = 0.5  # of a slope; beyond, the robot does not stand on its feet
MIN_SUPPORTING_FEET = 3  # fewer feet on the ground have no support polygon


def convex_hull(points: Sequence[Point]) -> list[Point]:
    """Returns the corners of the convex hull of points [m], counter-clockwise (Andrew's monotone chain)."""
    ordered = sorted(set(points))
    if len(ordered) < 3:
        return ordered
    if len(ordered) == 3:  # as in every tick of a tripod gait
        (x0, y0), (x1, y1), (x2, y2) = ordered
        turn = (x1 - x0) * (y2 - y0) - (y1 - y0) * (x2 - x0)
        return ordered if turn > 0.0 else ordered[::-1] if turn < 0.0 else ordered[::2]

    def chain(sequence: Sequence[Point]) -> list[Point]:
        corners: list[Point] = []
        for x, y in sequence:
            while len(corners) > 1:
                (x1, y1), (x0, y0) = corners[-1], corners[-2]
                if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):
                    break
                corners.pop()
            corners.append((x, y))
        return corners[:-1]

    return chain(ordered) + chain(ordered[::-1])


def static_margin(feet: Sequence[Point], center: Point) -> float:
    """Returns the distance [m] of the center of mass from the edge of the support polygon, negative outside.

    It is minus infinity for fewer than three feet, or feet in a line, which have no support polygon.
    """
    cx, cy = center
    return min(nx * cx + ny * cy - offset for nx, ny, offset in support_edges(feet))


def support_edges(feet: Sequence[Point]) -> list[Vector]:
    """Returns the edges (nx, ny, offset) of the support polygon: (x, y) is nx * x + ny * y - offset [m] inside of one.

    For fewer than three feet, or feet in a line, no point is inside.
    """
    corners = convex_hull(feet)
    if len(corners) < 3:
        return [(0.0, 0.0, math.inf)]
    x0, y0 = corners[-1]
    edges = []
    for x1, y1 in corners:
        dx = x1 - x0
        dy = y1 - y0
        length = hypot(dx, dy)
        edges.append((-dy / length, dx / length, (dx * y0 - dy * x0) / length))
        x0 = x1
        y0 = y1
    return edges


def direction_inwards(feet: Sequence[Point], center: Point) -> Point:
    """Returns the inward unit normal of the edge of the support polygon that is nearest to the center of mass.

    Feet (n, 2) and center of mass in [m]; (0, 0) without an edge.
    """
    corners = convex_hull(feet)
    best = math.inf
    direction = (0.0, 0.0)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        dx = x1 - x0
        dy = y1 - y0
        length = hypot(dx, dy)
        gap = (dx * (center[1] - y0) - dy * (center[0] - x0)) / length if length > 0.0 else math.inf
        if gap < best:
            best = gap
            direction = (-dy / length, dx / length)
    return direction


def center_of_mass(robot: Robot, joints: Sequence[LegJoints]) -> Vector:
    """Returns the center of mass [m] in base_link, legs included, for joints (n, 3) [rad]."""
    mass = robot.body.mass
    x, y, z = (mass * c for c in robot.body.center_of_mass)
    for leg, (coxa, femur, tibia) in zip(robot.legs, joints, strict=True):
        m, along, across, up, of_femur, of_tibia = leg.moments
        heading = leg.hip_yaw + coxa
        angle = femur + tibia
        c, s = cos(heading), sin(heading)
        r = along + of_femur * cos(femur) + of_tibia * cos(angle)
        hip_x, hip_y, hip_z = leg.hip
        x += m * hip_x + r * c - across * s
        y += m * hip_y + r * s + across * c
        z += m * hip_z + up + of_femur * sin(femur) + of_tibia * sin(angle)
        mass += m
    return x / mass, y / mass, z / mass


def center_of_mass_in_footprint(robot: Robot, joints: Sequence[LegJoints], pose: BodyPose) -> Point:
    """Returns the center of mass (x, y) [m] in base_footprint for joints (n, 3) [rad] and a body pose."""
    x, y, _ = Placement(pose, robot.walk.height).to_footprint(*center_of_mass(robot, joints))
    return x, y


def upwards(tilt: Point) -> Vector:
    """Returns the vertical, a unit vector in base_link, for its roll and pitch [rad]."""
    roll, pitch = tilt
    return -sin(pitch), cos(pitch) * sin(roll), cos(pitch) * cos(roll)


def weight_on_ground(robot: Robot, joints: Sequence[LegJoints], placement: Placement, tilt: Point | None) -> Point:
    """Returns where the vertical through the center of mass meets the plane of the feet, (x, y) [m] in base_footprint.

    Joints (n, 3) in [rad]; `tilt` are roll and pitch [rad] of base_link; None: unknown, the plane counts as level.
    """
    x, y, z = placement.to_footprint(*center_of_mass(robot, joints))
    if tilt is None:
        return x, y
    a, b, c = placement.rotate(*upwards(tilt))
    return (x - z * a / c, y - z * b / c) if c > STEEPEST_COSINE else (x, y)


def margins_by_legs_in_swing(footholds: Sequence[Point], center: Point) -> tuple[float, ...]:
    """Returns the static margin [m] for every set of legs in swing, with all others planted at their footholds [m].

    The index is a bit mask: bit k is set if leg k is in swing. `center` is the center of mass (x, y) [m].
    """
    count = len(footholds)
    return tuple(
        static_margin([p for i, p in enumerate(footholds) if not mask >> i & 1], center) for mask in range(1 << count)
    )


def foot_loads(feet: Sequence[Point], planted: Sequence[bool], center: Point, weight: float) -> list[float]:
    """Returns the load of each foot [N], 0 in swing, for a weight [N] and a center of mass (x, y) [m].

    Of the loads in balance with the weight, those with the smallest sum of squares; negative ones are set to zero,
    because feet cannot pull.
    """
    count = sum(planted)
    if count == 0:
        return [0.0] * len(feet)
    cx, cy = center
    sx = sy = sxx = sxy = syy = 0.0
    for (x, y), down in zip(feet, planted, strict=True):
        if down:
            x = x - cx
            y = y - cy
            sx = sx + x
            sy = sy + y
            sxx = sxx + x * x
            sxy = sxy + x * y
            syy = syy + y * y
    # They are f = a + b x + c y, with sum f = weight and zero moments about the center of mass.
    determinant = count * (sxx * syy - sxy * sxy) - sx * (sx * syy - sxy * sy) + sy * (sx * sxy - sxx * sy)
    if abs(determinant) < 1e-15:
        return [weight / count if down else 0.0 for down in planted]
    a = weight * (sxx * syy - sxy * sxy) / determinant
    b = weight * (sxy * sy - sx * syy) / determinant
    c = weight * (sx * sxy - sxx * sy) / determinant
    return [
        max(0.0, a + b * (x - cx) + c * (y - cy)) if down else 0.0 for (x, y), down in zip(feet, planted, strict=True)
    ]
