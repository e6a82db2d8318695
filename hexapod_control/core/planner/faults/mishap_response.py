"""Response of the planner to mishaps: freeze, slow down, stop for a stuck leg, recover, and leave a blocked posture.

In a blocked posture the feet cannot move as planned: a foot is out of reach, or two legs are in each other's way, and
every tick would violate a limit, so that every motion over the ground holds for ever. Then `stand` and `sit` lead
through the lying posture, in joint space, from where the joints really are.
"""

from __future__ import annotations

from hexapod_control.core.names import JOINTS
from hexapod_control.core.planner.faults.frozen_state import Folding, Frozen, StoppedMotion, folding
from hexapod_control.core.planner.faults.leg_change import LegChange, LyingLegChange
from hexapod_control.core.planner.faults.unknown_state import Unknown
from hexapod_control.core.planner.requests import Request, SitRequest, StandRequest
from hexapod_control.core.planner.states import (
    Lying,
    OnFeet,
    PlannerContext,
    PlannerState,
    PoseOrigin,
    StateReply,
    Transition,
    WholeBodyMove,
)
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.straight_moves import JointMove
from hexapod_control.core.sensing.mishap_watch import UPSIDE_DOWN_RAD, Mishap, MishapKind, WatchedTick, tilt_angle
from hexapod_control.core.walking.walk_controller import WalkController

NO_ATTITUDE = "the attitude is unknown, as imu/data brings no orientation: lay the robot on its belly, then call "
SET_DOWN_AFTER_S = 5.0  # after a leg was stuck, a foot that it holds in the air
NOT_FALLEN = "the robot has not fallen: nothing to recover from"


def respond(state: PlannerState, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
    """Updates the mishaps after a tick of `dt` [s]. Returns the next state."""
    watch = context.watch
    watch.step(dt, context.sensors, _watched(state, plan, context))
    if watch.fallen and (motion := _motion(state)) is not None:
        return Frozen(watch.fallen_mishap(), motion)
    if isinstance(state, Frozen) and state.mishap.kind is MishapKind.CARRIED and watch.fallen:
        return Frozen(watch.fallen_mishap(), state.motion)
    if not isinstance(state, OnFeet):
        return state
    if watch.carried and not state.lies_down:
        return Frozen(watch.carried_mishap(), state.walk)
    if watch.hanging and not state.lies_down:
        return Frozen(watch.hanging_mishap(), state.walk)
    state.walk.slow_down(watch.speed_share, watch.lagging_leg)
    if (deadlock := context.limiter.deadlock) is not None and deadlock.legs is not None:
        state.walk.halt(deadlock=deadlock.legs)
    return _stopped_for_stuck_leg(state, context)


def recover(state: PlannerState, context: PlannerContext) -> StateReply:
    """Recovers after a fall or a lift: folds the legs to stand up, or continues if the robot stands on its feet."""
    tilt = context.watch.tilt
    match state:
        case Unknown(reason):
            return StateReply(state, reason)
        case Frozen(mishap, WalkController()) if state.stands(context) or mishap.kind is MishapKind.CARRIED:
            return state.resume(StandRequest(), context)
        case Frozen(mishap) if _can_fold(mishap, tilt):
            return StateReply(Folding(folding(context), mishap))
        case Frozen() if tilt is not None:
            text = f"the robot lies upside down ({context.watch.attitude}): turn it over, then call recover"
            return StateReply(state, text)
        case Frozen():
            return StateReply(state, f"{NO_ATTITUDE}sit and stand")
        case Lying():
            refusal = rising_refusal(state, context)
            return StateReply(state, refusal) if refusal else state.handle(StandRequest(), context)
        case _:
            return StateReply(state, NOT_FALLEN)


def _can_fold(mishap: Mishap, tilt: tuple[float, float] | None) -> bool:
    """True unless the robot is known to lie upside down, or it has fallen and its tilt is unknown."""
    return mishap.kind is MishapKind.CARRIED if tilt is None else tilt_angle(*tilt) < UPSIDE_DOWN_RAD


def rising_refusal(state: PlannerState, context: PlannerContext) -> str:
    """Returns why a lying robot cannot stand up: it is tilted; empty if it can."""
    if not (isinstance(state, Lying) and context.watch.fallen):
        return ""
    return f"the robot is tilted ({context.watch.attitude}): lay it on its belly first"


def present_mishap(state: PlannerState, context: PlannerContext) -> Mishap | None:
    """Returns the present mishap; None without one."""
    return state.mishap if isinstance(state, Frozen) else context.watch.slow_mishap


def _motion(state: PlannerState) -> StoppedMotion | None:
    """The motion of a state that a fall interrupts; None without one."""
    match state:
        case OnFeet(walk):
            return walk
        case Transition(moves=[move, *_]) | WholeBodyMove(move):
            return move
        case LegChange(moves=[move, *_]) | LyingLegChange(moves=[move, *_]):
            return move
        case LegChange(walk):
            return walk
        case _:
            return None


def _watched(state: PlannerState, plan: TickPlan, context: PlannerContext) -> WatchedTick:
    """The inputs of the mishap detection in a tick, for the walking legs."""
    source = context.sensors.joints
    legs = context.legs
    measured = source.sample if not source.fault else None
    if measured is not None and not legs.complete:
        measured = tuple(angle for row in legs.rows for angle in measured[3 * row : 3 * row + 3])
    on_feet = isinstance(state, OnFeet)
    walking = on_feet and state.robot_state is RobotState.WALKING
    return WatchedTick(context.robot, plan.joint_angles, measured, plan.planted, plan.twist.wz, on_feet, walking)


def _stopped_for_stuck_leg(state: OnFeet, context: PlannerContext) -> PlannerState:
    """Stops for a stuck leg. Once the robot rests, the leg's targets move to where it is, so that no servo stalls.

    A foot that is in the air then is set down later: the leg may be free again, or targets did not arrive for a while.
    """
    watch = context.watch
    walk = state.walk
    measured = context.sensors.joints.sample
    relieved = state.origin is PoseOrigin.RELIEVED and walk.motion.guiding
    if relieved and watch.time_since_stuck > SET_DOWN_AFTER_S:
        state.handle(StandRequest(), context)
    if watch.stuck is None or state.lies_down:
        return state
    if not walk.speed.halted:
        walk.halt()
    if not walk.at_rest or measured is None:
        return state
    leg = context.robot.legs[watch.stuck]
    row = 3 * context.legs.rows[watch.stuck]
    coxa, femur, tibia = (
        min(max(angle, joint.lower), joint.upper)
        for angle, joint in zip(measured[row : row + 3], leg.joints, strict=True)
    )
    joints = [*context.joints]
    joints[watch.stuck] = (coxa, femur, tibia)
    move = JointMove.between(context.robot, context.joints, joints, walk.body.pose.now)
    return WholeBodyMove(move, origin=PoseOrigin.RELIEVED)


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
        angles = measured.sample
        count = len(JOINTS)
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
