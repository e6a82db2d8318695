"""Handling of requests that several states of the planner have in common."""

from __future__ import annotations

import math
from typing import assert_never

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.planner.planner_state import PlannerContext
from hexapod_control.core.planner.requests import (
    BodyPoseRequest,
    FeetMoveRequest,
    FeetReleaseRequest,
    GaitRequest,
    GuidedFootOverGroundRequest,
    GuidedFootRequest,
    HaltRequest,
    JointMoveRequest,
    MeasuredJoints,
    NeutralStanceRequest,
    PoseTrackingRequest,
    Request,
    SettingsRequest,
    SitRequest,
    StandRequest,
    VelocityRequest,
)
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove
from hexapod_control.core.statics.static_stability import direction_inwards
from hexapod_control.core.walking.walk_controller import WalkController


def refusal(request: Request, state: RobotState) -> str:
    """Returns why a state refuses a request; empty if the request is ignored without a reason."""
    match request:
        case BodyPoseRequest() | GuidedFootRequest() | GuidedFootOverGroundRequest():
            return not_on_feet(state)
        case FeetMoveRequest() | JointMoveRequest():
            return not_at_rest(state)
        case StandRequest() | SitRequest() | HaltRequest() | MeasuredJoints():
            return ""  # the robot is in that state already, or uses the planned joints
        case VelocityRequest() | PoseTrackingRequest() | FeetReleaseRequest() | NeutralStanceRequest():
            return ""  # sent continuously; no effect before the robot stands
        case GaitRequest() | SettingsRequest():
            return ""  # stored in the context for the next walk
        case _:
            assert_never(request)


def not_on_feet(state: RobotState) -> str:
    """Returns the refusal of a request that needs a robot on its feet."""
    return f"ignored while {state.value}: stand up first"


def not_at_rest(state: RobotState) -> str:
    """Returns the refusal of a request that needs a robot at rest."""
    return f"ignored while {state.value}: wait until the robot rests"


def pass_on(request: Request, walk: WalkController) -> None:
    """Passes requests on to a walk that it accepts at any time."""
    match request:
        case PoseTrackingRequest(pose):
            walk.body.pose.track(pose)
        case FeetReleaseRequest():
            walk.release()
        case NeutralStanceRequest():
            walk.settle(NEUTRAL)
        case GaitRequest(selection):
            walk.select_gait(selection)
        case SettingsRequest(settings):
            walk.change_settings(settings)


def whole_body_move(
    request: FeetMoveRequest | JointMoveRequest, context: PlannerContext, attitude: BodyPose
) -> FeetMove | JointMove:
    """Returns the requested move from the present joint angles; `attitude` is the body pose without its height."""
    robot, joints = context.robot, context.joints
    match request:
        case FeetMoveRequest(centers, duration):
            now = detect_support(robot, joints, attitude)
            return FeetMove.between(robot, now.centers, centers, now.pose, duration)
        case JointMoveRequest(goal, duration):
            return JointMove.between(robot, joints, goal, attitude, duration)


def recover_margin(walk: WalkController, plan: TickPlan, dt: float, required_margin: float) -> None:
    """Takes measures if the static margin of a tick of `dt` [s] is below the required one [m]; 0: no measures."""
    if required_margin <= 0.0 or walk.motion.guiding or math.isnan(plan.margin):
        return
    inward = (0.0, 0.0)
    if plan.margin < required_margin:
        standing = [(x, y) for (x, y), down in zip(plan.contacts.tolist(), plan.planted, strict=True) if down]
        inward = direction_inwards(standing, plan.center)
    walk.recover_margin(dt, plan.margin, inward)
