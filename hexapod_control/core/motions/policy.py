# SPDX-License-Identifier: Apache-2.0
"""What the numbers of a policy mean: an observation, and an action at one of two levels.

An action is in [-1, 1]: targets of the joints, or residuals on the walk of the package. Joint targets are arrays (n, 3)
[rad], one row per leg, columns coxa, femur, tibia. docs/learning.md, "What goes in and out" has the tables.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.leg_kinematics import inverse
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.workspace.capabilities import Capabilities

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


JOINTS_LEVEL = "joints"
LEVELS: dict[str, type[JointLevel] | type[WalkLevel]] = {JOINTS_LEVEL: JointLevel, "walk": WalkLevel}


class ObservationPart(NamedTuple):
    """Numbers of an observation that belong together; values beyond the limits are clipped."""

    name: str
    size: int
    unit: str
    low: float
    high: float


def observation_parts(legs: int, level: str = JOINTS_LEVEL) -> tuple[ObservationPart, ...]:
    """The parts of an observation of a robot with so many legs, in their order, for a level of actions."""
    joints = 3 * legs
    parts = (
        ObservationPart("command", 3, "top speed", -1.0, 1.0),
        ObservationPart("gravity", 3, "1", -1.0, 1.0),
        ObservationPart("angular velocity", 3, "rad/s", -35.0, 35.0),
        ObservationPart("joints", joints, "rad", -6.3, 6.3),
        ObservationPart("joint velocity", joints, "rad/s", -50.0, 50.0),
        ObservationPart("last action", joints if level == JOINTS_LEVEL else 4 * legs, "1", -1.0, 1.0),
        ObservationPart("foot loads", legs, "weight", 0.0, 10.0),
    )
    return parts if level == JOINTS_LEVEL else (*parts, ObservationPart("stance", legs, "1", 0.0, 1.0))


class Sensed(NamedTuple):
    """What the sensors of a robot measure."""

    orientation: tuple[float, float, float, float]  # quaternion (x, y, z, w), world from base_link
    angular_velocity: Array  # (3,) [rad/s] in base_link
    joints: Array  # (n, 3) [rad]
    joint_velocity: Array  # (n, 3) [rad/s]
    foot_forces: Array  # (n,) [N]


class PolicyBody:
    """What a policy sees of a robot, and what its actions do; one object for each walk."""

    def __init__(self, robot: Robot, level: str) -> None:
        """`level` is one of LEVELS. Raises ValueError if the robot cannot walk."""
        self._level: ActionLevel = LEVELS[level](robot)
        self.standing = np.array(standing_joints(robot))  # [rad] (n, 3)
        self.weight = robot.mass * GRAVITY  # [N]
        parts = observation_parts(len(robot.legs), level)
        sizes = [part.size for part in parts]
        self.low = np.repeat([part.low for part in parts], sizes).astype(np.float32)
        self.high = np.repeat([part.high for part in parts], sizes).astype(np.float32)
        self.actions = self._level.size  # numbers in an action
        self.top_speed = top_speed(robot)
        self.restart()

    def restart(self) -> None:
        """Begins again with the standing robot."""
        self._level.restart()
        self.action: Array = np.zeros(self.actions)  # the last one

    def observation(self, sensed: Sensed, command: Array) -> NDArray[np.float32]:
        """The observation, for a command (vx, vy, wz) [m/s, m/s, rad/s]."""
        x, y, z, w = sensed.orientation
        gravity = (2.0 * (w * y - x * z), -2.0 * (y * z + w * x), 2.0 * (x * x + y * y) - 1.0)
        parts = (
            command / self.top_speed,
            gravity,
            sensed.angular_velocity,
            (sensed.joints - self.standing).ravel(),
            sensed.joint_velocity.ravel(),
            self.action,
            sensed.foot_forces / self.weight,
            self._level.stance,
        )
        return np.minimum(np.maximum(np.concatenate(parts, dtype=np.float32), self.low), self.high)

    def targets(self, action: NDArray[np.floating], command: Array, dt: float) -> Array:
        """Joint targets (n, 3) [rad] of the next `dt` [s]. Raises ValueError for an action that is not finite."""
        wanted = np.clip(np.asarray(action, dtype=float).ravel(), -1.0, 1.0)
        if wanted.size != self.actions or not np.isfinite(wanted).all():
            raise ValueError(f"the action must be {self.actions} finite numbers: has the training diverged?")
        self.action = wanted
        return self._level.targets(wanted, command, dt)


def top_speed(robot: Robot) -> Array:
    """The highest speeds (3,) [m/s, m/s, rad/s] of the package's own walk: ahead, sideways, turning.

    Raises ValueError if the robot cannot walk.
    """
    capabilities = Capabilities.of(robot)
    gait = min(capabilities.gaits.values(), key=lambda each: each.stance_time)
    return np.array(capabilities.envelope.maxima(gait, robot.walk.height, capabilities.region_share(gait)))
