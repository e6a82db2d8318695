"""What a planner says in one tick."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_clearance import LegClearance
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import UnreachableFoot
from hexapod_control.core.robot import Point


class RobotState(Enum):
    """What the robot is doing; the value is what `gait_state` says."""

    UNKNOWN = "unknown"
    SITTING = "sitting"
    RISING = "rising"
    STANDING = "standing"
    WALKING = "walking"
    MOVING = "moving"
    SINKING = "sinking"
    FAULT = "fault"


@dataclass(frozen=True, slots=True)
class TickPlan:
    """One tick's row and what there is to say about it. Exactly one of `feet` and `joints` goes out, or neither."""

    state: RobotState
    feet: Array | None  # (n, 3) [m] ball centres in base_link
    feet_velocity: Array  # (n, 3) [m/s] in base_link
    support: Array  # (n,) [N] planned load, 0 in swing
    joints: Array | None  # (n, 3) [rad] for a motion in joint space
    joint_velocity: Array  # (n, 3) [rad/s]
    row: Array | None  # (n, 3) [rad] the joints of this tick, however they are commanded
    contacts: Array  # (n, 2) [m] contact points in base_footprint
    planted: tuple[bool, ...]
    twist: Twist  # executed
    pose: BodyPose  # achieved
    margin: float  # [m] static stability; not a number while nothing stands
    center: Point  # [m] centre of mass in base_footprint
    unreached: UnreachableFoot | None  # the foot target that made the robot hold its row
    gap: float  # [m] between the two neighbouring legs that are nearest to each other, up to what is enough
    blocked: LegClearance | None  # two legs that would touch, and so keep the robot from going on
