"""Whole-body inverse kinematics: joint angles for contact points and a body pose, and the foot that is out of reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, UnreachableReason
from hexapod_control.core.kinematics.rolling_contact import ball_center_and_joints, joints_at_contact
from hexapod_control.core.robot import Point, Robot, Vector


class UnreachableFoot(NamedTuple):
    """A foot whose target is out of reach."""

    leg: str
    reason: UnreachableReason
    excess: float  # [m], or [rad] beyond a joint limit


class WholeBodyPose(NamedTuple):
    """Joints and feet of the whole robot in one tick."""

    joints: list[LegJoints]  # [rad]
    centers: list[Vector] | None  # [m] ball centers in base_link; None for a motion in joint space
    contacts: list[tuple[float, float]]  # [m] contact points in base_footprint
    planted: list[bool]
    placement: Placement
    unreached: UnreachableFoot | None


class BodyMotion(Protocol):
    """A motion that is executed tick by tick: a walk, a lift of the body, a move of all feet or joints."""

    def copy(self) -> Self:
        """An independent motion in the same state."""

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """The pose `dt` [s] later; `previous` are the joint angles [rad] of the tick before."""

    def retreat(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose | None:
        """The pose `dt` [s] later on the way to a pose in reach, if `advance` is out of reach; None: it holds."""


def whole_body_pose(
    robot: Robot,
    placement: Placement,
    contacts: list[tuple[float, float]],
    lifts: Sequence[float],
    planted: list[bool],
    previous: Sequence[LegJoints],
) -> WholeBodyPose:
    """The pose with feet `lifts` [m] above their contact points [m, base_footprint]; `previous` joints in [rad]."""
    joints, centers, unreached = [], [], None
    preload, radius = robot.walk.preload, robot.foot_radius
    for leg, contact, lift, before in zip(robot.legs, contacts, lifts, previous, strict=True):
        center, solution = ball_center_and_joints(leg, contact, lift - preload, placement, radius, before)
        angles, reason, excess = solution
        centers.append(center)
        joints.append(angles)
        if reason is not None and unreached is None:
            unreached = UnreachableFoot(leg.name, reason, excess)
    return WholeBodyPose(joints, centers, contacts, planted, placement, unreached)


def joints_in_pose(robot: Robot, contacts: Sequence[Point], pose: BodyPose) -> tuple[LegJoints, ...] | None:
    """Joint angles (n, 3) [rad] of a robot that stands at given contact points in a body pose.

    `contacts` (n, 2) [m] are in base_footprint. None if a foot is out of reach.
    """
    placement = Placement(pose, robot.walk.height)
    solutions = [
        joints_at_contact(leg, contact, -robot.walk.preload, placement, robot.foot_radius)
        for leg, contact in zip(robot.legs, contacts, strict=True)
    ]
    return None if any(reason for _, reason, _ in solutions) else tuple(joints for joints, _, _ in solutions)


def joints_at_offset(robot: Robot, contacts: Sequence[Point], offset: float) -> tuple[LegJoints, ...] | None:
    """As `joints_in_pose` with a level body, `offset` [m] above the walk height."""
    return joints_in_pose(robot, contacts, BodyPose(z=offset))


def standing_joints(robot: Robot) -> tuple[LegJoints, ...]:
    """Joint angles (n, 3) [rad] of a robot that stands in its neutral stance."""
    joints = joints_at_offset(robot, robot.footholds, 0.0)
    assert joints is not None  # the neutral stance is in reach, or the robot file would be refused
    return joints
