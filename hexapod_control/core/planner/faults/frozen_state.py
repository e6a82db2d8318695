"""The states of the planner after a fall or a lift: the robot holds, and recovers on request.

Joints that the ground deflects too far are relieved after a fall, as a servo at stall torque overheats.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.body_pose import NEUTRAL
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.names import JOINTS
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
)
from hexapod_control.core.planner.states import (
    Lying,
    OnFeet,
    PlannerContext,
    PlannerState,
    StateReply,
    Transition,
    refusal,
    remove_finished,
)
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.joint_paths import find_path
from hexapod_control.core.posture.posture_sequences import PostureMove
from hexapod_control.core.posture.straight_moves import FeetMove, JointMove
from hexapod_control.core.sensing.mishap_watch import Mishap, MishapKind
from hexapod_control.core.walking.walk_controller import WalkController

MAX_TORQUE_SHARE = 0.7  # of the stall torque, above which a joint is relieved ...
REMAINING_TORQUE_SHARE = 0.3  # ... to this share


def relief(context: PlannerContext) -> JointMove | None:
    """Returns the move of the joints towards their measured angles; None if no torque is too high or none is known.

    The torque of a joint is estimated as its stiffness times its deflection, measured minus planned angle.
    """
    measured = context.sensors.joints
    if measured.sample is None or measured.fault:
        return None
    count = len(JOINTS)
    angles = [measured.sample[at : at + count] for at in range(0, len(measured.sample), count)]
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
                return StateReply(self, self.mishap.text)
            case FeetMoveRequest() | JointMoveRequest():
                return StateReply(self, self.mishap.text)
            case _:
                return StateReply(self)

    def resume(self, request: Request, context: PlannerContext) -> StateReply:
        """Sets the feet down where they are, then handles the request; refused while the feet bear no load.

        If the foot sensors have failed meanwhile, the request is accepted.
        """
        if not isinstance(self.motion, WalkController) or not context.watch.may_stand:
            return StateReply(self, self.mishap.text)
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
