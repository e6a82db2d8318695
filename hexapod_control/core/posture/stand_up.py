# SPDX-License-Identifier: Apache-2.0
"""The vertical move of the body in standing up and lying down, and the posture of the robot on its belly.

Standing up starts from the measured joints. Their kinematic branch (knee up or down) is unknown, so the first part is
in joint space: to the posture with the body on its belly and the feet just above the ground at their neutral footholds.
In the second part the feet are planted and the body rises. Lying down is the second part backwards. Both parts follow a
quintic, at rest at both ends.
See docs/architecture/walking-mathematics.md, "Standing up and lying down".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.gait.swing_trajectory import PEAK_TRAVEL_SPEED
from hexapod_control.core.kinematics.body_pose import BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.core.kinematics.whole_body import WholeBodyPose, joints_at_offset, whole_body_pose
from hexapod_control.core.posture.straight_moves import MIN_DURATION_S, TimedMove
from hexapod_control.core.robot import Point, Robot

FOOT_CLEARANCE = 0.015  # [m] height of the feet above the ground while the robot lies
RISE_SPEED = 0.08  # [m/s] peak speed of the body
HEIGHT_STEP = 0.002  # [m] between the heights that are tried for lying


@dataclass
class BodyLift(TimedMove):
    """The body moves straight up or down over planted feet, whose heights fade to those of flat ground."""

    robot: Robot
    contacts: tuple[Point, ...]  # [m] of the feet in base_footprint
    start: float  # [m] height above the walk height
    goal: float  # [m] likewise
    duration: float  # [s]
    first_heights: tuple[float, ...]  # [m] of the feet above the ground at the start
    elapsed: float = 0.0  # [s]

    @classmethod
    def between(
        cls, robot: Robot, contacts: Sequence[Point], start: float, goal: float, heights: Sequence[float] = ()
    ) -> BodyLift:
        """Returns the move from one height [m] above the walk height to another, at a moderate speed.

        `heights` [m] are those of the feet above the ground at the start; empty: 0.
        """
        duration = max(MIN_DURATION_S, PEAK_TRAVEL_SPEED * abs(goal - start) / RISE_SPEED)
        return cls(robot, tuple(contacts), start, goal, duration, tuple(heights) or (0.0,) * len(contacts))

    @property
    def offset(self) -> float:
        """Present height [m] above the walk height."""
        return self.start + self.travel * (self.goal - self.start)

    @property
    def heights(self) -> list[float]:
        """Present heights [m] of the feet above the ground."""
        return [(1.0 - self.travel) * height for height in self.first_heights]

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Advances by `dt` [s] and returns the pose."""
        self.elapsed += dt
        placement = Placement(BodyPose(z=self.offset), self.robot.walk.height)
        planted = [True] * len(self.contacts)
        return whole_body_pose(self.robot, placement, list(self.contacts), self.heights, planted, previous)


def lying_offset(robot: Robot, contacts: Sequence[Point]) -> float:
    """Returns the height [m] above the walk height (negative) at which feet at `contacts` [m] clear the ground.

    The body then lies on its belly. If the legs cannot fold that far, it is the lowest height in reach.
    """
    lowest = belly_height(robot) - FOOT_CLEARANCE - robot.walk.height
    offset = 0.0
    while offset - HEIGHT_STEP > lowest and joints_at_offset(robot, contacts, offset - HEIGHT_STEP) is not None:
        offset -= HEIGHT_STEP
    return offset


def lying_joints(robot: Robot) -> tuple[LegJoints, ...]:
    """Joint angles (n, 3) [rad] of a robot that lies on its belly, feet over their neutral footholds."""
    joints = joints_at_offset(robot, robot.footholds, lying_offset(robot, robot.footholds))
    assert joints is not None  # lying_offset is always in reach
    return joints
