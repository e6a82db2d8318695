"""Motions of the whole row: all joints, or all feet, go straight to a goal and arrive together.

They follow a quintic, at rest at both ends. Which feet carry the robot meanwhile follows from the row itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.gait.swing_trajectory import PEAK_SHARE_SPEED, share
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, solve_leg
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import UnreachableFoot, WholeBodyPose
from hexapod_control.core.robot import Robot, Vector

SHORTEST = 0.6  # [s] no such motion is shorter unless asked for
SPEED_SHARE = 0.35  # of the no-load speed, at the peak of a joint-space motion
FOOT_SPEED = 0.12  # [m/s] of the fastest foot, at the peak


@dataclass(slots=True)
class JointMove:
    """All joints go straight to a goal and arrive together."""

    robot: Robot
    start: tuple[LegJoints, ...]  # [rad]
    goal: tuple[LegJoints, ...]  # [rad]
    pose: BodyPose  # whose attitude the body keeps
    duration: float  # [s]
    elapsed: float = 0.0  # [s]

    @classmethod
    def between(
        cls, robot: Robot, start: Sequence[LegJoints], goal: Sequence[LegJoints], pose: BodyPose, duration: float = 0.0
    ) -> JointMove:
        """The move from start to goal (n, 3) [rad] in `duration` [s], or at a calm speed."""
        longest = max(
            PEAK_SHARE_SPEED * abs(b - a) / (SPEED_SHARE * joint.no_load_speed)
            for leg, row, end in zip(robot.legs, start, goal, strict=True)
            for joint, a, b in zip(leg.joints, row, end, strict=True)
        )
        return cls(robot, tuple(start), tuple(goal), pose, duration or max(SHORTEST, longest))

    @property
    def done(self) -> bool:
        """True at the goal."""
        return self.elapsed >= self.duration

    @property
    def progress(self) -> float:
        """Share of the time that has passed."""
        return min(1.0, self.elapsed / self.duration)

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Joints one tick later; the frame has no Cartesian feet."""
        self.elapsed += dt
        s = share(self.elapsed / self.duration)
        joints = [
            (a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1]), a[2] + s * (b[2] - a[2]))
            for a, b in zip(self.start, self.goal, strict=True)
        ]
        found = detect_support(self.robot, joints, self.pose)
        return WholeBodyPose(joints, None, found.contacts, found.planted, found.placement, None)

    def retreat(self, dt: float, previous: Sequence[LegJoints]) -> None:
        """There is none: the joints hold."""


@dataclass(slots=True)
class FeetMove:
    """All feet go straight to a goal in base_link and arrive together."""

    robot: Robot
    start: tuple[Vector, ...]  # [m] ball centres
    goal: tuple[Vector, ...]  # [m]
    pose: BodyPose  # whose attitude the body keeps
    duration: float  # [s]
    elapsed: float = 0.0  # [s]

    @classmethod
    def between(
        cls, robot: Robot, start: Sequence[Vector], goal: Sequence[Vector], pose: BodyPose, duration: float = 0.0
    ) -> FeetMove:
        """The move from start to goal (n, 3) [m] in `duration` [s], or at a calm speed."""
        way = max(sum((b - a) ** 2 for a, b in zip(p, q, strict=True)) ** 0.5 for p, q in zip(start, goal, strict=True))
        calm = PEAK_SHARE_SPEED * way / FOOT_SPEED
        return cls(robot, tuple(start), tuple(goal), pose, duration or max(SHORTEST, calm))

    @property
    def done(self) -> bool:
        """True at the goal."""
        return self.elapsed >= self.duration

    @property
    def progress(self) -> float:
        """Share of the time that has passed."""
        return min(1.0, self.elapsed / self.duration)

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Feet and joints one tick later."""
        self.elapsed += dt
        s = share(self.elapsed / self.duration)
        joints: list[LegJoints] = []
        centres: list[Vector] = []
        unreached: UnreachableFoot | None = None
        for leg, a, b, row in zip(self.robot.legs, self.start, self.goal, previous, strict=True):
            centre = (a[0] + s * (b[0] - a[0]), a[1] + s * (b[1] - a[1]), a[2] + s * (b[2] - a[2]))
            found, reason, excess = solve_leg(leg, centre, row)
            joints.append(found)
            centres.append(centre)
            if reason is not None and unreached is None:
                unreached = UnreachableFoot(leg.name, reason, excess)
        found_footing = detect_support(self.robot, joints, self.pose)
        return WholeBodyPose(
            joints, centres, found_footing.contacts, found_footing.planted, found_footing.placement, unreached
        )

    def retreat(self, dt: float, previous: Sequence[LegJoints]) -> None:
        """There is none: the joints hold."""
