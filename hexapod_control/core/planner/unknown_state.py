"""The planner's state before the robot's pose is known."""

from __future__ import annotations

from hexapod_control.core.planner.planner_state import NO_POSE, AtRest, PlannerContext, PoseOrigin, StateReply
from hexapod_control.core.planner.request_handling import refusal
from hexapod_control.core.planner.requests import (
    FeetMoveRequest,
    JointMoveRequest,
    MeasuredJoints,
    Request,
    SitRequest,
    StandRequest,
)
from hexapod_control.core.planner.states import Lying, Transition
from hexapod_control.core.planner.tick_plan import RobotState


class Unknown(AtRest):
    """The joint angles are not known: before the first measurement, and while the torque is off."""

    __slots__ = ()
    robot_state = RobotState.UNKNOWN

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Only measured joints lead to another state; a standing robot is taken over without sitting down."""
        match request:
            case MeasuredJoints(joints):
                context.place(joints)
                found = context.sequences.taking_over(joints, context.settings.gait)
                if found is None:
                    return StateReply(Lying())
                lowering, walk = found
                return StateReply(Transition(RobotState.RISING, [lowering], walk, origin=PoseOrigin.FOUND))
            case StandRequest() | SitRequest() | FeetMoveRequest() | JointMoveRequest():
                return StateReply(self, NO_POSE)
            case _:
                return StateReply(self, refusal(request, self.robot_state))
