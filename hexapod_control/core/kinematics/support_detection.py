"""Foot positions for given joint angles, and which feet support the robot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, hip_to_base, leg_forward
from hexapod_control.core.kinematics.rolling_contact import rolling_shift
from hexapod_control.core.robot import Robot, Vector

SAME_GROUND = 0.006  # [m] feet within this of the lowest are on the ground: a loaded servo deflects a little


class DetectedSupport(NamedTuple):
    """Support of a standing or lying robot."""

    pose: BodyPose
    centres: list[Vector]  # [m] of the balls in base_link
    contacts: list[tuple[float, float]]  # [m] contact points in base_footprint
    lifts: list[float]  # [m] of the contact points above the ground
    planted: list[bool]  # none if the body lies on its belly, or almost
    placement: Placement


def belly_height(robot: Robot) -> float:
    """Height of base_link [m] with the level body on the ground."""
    return robot.body.size[2] / 2 - robot.body.center[2]


def detect_support(robot: Robot, joints: Sequence[LegJoints], pose: BodyPose) -> DetectedSupport:
    """Support of the robot for joints (n, 3) [rad] and the attitude and heading of a body pose.

    The height of the pose is not used: the lowest foot, or the belly, is on the ground.
    """
    level = Placement(pose._replace(z=0.0), 0.0)
    centres = [hip_to_base(leg, leg_forward(leg, row)[1]) for leg, row in zip(robot.legs, joints, strict=True)]
    points = [level.to_footprint(*centre) for centre in centres]
    on_feet, on_belly = robot.foot_radius - min(point[2] for point in points), _belly(robot, level)
    height = max(on_feet, on_belly)
    pose = pose._replace(z=height - robot.walk.height)
    placement = Placement(pose, robot.walk.height)
    contacts, lifts = [], []
    for leg, row, (x, y, z) in zip(robot.legs, joints, points, strict=True):
        shift = rolling_shift(leg, row, placement, robot.foot_radius)
        contacts.append((x - shift[0], y - shift[1]))
        lifts.append(z + height - robot.foot_radius)
    planted = [on_feet > on_belly + SAME_GROUND and lift <= SAME_GROUND for lift in lifts]
    return DetectedSupport(pose, centres, contacts, lifts, planted, placement)


def _belly(robot: Robot, placement: Placement) -> float:
    """Height of base_link [m] with the lowest corner of the body on the ground."""
    (cx, cy, cz), (sx, sy, sz) = robot.body.center, robot.body.size
    row = placement.rotation[2]
    extent = abs(row[0]) * sx / 2 + abs(row[1]) * sy / 2 + abs(row[2]) * sz / 2
    return extent - math.fsum((row[0] * cx, row[1] * cy, row[2] * cz))
