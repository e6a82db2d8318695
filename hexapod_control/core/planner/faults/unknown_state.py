# SPDX-License-Identifier: Apache-2.0
"""The state of the planner while the pose of the robot is unknown."""

from __future__ import annotations

from dataclasses import dataclass

from hexapod_control.core.planner.requests import (
    BodyPoseRequest,
    FeetMoveRequest,
    GuidedFootOverGroundRequest,
    GuidedFootRequest,
    JointMoveRequest,
    MeasuredJoints,
    Request,
    SitRequest,
    StandRequest,
    refusal,
)
from hexapod_control.core.planner.states import (
    NO_POSE,
    TORQUE_OFF,
    AtRest,
    Lying,
    PlannerContext,
    PoseOrigin,
    StateReply,
    Transition,
)
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.posture.straight_moves import JointMove
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.walking.walk_controller import WalkController

SETTLED_RAD = 0.05  # deflection of joints under load: up to it all feet are on the ground already


@dataclass(frozen=True, slots=True)
class Unknown(AtRest):
    """The joint angles are not known: before the first measurement, and while the torque is off."""

    reason: Refusal = NO_POSE  # why requests are refused
    pace_goal: float = 1.0  # of the move that sets feet down when the pose is known; 0: wait for `stand` or `sit`
    robot_state = RobotState.UNKNOWN

    @classmethod
    def without_torque(cls) -> Unknown:
        """Returns the state while the torque is off; when it is on again, nothing moves, as people may be near."""
        return cls(TORQUE_OFF, pace_goal=0.0)

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Only measured joints lead to another state; a standing robot is taken over without sitting down."""
        match request:
            case MeasuredJoints(joints):
                context.restart_from(joints)
                taken_over = context.sequences.taking_over(context.joints, context.settings.selection.most_stable)
                if taken_over is None:
                    return StateReply(Lying())
                return StateReply(self._found_standing(*taken_over, context))
            case StandRequest() | SitRequest() | FeetMoveRequest() | JointMoveRequest():
                return StateReply(self, self.reason)
            case BodyPoseRequest() | GuidedFootRequest() | GuidedFootOverGroundRequest():
                return StateReply(self, self.reason)
            case _:
                return StateReply(self, refusal(request, self.robot_state))

    def _found_standing(self, lowering: JointMove, walk: WalkController, context: PlannerContext) -> Transition:
        """Returns the transition that sets lifted feet down, paused if it has to wait for a request."""
        pace_goal = 1.0 if lowering.distance <= SETTLED_RAD else self.pace_goal
        context.pace = pace_goal
        return Transition(RobotState.RISING, [lowering], walk, pace_goal=pace_goal, origin=PoseOrigin.TAKEN_OVER)
