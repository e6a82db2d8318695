"""The way out of a blocked posture: one from which the feet cannot move as planned.

A pose in which a foot is out of reach, or in which two legs are in each other's way, may leave no tick that violates no
limit, so that every motion over the ground holds for ever. Then `stand` and `sit` lead through the lying posture, in
joint space, from where the joints really are.
"""

from __future__ import annotations

from hexapod_control.core.names import JOINTS
from hexapod_control.core.planner.faults.frozen_state import folding
from hexapod_control.core.planner.planner_state import PlannerContext, PlannerState
from hexapod_control.core.planner.requests import Request, SitRequest, StandRequest
from hexapod_control.core.planner.states import Lying, OnFeet, Transition, WholeBodyMove
from hexapod_control.core.planner.tick_plan import RobotState

MAX_HELD_S = 1.0  # without any motion, although one is planned, after which the posture counts as blocked


def waiting_request(state: PlannerState, context: PlannerContext) -> Request | None:
    """Returns the request that waits for the end of a motion, if a blocked posture prevents that end; else None."""
    blocked = _blocked(state, context)
    return None if blocked is None else blocked.then


def leave_blocked(state: PlannerState, request: Request, context: PlannerContext) -> PlannerState:
    """Returns the state in which a request is handled: the way out for `stand` and `sit` in a blocked posture."""
    if _blocked(state, context) is None or not isinstance(request, StandRequest | SitRequest):
        return state
    measured = context.sensors.joints
    if measured.sample is not None and not measured.fault:
        angles, count = measured.sample, len(JOINTS)
        context.restart_from(tuple((angles[k], angles[k + 1], angles[k + 2]) for k in range(0, len(angles), count)))
    context.limiter.reset()
    context.pace = 1.0
    if isinstance(request, StandRequest):
        return Lying()  # it stands up from any joint angles
    return Transition(RobotState.SINKING, [*folding(context)], None)


def _blocked(state: PlannerState, context: PlannerContext) -> OnFeet | Transition | WholeBodyMove | None:
    """The state, if its motion has been held for too long: by its limits, or by feet over which no body can move."""
    if not isinstance(state, OnFeet | Transition | WholeBodyMove):
        return None
    held = max(context.limiter.held_time, state.held_time if isinstance(state, OnFeet) else 0.0)
    return state if held > MAX_HELD_S else None
