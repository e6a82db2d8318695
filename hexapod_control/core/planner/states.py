"""The planner's states. `handle` of each state defines the effect of every request in that state.

    Unknown --measured--> Lying --stand--> Transition (rising) --> OnFeet --sit--> Transition (sinking) --> Lying
       |                    |                                        |
       +--found standing--> Transition          Lying, OnFeet --move--> WholeBodyMove --> OnFeet or Lying

A request that has to wait is stored in `then`: a robot comes to rest before it sinks. Other states are in faults/.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.planner import request_handling
from hexapod_control.core.planner.planner_state import (
    AtRest,
    PlannerContext,
    PlannerState,
    PoseOrigin,
    StateReply,
    remove_finished,
)
from hexapod_control.core.planner.requests import (
    BodyPoseRequest,
    FeetMoveRequest,
    GuidedFootOverGroundRequest,
    GuidedFootRequest,
    HaltRequest,
    JointMoveRequest,
    MeasuredJoints,
    NeutralStanceRequest,
    PoseTrackingRequest,
    Request,
    SitRequest,
    StandRequest,
    VelocityRequest,
)
from hexapod_control.core.planner.tick_limiter import HELD_SPEED
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.posture_sequences import PostureMove
from hexapod_control.core.posture.stand_up import BodyLift
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove
from hexapod_control.core.walking.guided.guided_legs import BallCenter, GroundPoint
from hexapod_control.core.walking.walk_controller import WalkController

COMMANDS = (
    VelocityRequest
    | BodyPoseRequest
    | PoseTrackingRequest
    | NeutralStanceRequest
    | GuidedFootRequest
    | GuidedFootOverGroundRequest
)  # which wait for a robot that rises or is about to sit down
LOW_SHARE = 0.1  # of the walk height, by which the body of a low robot is below it: more than loaded legs give way


class Lying(AtRest):
    """The robot lies on its belly at rest."""

    robot_state = RobotState.SITTING

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Stands up or starts a whole-body move; measured joints replace the planned ones."""
        match request:
            case StandRequest():
                moves, walk = context.sequences.getting_up(context.joints, context.settings.selection.most_stable)
                return StateReply(Transition(RobotState.RISING, moves, walk))
            case FeetMoveRequest() | JointMoveRequest():
                return StateReply(WholeBodyMove(request_handling.whole_body_move(request, context, NEUTRAL)))
            case MeasuredJoints(joints):
                context.restart_from(joints)
                return StateReply(self)
            case _:
                return StateReply(self, request_handling.refusal(request, self.robot_state))


@dataclass
class Transition(Copyable):
    """The robot stands up, lies down, or sets its feet down in a take-over."""

    robot_state: RobotState  # rising or sinking
    moves: list[PostureMove]  # the remaining ones; the first one is executed
    goal: WalkController | None  # of a robot that stands at the end; None if it lies
    then: StandRequest | SitRequest | None = None  # request to handle when the robot stands
    pace_goal: float = 1.0  # 0 while halted
    origin: PoseOrigin = PoseOrigin.REQUESTED
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
                self.then, self.pace_goal = None, 0.0
                return StateReply(self)
            case _:
                return StateReply(self, request_handling.refusal(request, self.robot_state))

    def _towards_standing(self, request: StandRequest, context: PlannerContext) -> Transition:
        self.then, self.pace_goal = request, 1.0
        match self.moves[0]:
            case BodyLift() as lift if self.robot_state is RobotState.SINKING:
                moves, walk = context.sequences.rising(
                    lift.contacts, lift.offset, context.settings.selection.most_stable
                )
                return Transition(RobotState.RISING, moves, walk)
        return self

    def _towards_lying(self, request: SitRequest, context: PlannerContext) -> Transition:
        self.pace_goal = 1.0
        if self.robot_state is RobotState.SINKING:
            return self
        match self.moves[0]:
            case BodyLift() as lift:
                return Transition(RobotState.SINKING, context.sequences.sinking(lift.contacts, lift.offset), None)
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
        if self.then is not None and isinstance(request, COMMANDS):
            return StateReply(self, request_handling.refusal(request, self.robot_state))
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
                self._follow(twist, context)
            case NeutralStanceRequest():
                walk.settle(NEUTRAL)
                self._leave_taken_over_pose(context)
            case BodyPoseRequest(pose, duration):
                return StateReply(self, self._go_to_pose(pose, duration, context.joints))
            case GuidedFootRequest(leg, center):
                return StateReply(self, walk.guide_foot(leg, BallCenter(*center), context.joints))
            case GuidedFootOverGroundRequest(leg, point):
                return StateReply(self, walk.guide_foot(leg, GroundPoint(*point), context.joints))
            case FeetMoveRequest() | JointMoveRequest():
                return self._move(request, context)
            case _:
                request_handling.pass_on(request, walk)
        return StateReply(self)

    def _move(self, request: FeetMoveRequest | JointMoveRequest, context: PlannerContext) -> StateReply:
        now = self.walk
        if self.then is not None or not now.still:
            return StateReply(self, request_handling.not_at_rest(self.robot_state))
        move = request_handling.whole_body_move(request, context, now.body.pose.now)
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
            now, pose = self.walk, self.walk.body.pose
            now.settle(NEUTRAL)
            low = pose.now.z < -LOW_SHARE * context.robot.walk.height
            rises = low or not pose.can_start_walking(now.motion.feet) or (before_steps and not now.in_neutral_stance)
            if rises and self.origin is PoseOrigin.TAKEN_OVER:
                self.then, self.robot_state = StandRequest(), RobotState.RISING
            else:
                self.origin = PoseOrigin.REQUESTED

    def _go_to_pose(self, pose: BodyPose, duration: float, joints: Sequence[LegJoints]) -> str:
        if self.walk.would_tip(pose, joints):
            return "refused: with a leg in the air the robot would tip"
        self.origin = PoseOrigin.REQUESTED
        self.walk.body.request(pose, duration)
        return "" if self.walk.body.pose.standing_goal == pose else "out of reach: clamped, see the achieved pose"

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Advances body, feet and gait clock by `dt` [s]; sensors are used unless the robot is about to sit down."""
        self.walk.sense(*((context.touching, context.sensors.body_tilt) if self.then is None else (None, None)))
        self.walk, pose = context.limiter.advance(self.walk, context.joints, dt, context.change_pace(1.0, dt))
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
        else:
            self.robot_state = RobotState.STANDING if now.at_rest else RobotState.WALKING
        if self.then is not None:
            if now.speed.halted or now.body.pose.standing_goal != NEUTRAL:
                walk.drive(ZERO)
                walk.settle(NEUTRAL)
            if now.in_neutral_stance:
                return Transition(RobotState.SINKING, context.sequences.lying_down(walk), None)
        request_handling.recover_margin(walk, plan, dt, context.settings.margin)
        return self

    def _after_rising_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Ends the rise in the neutral stance. The feet step once the body is up, or cannot rise over them."""
        now = self.walk
        if now.in_neutral_stance:
            self.then, self.origin = None, PoseOrigin.REQUESTED
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
    then: StandRequest | SitRequest | None = None  # request to handle when the move has come to rest
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
            case StandRequest() | SitRequest():
                self.then, self.pace_goal = request, 0.0
                return StateReply(self)
            case HaltRequest():
                self.then, self.pace_goal = None, 0.0
                return StateReply(self)
            case _:
                return StateReply(self, request_handling.refusal(request, self.robot_state))

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
