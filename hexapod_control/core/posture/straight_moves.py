# SPDX-License-Identifier: Apache-2.0
"""Whole-body moves: all joints, or all feet, move on straight lines to a goal and arrive together.

They follow a quintic, at rest at both ends. Which feet support the robot meanwhile is computed from the joint angles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.swing_trajectory import PEAK_TRAVEL_SPEED, smooth_travel
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, solve_leg
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import UnreachableFoot, WholeBodyPose
from hexapod_control.core.robot import Robot, Vector, interpolated

MIN_DURATION_S = 0.6  # of a move, unless a shorter one is requested
SPEED_SHARE = 0.35  # peak joint speed as a share of the no-load speed
FOOT_SPEED_M_S = 0.12  # peak speed of the fastest foot


class TimedMove(Copyable):
    """Base class of moves that take a given time; their `advance` is called in every tick until they are done."""

    duration: float  # [s]
    elapsed: float  # [s]

    @property
    def done(self) -> bool:
        """True at the goal."""
        return self.elapsed >= self.duration

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the time that has passed."""
        return min(1.0, self.elapsed / self.duration)

    @property
    def travel(self) -> float:
        """Share (0 to 1) of the distance that is covered; at rest at both ends."""
        return smooth_travel(self.elapsed / self.duration)

    def retreat(self, dt: float, previous: Sequence[LegJoints]) -> None:
        """Returns None: if a foot is out of reach, the robot holds."""


@dataclass
class StraightMove(TimedMove):
    """Base class of straight moves: start, goal and time."""

    robot: Robot
    start: tuple[Vector, ...]  # [rad] joint angles or [m] ball centers, one triple per leg
    goal: tuple[Vector, ...]
    pose: BodyPose  # its attitude is that of the body during the move
    duration: float  # [s]
    elapsed: float = 0.0  # [s]

    def _interpolated(self, dt: float) -> list[Vector]:
        """Advances by `dt` [s]. Returns the values of all legs on the straight lines from start to goal."""
        self.elapsed += dt
        travel = self.travel
        return [interpolated(start, goal, travel) for start, goal in zip(self.start, self.goal, strict=True)]


class JointMove(StraightMove):
    """All joints move linearly to a goal and arrive together."""

    @classmethod
    def between(
        cls, robot: Robot, start: Sequence[LegJoints], goal: Sequence[LegJoints], pose: BodyPose, duration: float = 0.0
    ) -> JointMove:
        """Returns the move from start to goal (n, 3) [rad] in `duration` [s]; 0: at a moderate speed."""
        moderate = max(
            PEAK_TRAVEL_SPEED * abs(b - a) / (SPEED_SHARE * joint.no_load_speed)
            for leg, before, after in zip(robot.legs, start, goal, strict=True)
            for joint, a, b in zip(leg.joints, before, after, strict=True)
        )
        return cls(robot, tuple(start), tuple(goal), pose, duration or max(MIN_DURATION_S, moderate))

    @property
    def distance(self) -> float:
        """Maximum angle by which a joint moves [rad]."""
        return max(abs(b - a) for p, q in zip(self.start, self.goal, strict=True) for a, b in zip(p, q, strict=True))

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Advances by `dt` [s] and returns the pose, without Cartesian foot targets."""
        joints = self._interpolated(dt)
        support = detect_support(self.robot, joints, self.pose)
        return WholeBodyPose(joints, None, support.contacts, support.planted, support.placement, None)


class FeetMove(StraightMove):
    """All feet move on straight lines to a goal in base_link and arrive together."""

    @classmethod
    def between(
        cls, robot: Robot, start: Sequence[Vector], goal: Sequence[Vector], pose: BodyPose, duration: float = 0.0
    ) -> FeetMove:
        """Returns the move from start to goal (n, 3) [m] in `duration` [s]; 0: at a moderate speed."""
        moderate = PEAK_TRAVEL_SPEED * max(map(math.dist, start, goal)) / FOOT_SPEED_M_S
        return cls(robot, tuple(start), tuple(goal), pose, duration or max(MIN_DURATION_S, moderate))

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Advances by `dt` [s] and returns the pose."""
        centers = self._interpolated(dt)
        joints: list[LegJoints] = []
        unreached: UnreachableFoot | None = None
        for leg, center, angles in zip(self.robot.legs, centers, previous, strict=True):
            solved, reason, excess = solve_leg(leg, center, angles)
            joints.append(solved)
            if reason is not None and unreached is None:
                unreached = UnreachableFoot(leg.name, reason, excess)
        support = detect_support(self.robot, joints, self.pose)
        return WholeBodyPose(joints, centers, support.contacts, support.planted, support.placement, unreached)
