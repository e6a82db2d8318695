# SPDX-License-Identifier: Apache-2.0
"""Sequences of moves between postures: standing up, sitting down, and taking over a standing robot.

A sequence is a list of moves, executed one after the other, and the walk controller of the robot if it then stands.
Standing up starts at any measured joint angles: a joint-space path without collisions (joint_paths.py) leads to the
sitting posture, then the body rises over planted feet (stand_up.py). A robot that already stands keeps its footholds
(takeover.py).
See docs/architecture/walking-mathematics.md, "Standing up and lying down".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.support_detection import SAME_GROUND, detect_support
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.posture import stand_up
from hexapod_control.core.posture.joint_paths import find_path
from hexapod_control.core.posture.stand_up import BodyLift
from hexapod_control.core.posture.straight_moves import JointMove
from hexapod_control.core.posture.takeover import take_over
from hexapod_control.core.robot import Point
from hexapod_control.core.statics.static_stability import MIN_SUPPORTING_FEET
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.capabilities import Capabilities

PostureMove = JointMove | BodyLift


@dataclass(frozen=True, slots=True)
class PostureSequences:
    """Creates the posture sequences of one robot."""

    capabilities: Capabilities
    neutral_footholds: tuple[Point, ...]  # [m] contact points of the neutral stance at the walk height
    lying_offset: float  # [m] height of the lying body above the walk height (negative), feet over these footholds
    lying_joints: tuple[LegJoints, ...]  # [rad] of the robot that lies, before it stands up

    @classmethod
    def of(cls, capabilities: Capabilities) -> PostureSequences:
        """The sequences of a robot; computes the joint angles in which it lies."""
        robot = capabilities.robot
        footholds = capabilities.neutral_stance.footholds
        offset = stand_up.lying_offset(robot, footholds)
        joints = joints_at_offset(robot, footholds, offset)
        assert joints is not None  # lying_offset is always in reach
        return cls(capabilities, footholds, offset, joints)

    def getting_up(
        self, joints: Sequence[LegJoints], gait: Gait, contacts: Sequence[Point] = ()
    ) -> tuple[list[PostureMove], WalkController]:
        """Returns the sequence from any joint angles [rad] to standing on contact points [m]; empty: the neutral ones.

        Raises ValueError if they are out of reach.
        """
        robot = self.capabilities.robot
        contacts = contacts or self.neutral_footholds
        offset = self.lying_offset
        lying: Sequence[LegJoints] | None = self.lying_joints
        if contacts != self.neutral_footholds:
            offset = stand_up.lying_offset(robot, contacts)
            lying = joints_at_offset(robot, contacts, offset)
        if lying is None:
            raise ValueError("the feet do not reach these contact points")
        path = (tuple(joints), *find_path(robot, joints, lying))
        moves = [JointMove.between(robot, a, b, NEUTRAL) for a, b in pairwise(path)]
        rise, walk = self.rising(contacts, offset, gait)
        return [*moves, *rise], walk

    def rising(
        self, contacts: Sequence[Point], offset: float, gait: Gait, heights: Sequence[float] = ()
    ) -> tuple[list[PostureMove], WalkController]:
        """Returns the sequence from a body `offset` [m] above the walk height, over planted feet [m], to standing.

        `heights` [m] are those of the feet above the ground, as in `BodyLift.between`.
        """
        lift = BodyLift.between(self.capabilities.robot, contacts, offset, 0.0, heights)
        return [lift], WalkController(self.capabilities, contacts, NEUTRAL, gait)

    def sinking(self, contacts: Sequence[Point], offset: float, heights: Sequence[float] = ()) -> list[PostureMove]:
        """Returns the sequence from a body `offset` [m] above the walk height, over planted feet [m], to lying.

        `heights` [m] are those of the feet above the ground, as in `BodyLift.between`.
        """
        robot = self.capabilities.robot
        return [BodyLift.between(robot, contacts, offset, stand_up.lying_offset(robot, contacts), heights)]

    def lying_down(self, walk: WalkController) -> list[PostureMove]:
        """Returns the sequence from standing to lying; the feet stay at their present contact points."""
        feet = walk.motion.feet
        return self.sinking([(foot.x, foot.y) for foot in feet], 0.0, [foot.z for foot in feet])

    def taking_over(self, joints: Sequence[LegJoints], gait: Gait) -> tuple[JointMove, WalkController] | None:
        """Returns the sequence that takes over a robot with these joint angles [rad]; None if it does not stand.

        Feet in the air are set straight down; all feet keep their positions until the first command.
        """
        standing = take_over(self.capabilities.robot, self.capabilities.stances, joints)
        if standing is None or self._lies_at(standing.pose):
            return None
        walk = WalkController(self.capabilities, standing.contacts, standing.pose, gait)
        walk.hold_feet()
        return JointMove.between(self.capabilities.robot, joints, standing.joints, standing.pose), walk

    def standing_on(self, joints: Sequence[LegJoints], pose: BodyPose, gait: Gait) -> WalkController | None:
        """Returns the walk controller of a robot on its feet with these joint angles [rad]; None if it lies.

        `pose` is that of the body without its height. Feet keep their positions, on the ground or in the air.
        """
        support = detect_support(self.capabilities.robot, joints, pose)
        height = self.capabilities.robot.walk.height + support.pose.z
        stances = self.capabilities.stances
        if not stances.contains(height) or self._lies_at(support.pose):
            return None
        if sum(support.planted) < MIN_SUPPORTING_FEET:
            return None
        walk = WalkController(self.capabilities, support.contacts, support.pose, gait)
        walk.hold_feet({leg: height for leg, height in enumerate(support.heights) if not support.planted[leg]})
        return walk

    def _lies_at(self, pose: BodyPose) -> bool:
        """True if a body on its feet is not above the lying posture: legs that fold little keep the belly up."""
        return pose.z <= self.lying_offset + SAME_GROUND
