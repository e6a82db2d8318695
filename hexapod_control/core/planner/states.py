# SPDX-License-Identifier: Apache-2.0
"""The planner's states. `handle` of each state defines the effect of every request in that state.

    Unknown --measured--> Lying --stand--> Transition (rising) --> OnFeet --sit--> Transition (sinking) --> Lying
       |                    |                                        |
       +--found standing--> Transition          Lying, OnFeet --move--> WholeBodyMove --> OnFeet or Lying

A request that has to wait is stored in `then`: a robot comes to rest before it sinks. Other states are in faults/. All
states share the context, `PlannerContext`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple, Protocol, Self, TypeVar

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints, clamp
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.planner import given_places
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
    not_at_rest,
    refusal,
)
from hexapod_control.core.planner.tick_limiter import HELD_SPEED, TickLimiter
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.planner.walk_feedback import WalkFeedback
from hexapod_control.core.posture.posture_sequences import PostureMove, PostureSequences
from hexapod_control.core.posture.stand_up import BodyLift
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.mishap_watch import Mishap, MishapWatch
from hexapod_control.core.sensing.sensor_inputs import SensorInputs
from hexapod_control.core.statics.static_stability import direction_inwards
from hexapod_control.core.walking.foothold_plan import FootholdPlan
from hexapod_control.core.walking.walk_controller import WalkController
from hexapod_control.core.walking.walk_settings import WalkSettings
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.twist_limits import change_towards

AnyMove = TypeVar("AnyMove", bound=PostureMove)
PAUSE_TIME_S = 0.25  # in which a stopped move comes to rest
NO_POSE = Refusal("no_pose", "the pose is not known yet: no joint_states have arrived; start or arm the driver")
TORQUE_OFF = Refusal(
    "torque_off",
    "the torque is off: run hexapod arm, after an emergency stop hexapod reset first, then hexapod stand",
)
WOULD_TIP = Refusal("would_tip_lifted", "refused: with a leg in the air the robot would tip")
CLAMPED = Refusal("pose_clamped", "out of reach: clamped, see the achieved pose")


@dataclass
class PlannerContext(Copyable):
    """The data that all states share: the tables of one robot, its settings and sensors, and the last tick."""

    legs: WalkingLegs  # the legs that are not lost; robot, tables, joints and plan refer only to these
    limiter: TickLimiter
    sensors: SensorInputs
    settings: WalkSettings
    watch: MishapWatch
    feedback: WalkFeedback
    footholds: FootholdPlan
    joints: tuple[LegJoints, ...] = ()  # [rad] of the last tick, or as measured; empty while they are unknown
    plan: TickPlan | None = None  # of the last tick
    pace: float = 1.0  # time scale (0 to 1) of a move, with which it stops and continues smoothly
    wanted_gait: str = ""  # the gait requested last; empty: that of the robot file

    @classmethod
    def of(cls, legs: WalkingLegs, sensors: SensorInputs, settings: WalkSettings) -> PlannerContext:
        """The context of a robot with these legs and an unknown pose."""
        limiter = TickLimiter(legs.capabilities.robot)
        watch = MishapWatch(legs.whole)
        feedback = WalkFeedback(legs)
        footholds = FootholdPlan(legs.capabilities.robot)
        return cls(legs, limiter, sensors, settings, watch, feedback, footholds, wanted_gait=settings.selection.name)

    @property
    def robot(self) -> Robot:
        """The robot with its walking legs; lost legs are part of its body."""
        return self.legs.capabilities.robot

    @property
    def capabilities(self) -> Capabilities:
        """Gaits, stance regions and speeds with these legs."""
        return self.legs.capabilities

    @property
    def sequences(self) -> PostureSequences:
        """Posture sequences with these legs."""
        return self.legs.sequences

    @property
    def touching(self) -> tuple[bool, ...] | None:
        """Which feet touch the ground; None if unknown, or if the adaptation is off."""
        touching = self.sensors.touching
        return None if touching is None else self.legs.of_whole(touching)

    @property
    def measured(self) -> tuple[float, ...] | None:
        """Measured joint angles (3 n) [rad] of all legs as they are planned; None if unknown."""
        source = self.sensors.joints
        return None if source.sample is None or source.fault else self.feedback.sharing.without_trims(source.sample)

    def use_legs(self, legs: WalkingLegs) -> None:
        """Changes to other legs; the robot is at rest, and lost legs hold their joints."""
        joints = self.legs.completed(self.joints, self.legs.folded) if self.joints else ()
        capabilities = legs.capabilities
        wanted = self.wanted_gait
        if wanted not in capabilities.gait_names or (legs.lost and wanted != AUTO):
            wanted = ""  # the default gait of the robot: with fewer legs, the fastest one
        self.legs = legs.holding(joints) if joints else legs
        self.limiter = TickLimiter(capabilities.robot)
        self.feedback.use_legs(self.legs)
        self.footholds = FootholdPlan(capabilities.robot)
        self.settings = replace(self.settings, selection=capabilities.selection(wanted))
        self.joints = legs.of_whole(joints)
        self.plan = None

    def restart_from(self, joints: tuple[LegJoints, ...]) -> None:
        """Restarts from measured joint angles (n, 3) [rad] of the whole robot, within the limits; empty: unknown."""
        if joints:
            self.legs = self.legs.holding(joints)
        self.joints = tuple(map(clamp, self.robot.legs, self.legs.of_whole(joints))) if joints else ()
        self.plan = None
        self.limiter.reset()

    def change_pace(self, goal: float, dt: float) -> float:
        """Ramps the pace towards a goal (0 to 1) for `dt` [s], from 1 to 0 in PAUSE_TIME_S. Returns the pace."""
        self.pace = change_towards(self.pace, goal, dt / PAUSE_TIME_S)
        return self.pace

    def advance_first(self, moves: list[AnyMove], dt: float, pace_goal: float = 1.0) -> WholeBodyPose | None:
        """Advances the first of several moves by `dt` [s]; the pace ramps to `pace_goal`. Returns None at pace 0."""
        pace = self.change_pace(pace_goal, dt)
        if pace <= 0.0:
            return None
        moves[0], pose = self.limiter.advance(moves[0], self.joints, dt, pace)
        return pose


def remove_finished(moves: list[AnyMove]) -> AnyMove | None:
    """Removes the first of several moves if it is done. Returns it if it was the last one, else None."""
    if not moves[0].done:
        return None
    finished = moves.pop(0)
    return None if moves else finished


class StateReply(NamedTuple):
    """The result of a request."""

    state: PlannerState
    refusal: Refusal | None = None  # why the request is refused, or how it was changed


class PoseOrigin(Enum):
    """Origin of the body pose of a standing robot."""

    REQUESTED = "requested"
    TAKEN_OVER = "taken over"  # at take-over or after a stopped move; the first velocity moves the body to neutral
    RELIEVED = "relieved"  # as TAKEN_OVER, after the targets of a stuck leg have moved to where it is


class PlannerState(Protocol):
    """One state of the planner.

    A state is constructed with all its data, and left by returning the next state: from `handle` after a request, from
    `after_tick` when a motion has ended, or from `after_rest` when a stopped motion has come to rest.
    """

    @property
    def robot_state(self) -> RobotState:
        """The published state of the robot."""

    @property
    def walk(self) -> WalkController | None:
        """The walk controller of a robot on its feet, else None."""

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present posture move that is done; 0 if it has no defined end."""

    @property
    def lies_down(self) -> bool:
        """True from an accepted request to sit down until the robot sits; commands are ignored meanwhile."""

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Handles a request. Returns the next state, and why the request is refused."""

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Advances by `dt` [s] as far as pace and limiter allow. Returns the pose, None if nothing moves."""

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Returns the state after a tick of `dt` [s] in which the robot moved."""

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Returns the state after a tick in which nothing moved."""


