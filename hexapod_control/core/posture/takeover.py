"""Take-over of a standing robot: contact points, attitude and height from measured joints.

A planner that is started or restarted while the robot stands or walks must not make it collapse. Five steps:

1. Every leg must be at the knee-up solution of its inverse kinematics, which the planner uses.
2. Statics gives the resting pose on flat ground (resting_pose.py): roll, pitch and height of the body. The robot is not
   taken over if its belly touches or almost touches (measured joints are not more accurate), or if it cannot walk at
   that height.
3. Forward kinematics in that attitude gives the contact points of all feet. A foot above the ground is in the air; its
   contact is the point below it, where it will be set down.
4. x, y and yaw of the body over its neutral stance are those of the rigid motion that maps the contact points to the
   neutral footholds in least squares (`kinematics.rigid_fit`).
5. All feet must reach the ground in that pose. The joints for it are the goal of the move that sets feet down.

See docs/architecture/walking-mathematics.md, "Taking over a standing robot".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, leg_forward, leg_inverse
from hexapod_control.core.kinematics.rigid_fit import fit_rigid
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import joints_in_pose
from hexapod_control.core.robot import Leg, Point, Robot
from hexapod_control.core.statics.resting_pose import resting_pose
from hexapod_control.core.workspace.stance_regions import StanceRegionTable

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
    if rest is None or rest.on_belly or not stances.lowest <= rest.height <= stances.highest:
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
