# SPDX-License-Identifier: Apache-2.0
"""Response of the planner to mishaps: freeze, slow down, stop for a stuck leg, recover, and leave a blocked posture.

In a blocked posture the feet cannot move as planned: a foot is out of reach, or two legs are in each other's way, and
every tick would violate a limit, so that every motion over the ground holds for ever. Then `stand` and `sit` lead
through the lying posture, in joint space, from where the joints really are.

After a fall or a lift the robot holds (`Frozen`), and recovers on request (`Folding`). Joints that the ground deflects
too far are relieved after a fall, as a servo at stall torque overheats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.names import JOINTS
from hexapod_control.core.planner.faults.leg_change import LegChange, LyingLegChange
from hexapod_control.core.planner.faults.unknown_state import Unknown
from hexapod_control.core.planner.given_places import kept_feet
from hexapod_control.core.planner.requests import (
    BodyPoseRequest,
    FeetMoveRequest,
    GuidedFootOverGroundRequest,
    GuidedFootRequest,
    HaltRequest,
    JointMoveRequest,
    Request,
    SitRequest,
    StandRequest,
    VelocityRequest,
    refusal,
)
from hexapod_control.core.planner.states import (
    Lying,
    OnFeet,
    PlannerContext,
    PlannerState,
    PoseOrigin,
    StateReply,
    Transition,
    WholeBodyMove,
    remove_finished,
)
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.joint_paths import find_path
from hexapod_control.core.posture.posture_sequences import PostureMove
from hexapod_control.core.posture.stand_up import BodyLift
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove
from hexapod_control.core.refusal import Refusal, Statement
from hexapod_control.core.sensing.mishap_watch import UPSIDE_DOWN_RAD, Mishap, MishapKind, WatchedTick, tilt_angle
from hexapod_control.core.sensing.progress_watch import STANDS_S
from hexapod_control.core.walking.walk_controller import WalkController

MAX_TORQUE_SHARE = 0.7  # of the stall torque, above which a joint is relieved ...
REMAINING_TORQUE_SHARE = 0.3  # ... to this share


def relief(context: PlannerContext) -> JointMove | None:
    """Returns the move of the joints towards their measured angles; None if no torque is too high or none is known.

    The torque of a joint is estimated as its stiffness times its deflection, measured minus planned angle.
    """
    measured = context.measured
    if measured is None:
        return None
    count = len(JOINTS)
    angles = [measured[at : at + count] for at in range(0, len(measured), count)]
    goal = []
    overloaded = False
    for leg, planned, deflected in zip(context.robot.legs, context.joints, context.legs.of_whole(angles), strict=True):
        joints = []
        for joint, a, b in zip(leg.joints, planned, deflected, strict=True):
            remaining = REMAINING_TORQUE_SHARE * joint.stall_torque / joint.stiffness
            overloaded |= abs(b - a) > MAX_TORQUE_SHARE * joint.stall_torque / joint.stiffness
            relieved = min(max(a, b - remaining), b + remaining)
            joints.append(min(max(relieved, joint.lower), joint.upper))
        goal.append((joints[0], joints[1], joints[2]))
    return JointMove.between(context.robot, context.joints, goal, NEUTRAL) if overloaded else None


STATES: Mapping[MishapKind, RobotState] = {
    MishapKind.FALLEN: RobotState.FALLEN,
    MishapKind.CARRIED: RobotState.CARRIED,
}
SETTLING_S = 1.0  # in which the body comes to rest on its belly after the legs are folded

StoppedMotion = WalkController | PostureMove | FeetMove | JointMove


@dataclass
class Frozen(Copyable):
    """The robot has fallen or was lifted: the motion in progress slows down to rest.

    After a fall, joints that the ground pushes too far off target are then unloaded (`relief`).
    """

    mishap: Mishap
    motion: StoppedMotion
    relieving: bool = False  # whether `motion` is the move that relieves joints
    walk: None = None
    progress: float = 0.0
    lies_down: bool = False

    @property
    def robot_state(self) -> RobotState:
        """Fallen or carried."""
        return STATES[self.mishap.kind]

    def stands(self, context: PlannerContext) -> bool:
        """True if the robot is known to stand on its feet, in the pose in which it was frozen."""
        return isinstance(self.motion, WalkController) and context.watch.loaded and not context.watch.fallen

    def waits_for_command(self, context: PlannerContext) -> bool:
        """True for a lifted robot that stands on its feet: unlike after a fall, a velocity lets it continue."""
        return self.mishap.kind is MishapKind.CARRIED and self.stands(context)

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Continues if the robot stands on its feet; folds the legs for a sit request; refuses all others."""
        match request:
            case StandRequest():
                return self.resume(request, context)
            case VelocityRequest(twist) if not twist.is_zero and self.waits_for_command(context):
                return self.resume(request, context)
            case SitRequest():
                return StateReply(Folding(folding(context), self.mishap, rises=False))
            case BodyPoseRequest() | GuidedFootRequest() | GuidedFootOverGroundRequest():
                return StateReply(self, self.mishap.refusal)
            case FeetMoveRequest() | JointMoveRequest():
                return StateReply(self, self.mishap.refusal)
            case _:
                return StateReply(self)

    def resume(self, request: Request, context: PlannerContext) -> StateReply:
        """Sets the feet down where they are, then handles the request; refused while the feet bear no load.

        If the foot sensors have failed meanwhile, the request is accepted.
        """
        if not isinstance(self.motion, WalkController) or not context.watch.may_stand:
            return StateReply(self, self.mishap.refusal)
        self.motion.halt()
        return OnFeet(self.motion).handle(request, context)

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Continues the motion for `dt` [s] until it rests, then the move that relieves joints after a fall."""
        if self.relieving:
            self.relieving = not (isinstance(self.motion, JointMove) and self.motion.done)
        elif context.pace <= 0.0 and self.mishap.kind is MishapKind.FALLEN:
            move = relief(context)
            self.motion = move or self.motion
            self.relieving = move is not None
        pace = context.change_pace(float(self.relieving), dt)
        if pace <= 0.0:
            return None
        self.motion, pose = context.limiter.advance(self.motion, context.joints, dt, pace)
        return pose

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Stays in this state."""
        return self

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Stays in this state."""
        return self


@dataclass
class Folding(Copyable):
    """The robot folds its legs, waits until its body is at rest, and stands up if it then lies on its belly."""

    moves: list[JointMove]
    mishap: Mishap  # the cause
    rises: bool = True  # whether the robot then stands up
    walk: None = None
    lies_down: bool = False

    @property
    def robot_state(self) -> RobotState:
        """Rising or sinking, depending on the final posture."""
        return RobotState.RISING if self.rises else RobotState.SINKING

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present move that is done."""
        return self.moves[0].progress

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Freezes the robot again for a halt; stand and sit select the final posture."""
        match request:
            case HaltRequest():
                return StateReply(Frozen(self.mishap, self.moves[0]))
            case StandRequest() | SitRequest():
                self.rises = isinstance(request, StandRequest)
                return StateReply(self)
            case _:
                return StateReply(self, refusal(request, self.robot_state))

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Continues the present move for `dt` [s]."""
        return context.advance_first(self.moves, dt)

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """After a tick of `dt` [s]: rises if the last move is done, unless the robot is still tilted."""
        last = remove_finished(self.moves)
        if last is None:
            return self
        if not self.rises:
            return Lying()
        if context.watch.fallen:
            return Frozen(context.watch.fallen_mishap(), last)
        moves, walk = context.sequences.getting_up(context.joints, context.settings.selection.most_stable)
        return Transition(RobotState.RISING, moves, walk)

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Stays in this state."""
        return self


def folding(context: PlannerContext) -> list[JointMove]:
    """Returns the moves from the present joints to the lying posture, followed by a pause."""
    lying = context.sequences.lying_joints
    path = (context.joints, *find_path(context.robot, context.joints, lying))
    moves = [JointMove.between(context.robot, a, b, NEUTRAL) for a, b in pairwise(path) if a != b]
    return [*moves, JointMove.between(context.robot, lying, lying, NEUTRAL, SETTLING_S)]


NO_ATTITUDE = Refusal(
    "no_attitude",
    "the attitude is unknown, as imu/data brings no orientation: lay the robot on its belly, then run hexapod sit and "
    "hexapod stand",
)
SET_DOWN_AFTER_S = 5.0  # after a leg was stuck, a foot that it holds in the air
NOT_FALLEN = Refusal("not_fallen", "the robot has not fallen: nothing to recover from")


def respond(state: PlannerState, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
    """Updates the mishaps after a tick of `dt` [s]. Returns the next state."""
    watch = context.watch
    feedback = context.feedback
    tick = _watched(state, plan, context)
    watch.step(dt, context.sensors, tick)
    if context.sensors.exist:
        rises = isinstance(state, Transition) and isinstance(state.moves[0], BodyLift) and all(plan.planted)
        feedback.step(dt, plan, tick.measured, state.walk, context.sensors, watch, rises=rises, walking=tick.walking)
    if watch.fallen and (motion := _motion(state)) is not None:
        return Frozen(watch.fallen_mishap(), motion)
    if isinstance(state, Frozen) and state.mishap.kind is MishapKind.CARRIED and watch.fallen:
        return Frozen(watch.fallen_mishap(), state.motion)
    if not isinstance(state, OnFeet):
        return state
    if watch.carried or state.lies_down:
        context.footholds.accept()
    if watch.carried and not state.lies_down:
        return Frozen(watch.carried_mishap(), state.walk)
    if watch.hanging and not state.lies_down:
        return Frozen(watch.hanging_mishap(), state.walk)
    state.walk.slow_down(min(watch.speed_share, context.footholds.speed_share), watch.lagging_leg)
    _note_standstill(state, plan, dt, context)
    if feedback.progress.refused.mishap is not None and not state.lies_down and not state.walk.speed.halted:
        state.walk.halt()
    if (deadlock := context.limiter.deadlock) is not None and deadlock.legs is not None:
        state.walk.forbidden = context.footholds.forbidden_neutral(state.walk)
        state.walk.halt(deadlock=deadlock.legs)
    return _stopped_for_stuck_leg(state, context)


STANDING_SHARE = 0.02  # of the commanded speed, or of SLOW, below which the robot does not move
SLOW = 0.2  # [foothold radii/s]


def _note_standstill(state: OnFeet, plan: TickPlan, dt: float, context: PlannerContext) -> None:
    """Compares a command with what the robot does, in a tick of `dt` [s]; a body that moves before it walks may."""
    walk = state.walk
    progress = context.feedback.progress
    radius = progress.radius
    wanted = walk.speed.command if walk.motion.running or plan.at_rest else ZERO
    stands = plan.twist.foot_speed(radius) < STANDING_SHARE * min(wanted.foot_speed(radius), SLOW * radius)
    progress.stood = progress.stood + dt if stands else 0.0
    if progress.stood < STANDS_S:
        return
    cause = Statement("legs_cannot", "the legs cannot move as planned")
    if plan.unreached is not None:
        cause = Statement("foot_no_reach", "the foot of {leg} does not reach its place", leg=plan.unreached.leg)
    elif plan.blocked is not None and plan.blocked.legs is not None:
        first, second = (context.robot.leg_names[leg] for leg in plan.blocked.legs)
        text = "{first} and {second} are in each other's way"
        cause = Statement("legs_in_way", text, first=first, second=second)
    progress.stand(wanted, cause)


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
            text = "the robot lies upside down ({attitude}): turn it over, then run hexapod recover"
            return StateReply(state, Refusal("upside_down", text, attitude=context.watch.attitude))
        case Frozen():
            return StateReply(state, NO_ATTITUDE)
        case Lying():
            tilted = rising_refusal(state, context)
            return StateReply(state, tilted) if tilted else state.handle(StandRequest(), context)
        case _:
            return StateReply(state, NOT_FALLEN)


def _can_fold(mishap: Mishap, tilt: tuple[float, float] | None) -> bool:
    """True unless the robot is known to lie upside down, or it has fallen and its tilt is unknown."""
    return mishap.kind is MishapKind.CARRIED if tilt is None else tilt_angle(*tilt) < UPSIDE_DOWN_RAD


def rising_refusal(state: PlannerState, context: PlannerContext) -> Refusal | None:
    """Returns why a lying robot cannot stand up: it is tilted."""
    if not (isinstance(state, Lying) and context.watch.fallen):
        return None
    attitude = context.watch.attitude
    return Refusal("tilted", "the robot is tilted ({attitude}): lay it on its belly first", attitude=attitude)


def present_mishap(state: PlannerState, context: PlannerContext) -> Mishap | None:
    """Returns the present mishap, with the request that ends it; None without one."""
    if isinstance(state, Frozen):
        return replace(state.mishap, request=_way_out(state, context))
    if isinstance(state, OnFeet) and state.lies_down and (kept := kept_feet(state.walk, context.robot)) is not None:
        return kept
    if isinstance(state, Transition) and state.mishap is not None:
        return state.mishap
    found = context.watch.slow_mishap or context.feedback.progress.refused.mishap or context.footholds.mishap
    return found and replace(found, request="stand" if found.kind is MishapKind.HINDERED else "")


def _way_out(state: Frozen, context: PlannerContext) -> str:
    """The request that leads out of a fall or a lift: `sit` where the others are refused, or would be in the air."""
    if state.mishap.kind is MishapKind.CARRIED:
        return "stand" if isinstance(state.motion, WalkController) and context.watch.may_stand else "sit"
    known = context.watch.tilt is not None or state.stands(context)
    return "recover" if known else "sit"


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
    measured = context.measured
    legs = context.legs
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
    measured = context.measured
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
    angles = context.measured
    if angles is not None:
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
