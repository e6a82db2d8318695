# SPDX-License-Identifier: Apache-2.0
"""What the checks of one robot share: its data, computed once, and the form of their remarks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property

from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.robot import Robot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.evaluation.robot_check.foothold_search import FoundStride, fastest_stride
from hexapod_control.evaluation.robot_check.joint_torques import JointTorques, walking_torques
from hexapod_control.evaluation.robot_check.steady_walk import PlannedCycle, steady_walk

AXES = {"forward": Twist(1.0, 0.0, 0.0), "left": Twist(0.0, 1.0, 0.0), "turn": Twist(0.0, 0.0, 1.0)}
WALK_SPEED_SHARE = 0.5  # of the top speed, in the walk for torques and margins
USUAL_BATTERY_WH = 24.0  # three cells of 2200 mAh


@dataclass(frozen=True)
class Subject:
    """A robot with its payload."""

    file: RobotFile
    payload: float  # [kg] at the body's center of mass
    battery: float = USUAL_BATTERY_WH  # [Wh]

    @cached_property
    def robot(self) -> Robot:
        """The robot with its payload."""
        robot = self.file.robot
        return replace(robot, body=replace(robot.body, mass=robot.body.mass + self.payload))

    @cached_property
    def capabilities(self) -> Capabilities:
        """Gaits, stance regions and speeds. Raises ValueError if the robot cannot walk."""
        return Capabilities.of(self.robot)

    @cached_property
    def standing(self) -> tuple[LegJoints, ...]:
        """Joint angles (n, 3) [rad] of the neutral stance."""
        return standing_joints(self.robot)

    def top_speed(self, gait: str, axis: str) -> float:
        """Highest speed [m/s or rad/s] of a gait along an axis."""
        return math.dist(self.capabilities.fastest(AXES[axis], [gait]), ZERO)

    @cached_property
    def fastest_stride(self) -> FoundStride:
        """The fastest walk forward with footholds that are moved along the motion."""
        return fastest_stride(self.robot, self.capabilities.gaits.values(), AXES["forward"])

    @cached_property
    def walk(self) -> PlannedCycle:
        """A cycle of the default gait, for `auto` of the fastest one, at half of the top speed forward."""
        gait = self.capabilities.selection().fastest.name
        return steady_walk(self.robot, gait, AXES["forward"].scaled(WALK_SPEED_SHARE * self.top_speed(gait, "forward")))

    @cached_property
    def torques(self) -> JointTorques:
        """The torques of that walk."""
        return walking_torques(self.robot, self.walk)


class Seriousness(IntEnum):
    """Seriousness of a remark; higher is worse."""

    FIGURE = 0  # information
    NOTE = 1  # could be better
    PROBLEM = 2  # will not work well
    WRONG = 3  # an implausible value of the file


@dataclass(frozen=True, slots=True)
class Remark:
    """One remark: text, remedy, and the figures behind it."""

    seriousness: Seriousness
    topic: str
    text: str
    change: str = ""
    figures: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        change = f" Change: {self.change}." if self.change else ""
        return f"{self.seriousness.name.lower():8s} {self.text}.{change}"
