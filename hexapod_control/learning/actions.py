# SPDX-License-Identifier: Apache-2.0
"""What the numbers of an action mean: targets of the joints, or residuals on the walk of the package.

Actions are in [-1, 1]; joint targets are arrays (n, 3) [rad], one row per leg, columns coxa, femur, tibia.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import inverse
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Robot

FOOTHOLD_SHARE = 0.25  # of the walk height, by which the action 1 moves a foothold
HEIGHT_SHARE = 0.4  # of the walk height, by which it raises a foot
LIFT_SHARE = 1.0  # of the planned height of a swing, by which it lifts higher
RESIDUAL_SPEED = 0.25  # [m/s] of a foot towards its residual
SETTLING_S = 5.0  # in which a planner that is given standing joints stands


class ActionLevel(Protocol):
    """Turns actions into joint targets, from one control period to the next."""

    size: int  # numbers in an action

    def restart(self) -> None:
        """Begins again with the standing robot."""

    def targets(self, action: Array, command: Array, dt: float) -> Array:
        """Joint targets `dt` [s] later, for a command (vx, vy, wz) [m/s, m/s, rad/s]."""

    @property
    def stance(self) -> Array:
        """For each leg (n,), 1 while the walk of the package has its foot on the ground; empty without that walk."""


class JointLevel:
    """3n targets of joints: 0 stands, -1 and 1 are the limits of the joint."""

    stance = np.zeros(0)

    def __init__(self, robot: Robot) -> None:
        self._standing = np.array(standing_joints(robot))
        lower, upper = (
            np.array([[getattr(joint, side) for joint in leg.joints] for leg in robot.legs])
            for side in ("lower", "upper")
        )
        self._below = self._standing - lower  # [rad] (n, 3)
        self._above = upper - self._standing
        self.size = self._standing.size

    def restart(self) -> None:
        """Does nothing: targets depend only on the action."""

    def targets(self, action: Array, command: Array, dt: float) -> Array:
        """As ActionLevel."""
        offset = action.reshape(self._standing.shape)
        return self._standing + np.where(offset < 0.0, self._below, self._above) * offset


class WalkLevel:
    """4n residuals, for each leg: foothold ahead and to the left, height of its swing, height of the foot.

    The planner walks blindly as commanded. With the action 0 that walk is unchanged.
    """

    def __init__(self, robot: Robot) -> None:
        """Raises ValueError if the robot cannot walk."""
        self._robot = robot
        self.size = 4 * len(robot.legs)
        standing = Planner(robot)
        standing.set_measured_joints(np.array(standing_joints(robot)))
        for _ in range(round(SETTLING_S / 0.02)):
            if standing.step(0.02).state is RobotState.STANDING:
                break
        self._standing = standing
        height = robot.walk.height
        self._scale = np.array([FOOTHOLD_SHARE, FOOTHOLD_SHARE, HEIGHT_SHARE]) * height  # [m]
        self._ground = robot.foot_radius - height  # [m] height of the centers of standing feet in base_link
        self.restart()

    def restart(self) -> None:
        """As ActionLevel."""
        self._planner = self._standing.copy()
        self._joints = np.array(standing_joints(self._robot))
        self._residual = np.zeros_like(self._joints)  # [m] (n, 3) of the feet
        self.stance = np.ones(len(self._robot.legs))

    def targets(self, action: Array, command: Array, dt: float) -> Array:
        """As ActionLevel; the foothold of a foot moves only while it swings."""
        self._planner.command(Twist(*command.tolist()))
        plan = self._planner.step(dt)
        if plan.feet is None:
            return self._joints
        rows = action.reshape(-1, 4)
        self.stance = np.array(plan.planted, dtype=float)
        most = RESIDUAL_SPEED * dt
        change = np.clip(rows[:, (0, 1, 3)] * self._scale - self._residual, -most, most)
        change[:, :2] *= 1.0 - self.stance[:, np.newaxis]
        self._residual += change
        feet = plan.feet + self._residual
        swing = np.maximum(plan.feet[:, 2] - self._ground, 0.0) * (1.0 - self.stance)
        feet[:, 2] += LIFT_SHARE * rows[:, 2] * swing
        self._joints = inverse(self._robot, feet, self._joints).joints
        return self._joints


LEVELS: dict[str, type[JointLevel] | type[WalkLevel]] = {"joints": JointLevel, "walk": WalkLevel}
