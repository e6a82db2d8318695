# SPDX-License-Identifier: Apache-2.0
"""Contact points and supporting feet of a robot on flat ground, from its joint angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.kinematics.whole_body import rolling_shift
from hexapod_control.core.robot import Robot, Vector

SAME_GROUND = 0.006  # [m] feet this much higher than the lowest are still on the ground: loaded servos deflect


class DetectedSupport(NamedTuple):
    """Pose of a robot on flat ground, and the feet that support it."""

    pose: BodyPose
    centers: list[Vector]  # [m] of the balls in base_link
    contacts: list[tuple[float, float]]  # [m] contact points in base_footprint
    heights: list[float]  # [m] of the contact points above the ground
    planted: list[bool]  # by foot; all False if the belly is on the ground, or almost
    placement: Placement


def belly_height(robot: Robot) -> float:
    """Height of base_link [m] with the level body on the ground."""
    return robot.body.size[2] / 2 - robot.body.center[2]


def detect_support(robot: Robot, joints: Sequence[LegJoints], pose: BodyPose) -> DetectedSupport:
    """Pose and support of a robot with joints (n, 3) [rad] and the position and attitude of a body pose.

    The height of that pose is not used: it follows from the lowest foot, or the belly, which is on the ground.
    """
    level = Placement(pose._replace(z=0.0), 0.0)
    centers = [hip_to_base(leg, leg_forward(leg, angles)[1]) for leg, angles in zip(robot.legs, joints, strict=True)]
    points = [level.to_footprint(*center) for center in centers]
    on_feet = robot.foot_radius - min(point[2] for point in points)
    on_belly = _tilted_belly_height(robot, level)
    height = max(on_feet, on_belly)
    pose = pose._replace(z=height - robot.walk.height)
    placement = Placement(pose, robot.walk.height)
    contacts = []
    heights = []
    for leg, angles, (x, y, z) in zip(robot.legs, joints, points, strict=True):
        shift = rolling_shift(leg, angles, placement, robot.foot_radius)
        contacts.append((x - shift[0], y - shift[1]))
        heights.append(z + height - robot.foot_radius)
    planted = [on_feet > on_belly + SAME_GROUND and lift <= SAME_GROUND for lift in heights]
    return DetectedSupport(pose, centers, contacts, heights, planted, placement)


def _tilted_belly_height(robot: Robot, placement: Placement) -> float:
    """Height of base_link [m] with the lowest corner of the tilted body on the ground."""
    (cx, cy, cz), (sx, sy, sz) = robot.body.center, robot.body.size
    x, y, z = placement.rotation[2]  # the vertical in base_link
    extent = abs(x) * sx / 2 + abs(y) * sy / 2 + abs(z) * sz / 2
    return extent - math.fsum((x * cx, y * cy, z * cz))