class AtRest:
    """Base class of the states in which nothing moves."""

    walk = None
    progress = 0.0
    lies_down = False

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Returns None, as nothing moves."""
        return None

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> Self:
        """Stays in this state."""
        return self

    def after_rest(self, context: PlannerContext) -> Self:
        """Stays in this state."""
        return self


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


def recover_margin(walk: WalkController, plan: TickPlan, dt: float, required_margin: float) -> None:
    """Takes measures if the static margin of a tick of `dt` [s] is below the required one [m]; 0: no measures."""
    if required_margin <= 0.0 or walk.motion.guiding or math.isnan(plan.margin):
        return
    inward = (0.0, 0.0)
    if plan.margin < required_margin:
        standing = [(x, y) for (x, y), down in zip(plan.contacts.tolist(), plan.planted, strict=True) if down]
        inward = direction_inwards(standing, plan.center)
    walk.recover_margin(dt, plan.margin, inward)


RAISING = VelocityRequest | NeutralStanceRequest  # a robot that was taken over low rises for them
# Requests that wait for a robot that rises or is about to sit down
COMMANDS = RAISING | BodyPoseRequest | PoseTrackingRequest | GuidedFootRequest | GuidedFootOverGroundRequest
LOW_SHARE = 0.1  # of the walk height, by which the body of a low robot is below it: more than loaded legs give way


class Lying(AtRest):
    """The robot lies on its belly at rest."""

    robot_state = RobotState.SITTING

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Stands up or starts a whole-body move; measured joints replace the planned ones."""
        match request:
            case StandRequest():
                places = given_places.standing_places(context.footholds, context.sequences, context.joints)
                if isinstance(places, Refusal):
                    return StateReply(self, places)
                gait = context.settings.selection.most_stable
                moves, walk = context.sequences.getting_up(context.joints, gait, places)
                return StateReply(Transition(RobotState.RISING, moves, walk))
            case FeetMoveRequest() | JointMoveRequest():
                move = given_places.whole_body_move(request, context.robot, context.joints, NEUTRAL)
                return StateReply(WholeBodyMove(move))
            case MeasuredJoints(joints):
                context.restart_from(joints)
                return StateReply(self)
            case _:
                return StateReply(self, refusal(request, self.robot_state))


