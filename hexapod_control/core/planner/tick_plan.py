# SPDX-License-Identifier: Apache-2.0
"""The result of one tick of the planner, and the robot states that `gait_state` publishes."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_clearance import LegClearance
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import UnreachableFoot
from hexapod_control.core.robot import Point


class RobotState(Enum):
    """State of the robot; the value is published on `gait_state`."""

    UNKNOWN = "unknown"
    SITTING = "sitting"
    RISING = "rising"
    STANDING = "standing"
    WALKING = "walking"
    MOVING = "moving"
    SINKING = "sinking"
    FALLEN = "fallen"
    CARRIED = "carried"
    FAULT = "fault"


ON_FEET = frozenset(state.value for state in (RobotState.STANDING, RobotState.WALKING, RobotState.MOVING))  # gait_state
UPRIGHT = ON_FEET | {RobotState.RISING.value}  # on its feet, or about to be: the next posture is sitting


class TickPlan(NamedTuple):
    """Targets of one tick and derived quantities: everything that is published about the tick.

    Either `feet` or `joint_motion` is commanded; neither while the joints are unknown, or at rest since they were
    measured.
    """

    state: RobotState  # in which the tick was planned
    feet: Array | None  # (n, 3) [m] ball centers in base_link; None for a motion in joint space
    feet_velocity: Array  # (n, 3) [m/s] in base_link
    support: Array  # (n,) [N] planned load, 0 in swing
    joint_motion: Array | None  # (n, 3) [rad] targets of a motion in joint space
    joint_velocity: Array  # (n, 3) [rad/s]
    joint_angles: Array | None  # (n, 3) [rad] of this tick, however they are commanded
    contacts: Array  # (n, 2) [m] contact points in base_footprint
    planted: tuple[bool, ...]
    twist: Twist  # executed
    pose: BodyPose  # achieved
    margin: float  # [m] static stability; NaN while no foot is planted
    center: Point  # [m] center of mass in base_footprint
    unreached: UnreachableFoot | None  # the foot out of reach, because of which the robot holds
    gap: float  # [m] smallest gap between neighbouring legs, capped at MAX_GAP; NaN: unknown
    blocked: LegClearance | None  # two legs that would collide, because of which the robot holds

    @property
    def at_rest(self) -> bool:
        """Whether neither the body nor a joint moves."""
        return self.twist.is_zero and not self.joint_velocity.any()
