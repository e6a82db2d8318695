"""Heights above the plane of base_footprint that the feet can reach in the present body pose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hexapod_control.core.kinematics.body_pose import Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.rolling_contact import ball_center_and_joints
from hexapod_control.core.robot import Robot
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.stance_regions import reaches
from hexapod_control.core.workspace.strides.stride_regions import Strides


class HeightReach(NamedTuple):
    """The heights in reach of all feet in one tick."""

    robot: Robot
    placement: Placement  # of the body
    strides: Strides
    joints: Sequence[LegJoints]  # [rad] of the tick before

    def includes(self, leg: int, foot: Foot, height: float) -> bool:
        """Returns True if a foot can be at a height [m]; a planted foot at the other end of its stance, too."""
        robot, (x, y) = self.robot, self.strides.disc(leg, foot.region).center
        here, there = (foot.x, foot.y), (2.0 * x - foot.x, 2.0 * y - foot.y)
        lift = height - robot.walk.preload
        _, (_, reason, _) = ball_center_and_joints(
            robot.legs[leg], here, lift, self.placement, robot.foot_radius, self.joints[leg]
        )
        return reason is None and (
            not foot.state.planted or reaches(robot.legs[leg], robot, there, height, self.placement)
        )
