"""From one posture to the next: getting up, lying down, and taking over a robot where it is found.

Standing up starts wherever the joints were measured: in joint space to where the robot lies, then the body rises over
planted feet. A robot that is found standing keeps its feet where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hexapod_control.core.gait.gait_table import Gait
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import BodyMotion, joints_at_offset
from hexapod_control.core.posture import stand_up
from hexapod_control.core.posture.joint_paths import route
from hexapod_control.core.posture.stand_up import BodyLift
from hexapod_control.core.posture.straight_moves import JointMove
from hexapod_control.core.posture.takeover import take_over
from hexapod_control.core.robot import Point
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.workspace.capabilities import Capabilities


class PostureSequences:
    """The motions between the postures of one robot, in the order in which they are carried out."""

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities
        self._robot = capabilities.robot
        self.home = capabilities.stances.at(
            capabilities.robot.walk.height
        ).footholds  # [m] contact points of the neutral stance
        self._lying = stand_up.lying_offset(capabilities.robot, self.home)
        row = joints_at_offset(capabilities.robot, self.home, self._lying)
        assert row is not None  # lying_offset only gives offsets in reach
        self.lying_row = row  # [rad] joints with which the robot lies before it stands up

    def getting_up(self, row: Sequence[LegJoints], gait: Gait) -> list[BodyMotion]:
        """From joints [rad] anywhere to standing."""
        way = (tuple(row), *route(self._robot, row, self.lying_row))
        moves = [JointMove.between(self._robot, a, b, NEUTRAL) for a, b in pairwise(way)]
        return [*moves, *self.rising(self.home, self._lying, gait)]

    def rising(self, contacts: Sequence[Point], offset: float, gait: Gait) -> list[BodyMotion]:
        """From a body `offset` [m] from the walk height over feet at contacts [m, base_footprint] to standing."""
        return [
            BodyLift.between(self._robot, contacts, offset, 0.0),
            WalkController(self._capabilities, contacts, NEUTRAL, gait),
        ]

    def sinking(self, contacts: Sequence[Point], offset: float) -> list[BodyMotion]:
        """From a body `offset` [m] from the walk height over feet at contacts [m, base_footprint] to lying."""
        return [BodyLift.between(self._robot, contacts, offset, stand_up.lying_offset(self._robot, contacts))]

    def lying_down(self, walk: WalkController) -> list[BodyMotion]:
        """From standing to lying, the feet staying where they are."""
        return self.sinking([(foot.x, foot.y) for foot in walk.state.feet], 0.0)

    def taking_over(self, row: Sequence[LegJoints], gait: Gait) -> list[BodyMotion]:
        """From joints [rad] measured under a robot that stands to the walk of that robot; nothing if it does not stand.

        Feet in the air go down below where they are; until the first command all stay there.
        """
        found = take_over(self._robot, self._capabilities.stances, row)
        if found is None:
            return []
        walk = WalkController(self._capabilities, found.contacts, found.pose, gait)
        walk.stay()
        return [JointMove.between(self._robot, row, found.row, found.pose), walk]

    def standing_on(self, row: Sequence[LegJoints], pose: BodyPose, gait: Gait) -> list[BodyMotion]:
        """The walk of a robot that ends a motion on its feet with these joints [rad]; nothing if it lies.

        `pose` is that of the body, its height apart. Feet stay where they are, on the ground or in the air.
        """
        found = detect_support(self._robot, row, pose)
        height = self._robot.walk.height + found.pose.z
        stances = self._capabilities.stances
        if not stances.lowest <= height <= stances.highest or sum(found.planted) < 3:
            return []
        walk = WalkController(self._capabilities, found.contacts, found.pose, gait)
        walk.stay({leg: lift for leg, lift in enumerate(found.lifts) if not found.planted[leg]})
        return [walk]
