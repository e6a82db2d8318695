"""Taking over a robot that already stands: its feet, attitude and height from measured joints.

A planner that starts (again) under a standing or walking robot must not drop it. The feet it rests on tell how its body
leans and how high it is; feet above the ground are in the air and will be set down below where they are. Where the body
is over its feet, and how it is turned, follows from the neutral footholds laid over them as well as they fit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, leg_forward, leg_inverse
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Leg, Point, Robot
from hexapod_control.core.statics.resting_pose import resting
from hexapod_control.core.workspace.stance_regions import StanceRegionTable

DIGITS = 9  # of a pose [m, rad] that count: by rounding a body at home would have a hair to go
SAME_ANGLE = 1e-6  # [rad] by which a pose on the knee-up branch may differ from its own inverse


class StandingRobot(NamedTuple):
    """A robot that was found standing."""

    contacts: list[Point]  # [m, base_footprint] of its feet, or below those in the air
    pose: BodyPose
    row: tuple[LegJoints, ...]  # [rad] joints with all feet on the ground


def take_over(robot: Robot, stances: StanceRegionTable, joints: Sequence[LegJoints]) -> StandingRobot | None:
    """What a robot that stands with joints (n, 3) [rad] is taken over with; None if it does not stand.

    It stands if it is on the knee-up branch, rests on its feet alone, at a height where it can walk, and every foot
    reaches the ground below it.
    """
    if not all(_knee_up(leg, row) for leg, row in zip(robot.legs, joints, strict=True)):
        return None
    rest = resting(robot, joints)
    if rest is None or rest.on_belly or not stances.lowest <= rest.height <= stances.highest:
        return None
    found = detect_support(robot, joints, BodyPose(roll=rest.roll, pitch=rest.pitch))
    body = _laid_over(stances.at(rest.height).footholds, found.contacts)
    contacts = [body.apply(*contact) for contact in found.contacts]
    pose = found.pose._replace(x=body.x, y=body.y, yaw=body.yaw)
    pose = BodyPose(*(round(value, DIGITS) + 0.0 for value in pose))
    row = joints_in_pose(robot, contacts, pose)
    return None if row is None else StandingRobot(contacts, pose, row)


def _laid_over(footholds: Sequence[Point], contacts: Sequence[Point]) -> Pose:
    """The pose of the frame of `contacts` [m] in that of the footholds [m] in which they are nearest in square."""
    count = len(contacts)
    (hx, hy), (cx, cy) = (
        (math.fsum(axis) / count for axis in zip(*points, strict=True)) for points in (footholds, contacts)
    )
    pairs = [(x - cx, y - cy, u - hx, v - hy) for (x, y), (u, v) in zip(contacts, footholds, strict=True)]
    yaw = math.atan2(math.fsum(x * v - y * u for x, y, u, v in pairs), math.fsum(x * u + y * v for x, y, u, v in pairs))
    x, y = Pose(0.0, 0.0, yaw).apply(cx, cy)
    return Pose(hx - x, hy - y, yaw)


def _knee_up(leg: Leg, joints: LegJoints) -> bool:
    solution = leg_inverse(leg, leg_forward(leg, joints)[1], joints)
    return not solution.reason and max(abs(a - b) for a, b in zip(solution.joints, joints, strict=True)) <= SAME_ANGLE