@dataclass
class Transition(Copyable):
    """The robot stands up, lies down, or sets its feet down in a take-over."""

    robot_state: RobotState  # rising or sinking
    moves: list[PostureMove]  # the remaining ones; the first one is executed
    goal: WalkController | None  # of a robot that stands at the end; None if it lies
    then: StandRequest | SitRequest | None = None  # request to handle when the robot stands
    pace_goal: float = 1.0  # 0 while halted
    origin: PoseOrigin = PoseOrigin.REQUESTED
    mishap: Mishap | None = None  # what it says meanwhile
    walk: None = None

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the present move that is done."""
        return self.moves[0].progress

    @property
    def lies_down(self) -> bool:
        """True while sinking, and while rising if the robot will lie down afterwards."""
        return self.robot_state is RobotState.SINKING or isinstance(self.then, SitRequest)

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Pauses or continues; reverses while the body moves over planted feet."""
        match request:
            case StandRequest():
                return StateReply(self._towards_standing(request, context))
            case SitRequest():
                return StateReply(self._towards_lying(request, context))
            case HaltRequest():
                self.then = None
                self.pace_goal = 0.0
                return StateReply(self)
            case _:
                return StateReply(self, refusal(request, self.robot_state))

    def _towards_standing(self, request: StandRequest, context: PlannerContext) -> Transition:
        self.then = request
        self.pace_goal = 1.0
        match self.moves[0]:
            case BodyLift() as lift if self.robot_state is RobotState.SINKING:
                gait = context.settings.selection.most_stable
                moves, walk = context.sequences.rising(lift.contacts, lift.offset, gait, lift.heights)
                return Transition(RobotState.RISING, moves, walk)
        return self

    def _towards_lying(self, request: SitRequest, context: PlannerContext) -> Transition:
        self.pace_goal = 1.0
        if self.robot_state is RobotState.SINKING:
            return self
        match self.moves[0]:
            case BodyLift() as lift:
                moves = context.sequences.sinking(lift.contacts, lift.offset, lift.heights)
                return Transition(RobotState.SINKING, moves, None)
        self.then = request
        return self

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Continues the present move for `dt` [s], unless it is halted."""
        return context.advance_first(self.moves, dt, self.pace_goal)

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Begins the next move when one is done after a tick of `dt` [s]; the last one leads to the final state."""
        if not remove_finished(self.moves):
            return self
        if self.goal is None:
            return Lying()
        state: PlannerState = OnFeet.beginning(self.goal, context, self.origin)
        following = HaltRequest() if self.pace_goal <= 0.0 else self.then
        state = state if following is None else state.handle(following, context).state
        return state.after_tick(plan, dt, context)

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Waits for the next request."""
        return self


@dataclass
class OnFeet(Copyable):
    """The robot stands or walks, guides single feet, or rises from a low pose in which it was taken over."""

    walk: WalkController
    robot_state: RobotState = RobotState.STANDING
    then: StandRequest | SitRequest | None = None  # rise to the neutral stance, or lie down from it
    origin: PoseOrigin = PoseOrigin.REQUESTED
    progress: float = 0.0
    held_time: float = 0.0  # [s] for which nothing has moved although the robot is to rise or to lie down

    @property
    def lies_down(self) -> bool:
        """True if the robot will lie down when it rests."""
        return isinstance(self.then, SitRequest)

    @classmethod
    def beginning(cls, walk: WalkController, context: PlannerContext, origin: PoseOrigin) -> OnFeet:
        """Returns the state of a robot that is on its feet from now on, with the settings of the context."""
        walk.change_settings(context.settings)
        walk.select_gait(context.settings.selection)
        return cls(walk, origin=origin)

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Executes walking, poses and guided feet; refuses them while the robot rises or is about to sit down."""
        walk = self.walk
        low = self._found_low(context) and not isinstance(request, RAISING)
        if (low or self.then is not None) and isinstance(request, COMMANDS):
            return StateReply(self, refusal(request, self.robot_state))
        match request:
            case StandRequest():
                self.then = None
                walk.release()
                self._leave_taken_over_pose(context, before_steps=True)
            case SitRequest():
                self.then = request
                walk.drive(ZERO)
                walk.settle(NEUTRAL)
            case HaltRequest():
                self._halt()
            case VelocityRequest(twist):
                refused = context.feedback.progress.refused, context.footholds.refused
                if not any(course.refuses(twist) for course in refused):
                    self._follow(twist, context)
            case NeutralStanceRequest():
                walk.settle(NEUTRAL)
                self._leave_taken_over_pose(context)
            case BodyPoseRequest(pose, duration):
                return StateReply(self, self._go_to_pose(pose, duration, context.joints))
            case GuidedFootRequest() | GuidedFootOverGroundRequest():
                return StateReply(self, given_places.guide_foot(request, walk, context.footholds, context.joints))
            case FeetMoveRequest() | JointMoveRequest():
                return self._move(request, context)
            case _:
                pass_on(request, walk)
        return StateReply(self)

    def _move(self, request: FeetMoveRequest | JointMoveRequest, context: PlannerContext) -> StateReply:
        now = self.walk
        if self.then is not None or not now.still:
            return StateReply(self, not_at_rest(self.robot_state))
        if no_place := given_places.move_refusal(request, now, context.footholds, context.joints):
            return StateReply(self, no_place)
        move = given_places.whole_body_move(request, context.robot, context.joints, now.body.pose.now)
        return StateReply(WholeBodyMove(move, origin=self.origin))

    def _follow(self, twist: Twist, context: PlannerContext) -> None:
        self._leave_taken_over_pose(context)
        if self.then is None:
            self.walk.drive(twist)

    def _halt(self) -> None:
        if isinstance(self.then, StandRequest):
            self.walk.body.pose.track(self.walk.body.pose.now)
        self.then = None
        self.walk.halt()

    def _leave_taken_over_pose(self, context: PlannerContext, *, before_steps: bool = False) -> None:
        """Moves the body to its neutral pose: before the robot walks, if it was taken over low or cannot step."""
        if self.origin is not PoseOrigin.REQUESTED:
            now = self.walk
            now.settle(NEUTRAL)
            able = now.body.pose.can_start_walking(now.motion.feet) and (now.in_neutral_stance or not before_steps)
            if self._found_low(context) or (not able and self.origin is PoseOrigin.TAKEN_OVER):
                self.then = StandRequest()
                self.robot_state = RobotState.RISING
            else:
                self.origin = PoseOrigin.REQUESTED

    def _found_low(self, context: PlannerContext) -> bool:
        """Returns True if the robot was taken over low and has not risen yet."""
        lowest = -LOW_SHARE * context.robot.walk.height
        return self.origin is PoseOrigin.TAKEN_OVER and self.walk.body.pose.now.z < lowest

    def _go_to_pose(self, pose: BodyPose, duration: float, joints: Sequence[LegJoints]) -> Refusal | None:
        if self.walk.would_tip(pose, joints):
            return WOULD_TIP
        self.origin = PoseOrigin.REQUESTED
        self.walk.body.request(pose, duration)
        return None if self.walk.body.pose.standing_goal == pose else CLAMPED

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Advances body, feet and gait clock by `dt` [s]; only the map is used if the robot rises or is to sit down."""
        footholds = context.footholds
        touching = context.touching if self.then is None or footholds.grid is not None else None
        self.walk.sense(touching, context.sensors.body_tilt if self.then is None else None)
        if footholds.grid is not None:
            footholds.step(dt, self.walk, touching, explores=context.sensors.adaptation.explores)
        elif self.walk.motion.seen or self.walk.forbidden:
            footholds.forget(self.walk)
        self.walk.correct(context.feedback.course.shares)
        self.walk, pose = context.limiter.advance(self.walk, context.joints, dt, context.change_pace(1.0, dt))
        self.walk.note_slowed(dt * (1.0 - context.limiter.time_share))
        return pose

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """After a tick of `dt` [s]: lies down if requested and in the neutral stance, else recovers the margin."""
        walk = now = self.walk
        held = self.then is not None and now.still and bool(abs(plan.joint_velocity).max() < HELD_SPEED)
        self.held_time = self.held_time + dt if held else 0.0
        if isinstance(self.then, StandRequest):
            return self._after_rising_tick(plan, dt, context)
        if now.motion.guiding:
            self.robot_state = RobotState.MOVING
        elif self._found_low(context):
            self.robot_state = RobotState.RISING
        else:
            self.robot_state = RobotState.STANDING if now.at_rest else RobotState.WALKING
        if self.then is not None:
            if now.speed.halted:
                walk.drive(ZERO)
            if now.body.pose.standing_goal != NEUTRAL:
                walk.settle(NEUTRAL)
            if self._in_place(context):
                context.footholds.lie_down(walk)
                moves = context.sequences.lying_down(walk)
                return Transition(RobotState.SINKING, moves, None, mishap=given_places.kept_feet(walk, context.robot))
        recover_margin(walk, plan, dt, context.settings.margin)
        return self

    def _in_place(self, context: PlannerContext) -> bool:
        """Whether feet and body have returned, as far as the map permits."""
        return self.walk.in_neutral_stance if context.footholds.grid is None else self.walk.returned

    def _after_rising_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Ends the rise in the neutral stance. The feet step once the body is up, or cannot rise over them."""
        now = self.walk
        if self._in_place(context):
            self.then = None
            self.origin = PoseOrigin.REQUESTED
            return self.after_tick(plan, dt, context)
        if now.speed.halted and (now.body.pose.now == now.body.pose.standing_goal or self.held_time > 0.0):
            self.walk.drive(ZERO)
        return self

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Stays in this state."""
        return self


@dataclass
class WholeBodyMove(Copyable):
    """All feet or all joints move on straight lines to a goal.

    A request to stand, lie down or halt ends the move where it comes to rest.
    """

    move: FeetMove | JointMove
    then: StandRequest | SitRequest | HaltRequest | None = None  # request to handle when the move has come to rest
    pace_goal: float = 1.0  # 0 after a request that ends the move
    origin: PoseOrigin = PoseOrigin.REQUESTED  # of the pose in which the move began
    robot_state: RobotState = RobotState.MOVING
    walk: None = None

    @property
    def progress(self) -> float:
        """Share (0 to 1) of the move that is done."""
        return self.move.progress

    @property
    def lies_down(self) -> bool:
        """True if the robot will lie down next."""
        return isinstance(self.then, SitRequest)

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Stops the move; stand and sit are handled once it has come to rest."""
        match request:
            case StandRequest() | SitRequest() | HaltRequest():
                self.then = None if isinstance(request, HaltRequest) else request
                self.pace_goal = 0.0
                return StateReply(self)
            case _:
                return StateReply(self, refusal(request, self.robot_state))

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Continues the move for `dt` [s], unless it has been stopped."""
        pace = context.change_pace(self.pace_goal, dt)
        if pace <= 0.0:
            return None
        self.move, pose = context.limiter.advance(self.move, context.joints, dt, pace)
        return pose

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Returns the state that follows a move that finished in this tick of `dt` [s]."""
        if not self.move.done:
            return self
        return self._following(context, self.origin).after_tick(plan, dt, context)

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Returns the state after a move that was stopped and is not continued."""
        return self._following(context, PoseOrigin.TAKEN_OVER)

    def _following(self, context: PlannerContext, origin: PoseOrigin) -> PlannerState:
        """Returns OnFeet with the present footholds, or Lying; then handles a stored request."""
        walk = context.sequences.standing_on(context.joints, self.move.pose, context.settings.selection.most_stable)
        state: PlannerState = Lying() if walk is None else OnFeet.beginning(walk, context, origin)
        return state if self.then is None else state.handle(self.then, context).state
