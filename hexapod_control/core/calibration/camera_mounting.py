# SPDX-License-Identifier: Apache-2.0
"""The pose of a depth camera on the body, from the floor that it sees while the robot stands in several body poses.

A robot that stands knows where the floor is: the plane of its feet, n x = d in base_link. A point p of the floor in
the camera's optical frame must lie on it. With the rotation R and the position t of the camera

    n (R p + t) = d

One pose tells roll, pitch and height. Heading and place along and across follow from the differences between tilted
poses only, so less surely; they are drawn to what was measured by hand, by HAND_ANGLE and HAND_POSITION.

Solved for R and t by Gauss-Newton, with the weights 1 / (1 + (r / s)^2)^2 of residuals r [m] (Geman and McClure, 1987).
Their scale s shrinks from one step to the next, so that legs, walls and things on the floor lose their weight. What a
result is worth is found by the jackknife: by how much it changes if each pose is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, rotation_angles
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.robot import Camera, Robot
from hexapod_control.core.sensing.cameras import OPTICAL, optical_rotation
from hexapod_control.core.terrain.own_legs import on_robot

TILT = math.radians(8.0)  # [rad] of the body
BODY_POSES = (
    BodyPose(),
    *(BodyPose(roll=roll, pitch=pitch) for roll, pitch in ((TILT, TILT), (TILT, -TILT), (-TILT, -TILT), (-TILT, TILT))),
)
"""Body poses in which the camera looks at the floor."""
HAND_ANGLE = math.radians(20.0)  # [rad] deviation of a heading that was measured by hand: wide, so that ...
HAND_POSITION = 0.03  # [m] ... neither it nor that of a position hides what the jackknife finds
POSE_DEVIATION = 0.003  # [m] of the plane of the feet in one pose: play of the joints
SCALES = (0.06, 0.04, 0.03, 0.02, 0.015, 0.01, 0.01, 0.01)  # [m] s of the steps
RANGE_NOISE = 0.01  # [1] of the distance, by which far points are worth less
ON_FLOOR = 2.0  # in units of the last scale: points that count as floor
MIN_FLOOR_SHARE = 0.3  # of the points beside the robot, that must lie on the floor
MIN_POINTS = 50  # of one pose
MAX_CHANGE = (0.08, math.radians(20.0))  # [m], [rad] beyond which the camera did not see the floor, or is another one
MAX_FLOOR_DEVIATION = 0.006  # [m] of the points that count as floor
MAX_UNEVEN = 0.01  # [m] by which a foot is off the plane of all feet


class MountingError(ValueError):
    """What the camera has seen does not tell how it is mounted."""


@dataclass(frozen=True, slots=True)
class FloorView:
    """What a camera saw while the robot stood in one body pose."""

    joints: Array  # (legs, 3) [rad]
    points: Array  # (n, 3) [m] in the optical frame


@dataclass(frozen=True, slots=True)
class Mounting:
    """The pose of a camera, with standard deviations."""

    camera: Camera  # with the position and angles that were found
    position_deviation: Array  # (3,) [m]
    angle_deviation: Array  # (3,) [rad] about x, y and z of base_link
    floor_deviation: float  # [m] of the points of the floor from the plane of the feet


def find_mounting(robot: Robot, camera: Camera, views: Sequence[FloorView]) -> Mounting:
    """Returns the mounting of a `camera`, which has been measured by hand, from views in three or more body poses.

    Raises MountingError.
    """
    planes = [_feet_plane(robot, view.joints) for view in views]
    found = camera
    for _ in range(2):  # what hides the floor is known once the mounting is
        seen = [_beside_robot(robot, found, view) for view in views]
        found = _fitted(camera, camera, seen, planes)
    _refuse_change(camera, found)
    residuals = [_residuals(found, points, plane) for points, plane in zip(seen, planes, strict=True)]
    on_floor = np.concatenate([np.abs(each) < ON_FLOOR * SCALES[-1] for each in residuals])
    if on_floor.mean() < MIN_FLOOR_SHARE:
        text = f"only {100.0 * on_floor.mean():.0f} % of what {camera.name} sees is the floor on which the robot stands"
        raise MountingError(text)
    deviation = float(np.concatenate(residuals)[on_floor].std())
    if deviation > MAX_FLOOR_DEVIATION:
        raise MountingError(f"the floor that {camera.name} sees is uneven: it deviates by {1000.0 * deviation:.0f} mm")
    without = [
        _fitted(camera, found, [*seen[:k], *seen[k + 1 :]], [*planes[:k], *planes[k + 1 :]]) for k in range(len(seen))
    ]
    moves = np.array([other.position for other in without])
    turns = np.array([_turn(optical_rotation(other) @ optical_rotation(found).T) for other in without])
    share = (len(seen) - 1.0) / len(seen)
    moves, turns = (np.sqrt(share * ((each - each.mean(0)) ** 2).sum(0)) for each in (moves, turns))
    return Mounting(found, moves, turns, deviation)


def _feet_plane(robot: Robot, joints: Array) -> tuple[Array, float]:
    """Unit normal (3,), upwards, and distance [m] of the floor under the feet, n x = d in base_link.

    Raises MountingError if they do not stand on a plane.
    """
    feet = forward(robot, joints)
    middle = feet.mean(0)
    normal = np.linalg.svd(feet - middle)[2][2]
    normal = normal * math.copysign(1.0, normal[2])
    off = np.abs((feet - middle) @ normal)
    if off.max() > MAX_UNEVEN:
        leg = robot.legs[int(off.argmax())].name
        raise MountingError(f"the foot of {leg} is {1000.0 * off.max():.0f} mm off the plane of the others")
    return normal, float(normal @ middle) - robot.foot_radius


def _beside_robot(robot: Robot, camera: Camera, view: FloorView) -> Array:
    """The points (n, 3) [m] of a view that do not lie on the robot."""
    lens = np.array(camera.position)
    own = on_robot(robot, view.joints, view.points @ optical_rotation(camera).T + lens, lens)
    if np.count_nonzero(~own) < MIN_POINTS:
        raise MountingError(f"{camera.name} sees hardly anything beside the robot in one of the poses")
    return view.points[~own]


def _residuals(camera: Camera, points: Array, plane: tuple[Array, float]) -> Array:
    """Heights (n,) [m] of points over the plane of the feet."""
    normal, distance = plane
    heights: Array = (points @ optical_rotation(camera).T + np.array(camera.position)) @ normal - distance
    return heights


def _fitted(hand: Camera, start: Camera, seen: Sequence[Array], planes: Sequence[tuple[Array, float]]) -> Camera:
    """The camera that fits points (n, 3) [m] of floors best; `hand` was measured by hand."""
    found = start
    by_hand = optical_rotation(hand)
    for scale in SCALES:
        rotation = optical_rotation(found)
        position = np.array(found.position)
        # Turn (3) and shift (3) of the mounting in base_link; heading, x and y have a measured value.
        expected = np.concatenate((_turn(by_hand @ rotation.T), np.array(hand.position) - position))
        certainty = np.array((0.0, 0.0, HAND_ANGLE**-2, HAND_POSITION**-2, HAND_POSITION**-2, 0.0))
        normals = np.diag(certainty)
        right = certainty * expected
        for points, (normal, distance) in zip(seen, planes, strict=True):
            arms = points @ rotation.T
            heights = (arms + position) @ normal - distance
            weights = 1.0 / (1.0 + (heights / scale) ** 2) ** 2
            weights /= POSE_DEVIATION**2 + (RANGE_NOISE * points[:, 2]) ** 2
            weights *= 3.0 / (POSE_DEVIATION**2 * max(weights.sum(), 1e-9))  # a pose tells a plane: three values
            jacobian = np.column_stack((np.cross(arms, normal), np.tile(normal, (len(points), 1))))
            normals += jacobian.T @ (weights[:, None] * jacobian)
            right -= jacobian.T @ (weights * heights)
        step = np.linalg.solve(normals, right)
        found = _placed(found, np.array(BodyPose(0.0, 0.0, 0.0, *step[:3]).rotation()) @ rotation, position + step[3:])
    return found


def _placed(camera: Camera, rotation: Array, position: Array) -> Camera:
    """The camera with another rotation (3, 3) of its optical frame, and another position (3,) [m]."""
    x, y, z = position.tolist()
    angles = rotation_angles(rotation @ np.array(OPTICAL.rotation()).T)
    return replace(camera, position=(x, y, z), rpy=angles)


def _turn(rotation: Array) -> Array:
    """The turn (3,) [rad] of a rotation (3, 3) about x, y and z; of a small one."""
    turn: Array = 0.5 * np.array([rotation[k - 1, k - 2] - rotation[k - 2, k - 1] for k in range(3)])
    return turn


def _refuse_change(hand: Camera, found: Camera) -> None:
    """Raises MountingError if a camera is far from where it was measured to be."""
    shift = math.dist(hand.position, found.position)
    angle = float(np.linalg.norm(_turn(optical_rotation(hand) @ optical_rotation(found).T)))
    if shift > MAX_CHANGE[0] or angle > MAX_CHANGE[1]:
        text = (
            f"{found.name} would be {1000.0 * shift:.0f} mm and {math.degrees(angle):.0f} deg away from where the file "
            "says that it is"
        )
        raise MountingError(text)
