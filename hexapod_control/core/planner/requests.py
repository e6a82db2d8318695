# SPDX-License-Identifier: Apache-2.0
"""Requests to a planner, as data, and why one is refused. Every state of the planner handles all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from hexapod_control.core.gait.gait_table import GaitSelection
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Vector
from hexapod_control.core.walking.walk_settings import WalkSettings


@dataclass(frozen=True, slots=True)
class StandRequest:
    """Stand up, or set down the feet that are in the air."""


@dataclass(frozen=True, slots=True)
class SitRequest:
    """Sit down on the belly; a walking robot comes to rest first."""


@dataclass(frozen=True, slots=True)
class HaltRequest:
    """Bring the robot to rest smoothly; feet in the air are set straight down."""


@dataclass(frozen=True, slots=True)
class VelocityRequest:
    """Follow a body twist until the next one."""

    twist: Twist


@dataclass(frozen=True, slots=True)
class BodyPoseRequest:
    """Move to a body pose, clamped to the reach of the legs."""

    pose: BodyPose
    duration: float  # [s]; 0: as fast as the pose limits allow


@dataclass(frozen=True, slots=True)
class PoseTrackingRequest:
    """Follow a body pose that changes every tick and is known to be in reach."""

    pose: BodyPose


@dataclass(frozen=True, slots=True)
class GuidedFootRequest:
    """Move one foot while the others support the robot."""

    leg: int
    ball_center: Vector  # [m, base_link]


@dataclass(frozen=True, slots=True)
class GuidedFootOverGroundRequest:
    """Move one foot to a point over the ground while the others support the robot."""

    leg: int
    point: Vector  # [m] x, y of the contact point in base_footprint, and the height above the ground


@dataclass(frozen=True, slots=True)
class FeetReleaseRequest:
    """Return guided feet to their neutral footholds."""


@dataclass(frozen=True, slots=True)
class NeutralStanceRequest:
    """Return guided feet to their neutral footholds, and then the body to its neutral pose."""


@dataclass(frozen=True, slots=True)
class FeetMoveRequest:
    """Move all feet on straight lines to points, with one duration."""

    ball_centers: tuple[Vector, ...]  # (n, 3) [m, base_link]
    duration: float  # [s]; 0: at a moderate speed


@dataclass(frozen=True, slots=True)
class JointMoveRequest:
    """Move all joints linearly to angles, with one duration."""

    joint_angles: tuple[LegJoints, ...]  # (n, 3) [rad]
    duration: float  # [s]; 0: at a moderate speed


@dataclass(frozen=True, slots=True)
class GaitRequest:
    """Change to another gait, or let the gait be chosen by speed."""

    selection: GaitSelection


@dataclass(frozen=True, slots=True)
class SettingsRequest:
    """Walk with other settings; the gait is changed by a GaitRequest."""

    settings: WalkSettings


@dataclass(frozen=True, slots=True)
class MeasuredJoints:
    """Measured joint angles; used while the pose is unknown or the robot sits."""

    joint_angles: tuple[LegJoints, ...]  # (n, 3) [rad]


Request = (
    StandRequest
    | SitRequest
    | HaltRequest
    | VelocityRequest
    | BodyPoseRequest
    | PoseTrackingRequest
    | GuidedFootRequest
    | GuidedFootOverGroundRequest
    | FeetReleaseRequest
    | NeutralStanceRequest
    | FeetMoveRequest
    | JointMoveRequest
    | GaitRequest
    | SettingsRequest
    | MeasuredJoints
)


def refusal(request: Request, state: RobotState) -> Refusal | None:
    """Returns why a state refuses a request; None if the request is ignored without a reason."""
    match request:
        case BodyPoseRequest() | GuidedFootRequest() | GuidedFootOverGroundRequest():
            return not_on_feet(state)
        case FeetMoveRequest() | JointMoveRequest():
            return not_at_rest(state)
        case StandRequest() | SitRequest() | HaltRequest() | MeasuredJoints():
            return None  # the robot is in that state already, or uses the planned joints
        case VelocityRequest() | PoseTrackingRequest() | FeetReleaseRequest() | NeutralStanceRequest():
            return None  # sent continuously; no effect before the robot stands
        case GaitRequest() | SettingsRequest():
            return None  # stored in the context for the next walk
        case _:
            assert_never(request)


def not_on_feet(state: RobotState) -> Refusal:
    """Refuses a request that needs a robot on its feet."""
    return Refusal("not_on_feet", "ignored while {state}: stand up first", state=state.value)


def not_at_rest(state: RobotState) -> Refusal:
    """Refuses a request that needs a robot at rest."""
    return Refusal("not_at_rest", "ignored while {state}: wait until the robot rests", state=state.value)
