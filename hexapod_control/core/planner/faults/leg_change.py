# SPDX-License-Identifier: Apache-2.0
"""Change of the walking legs: the robot comes to rest, folds or unfolds a leg, and continues with the new set of legs.

The feet step to their neutral footholds, and the body moves over those that will support it. Then only the leg to be
folded moves, in joint space: lifted, raised in the direction of its hip, folded; or in reverse. The context changes to
the other set of legs after folding, or before unfolding, while feet and body are at rest. Finally the feet step to the
footholds of the new set, before the robot follows velocities again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hexapod_control.core.copyable import Copyable
from hexapod_control.core.kinematics.arrays import read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose, Placement
from hexapod_control.core.kinematics.leg_kinematics import LegJoints
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import WholeBodyPose, ball_center_and_joints
from hexapod_control.core.planner.faults.unknown_state import Unknown
from hexapod_control.core.planner.given_places import leg_change_refusal
from hexapod_control.core.planner.requests import (
    HaltRequest,
    PoseTrackingRequest,
    Request,
    SettingsRequest,
    SitRequest,
    StandRequest,
    VelocityRequest,
    not_at_rest,
    refusal,
)
from hexapod_control.core.planner.states import (
    Lying,
    OnFeet,
    PlannerContext,
    PlannerState,
    PoseOrigin,
    StateReply,
    remove_finished,
)
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture import transport_pose
from hexapod_control.core.posture.straight_moves import JointMove
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Point, Robot
from hexapod_control.core.walking.walk_controller import WalkController

CHANGING = Refusal("changing_leg", "ignored while a leg is being folded or unfolded: wait until that is done")


def begin_leg_change(state: PlannerState, goal: WalkingLegs, context: PlannerContext) -> StateReply:
    """Starts a change to another set of legs, with one leg more or fewer, or to other tables of the same legs."""
    match state:
        case OnFeet(then=None) as on_feet:
            if no_place := leg_change_refusal(on_feet.walk, context.footholds):
                return StateReply(state, no_place)
            return StateReply(LegChange.beginning(on_feet.walk, goal))
        case Lying() if goal.lost > context.legs.lost:
            return StateReply(LyingLegChange(goal, _folding(context, goal, None)))
        case Lying():
            context.use_legs(goal)
            return StateReply(state)
        case Unknown() if goal.lost == context.legs.lost:
            context.use_legs(goal)
            return StateReply(state)
        case LegChange() | LyingLegChange():
            return StateReply(state, CHANGING)
        case Unknown(reason):
            return StateReply(state, reason)
        case _:
            return StateReply(state, not_at_rest(state.robot_state))


@dataclass
class LegChange(Copyable):
    """The robot comes to rest, one leg is folded or unfolded, and the feet step to their new footholds."""

    walk: WalkController
    goal: WalkingLegs
    command: Twist = ZERO  # followed after the change
    moves: list[JointMove] = field(default_factory=list)  # of the leg, once the robot rests
    robot_state: RobotState = RobotState.MOVING
    progress: float = 0.0
    lies_down: bool = False

    @classmethod
    def beginning(cls, walk: WalkController, goal: WalkingLegs) -> LegChange:
        """Returns the state in which feet and body first return to neutral."""
        command = walk.speed.command
        walk.drive(ZERO)
        walk.settle(NEUTRAL)
        return cls(walk, goal, command)

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Stores velocities; a halt or a posture request abandons the change unless the leg already moves."""
        match request:
            case VelocityRequest(twist):
                self.command = twist
            case HaltRequest() | SitRequest() if not self.moves:
                self.walk.settle(NEUTRAL)
                return OnFeet.beginning(self.walk, context, PoseOrigin.REQUESTED).handle(request, context)
            case HaltRequest():
                self.command = ZERO
            case StandRequest() | PoseTrackingRequest():
                pass
            case SettingsRequest():
                self.walk.change_settings(context.settings)
            case SitRequest():
                return StateReply(self, CHANGING)
            case _:
                return StateReply(self, refusal(request, self.robot_state))
        return StateReply(self)

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Advances the move of the leg, or the walk until it rests, by `dt` [s]."""
        if self.moves:
            return context.advance_first(self.moves, dt)
        self.walk.sense(None, None)
        self.walk, pose = context.limiter.advance(self.walk, context.joints, dt, context.change_pace(1.0, dt))
        return pose

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Starts the next part when one is done, after a tick of `dt` [s]."""
        if self.moves:
            return self._after_moves(context) if remove_finished(self.moves) else self
        if not self.walk.in_neutral_stance:
            return self
        if context.legs.lost == self.goal.lost:
            if context.capabilities is not self.goal.capabilities:
                self.walk = _on_other_legs(self.walk, self.goal, context)
            state = OnFeet.beginning(self.walk, context, PoseOrigin.REQUESTED)
            self.walk.drive(self.command)
            return state
        goal_pose = _shifted(NEUTRAL, self.goal.shift, context.legs.shift)
        if self.walk.body.pose.standing_goal != goal_pose:
            # Only now: feet away from their footholds may not reach the ground in this pose.
            self.walk.settle(goal_pose)
        elif self.goal.lost > context.legs.lost:
            self.moves = _folding(context, self.goal, self.walk)
        else:
            (row,) = context.legs.lost - self.goal.lost
            self.walk = _on_other_legs(self.walk, self.goal, context)
            self.moves = _unfolding(context, self.walk, row)
        return self

    def _after_moves(self, context: PlannerContext) -> PlannerState:
        """Returns the state after the moves: stepping to the new footholds, which allow full strides."""
        if context.legs.lost != self.goal.lost:
            self.walk = _on_other_legs(self.walk, self.goal, context)
        self.walk.change_settings(context.settings)
        self.walk.settle(NEUTRAL)
        return self

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Stays in this state."""
        return self


@dataclass
class LyingLegChange(Copyable):
    """The robot lies, and one leg is folded."""

    goal: WalkingLegs
    moves: list[JointMove]  # of the leg
    robot_state: RobotState = RobotState.MOVING
    walk: None = None
    progress: float = 0.0
    lies_down: bool = False

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Refuses all requests that need a robot at rest."""
        lying_down = isinstance(request, SitRequest)
        return StateReply(self, CHANGING if lying_down else refusal(request, self.robot_state))

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Advances the move of the leg by `dt` [s]."""
        return context.advance_first(self.moves, dt)

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Starts the next move after a tick of `dt` [s]; after the last one, the robot lies without the leg."""
        if not remove_finished(self.moves):
            return self
        context.use_legs(self.goal)
        return Lying()

    def after_rest(self, context: PlannerContext) -> PlannerState:
        """Stays in this state."""
        return self


def _shifted(pose: BodyPose, new: Point, old: Point) -> BodyPose:
    """The pose of a body that has an old shift (x, y) [m], with a new shift instead."""
    return pose._replace(x=pose.x + new[0] - old[0], y=pose.y + new[1] - old[1])


def _on_other_legs(walk: WalkController, goal: WalkingLegs, context: PlannerContext) -> WalkController:
    """Changes the context to another set of legs. Returns their walk controller, with feet and body where they are.

    base_footprint moves to below the body in the neutral stance of these legs. The foothold of a returning leg is its
    neutral one.
    """
    now = context.legs
    dx = now.shift[0] - goal.shift[0]
    dy = now.shift[1] - goal.shift[1]
    standing = {row: (foot.x + dx, foot.y + dy) for row, foot in zip(now.rows, walk.motion.feet, strict=True)}
    neutral = goal.sequences.neutral_footholds
    contacts = [standing.get(row, foothold) for row, foothold in zip(goal.rows, neutral, strict=True)]
    pose = _shifted(walk.body.pose.now, now.shift, goal.shift)
    context.use_legs(goal)
    return WalkController(goal.capabilities, contacts, pose, context.settings.selection.most_stable)


def _folding(context: PlannerContext, goal: WalkingLegs, walk: WalkController | None) -> list[JointMove]:
    """The moves of the leg to be lost, from its present pose to its folded pose."""
    (row,) = goal.lost - context.legs.lost
    leg = context.legs.rows.index(row)
    start = context.joints
    lifted = start[leg] if walk is None else _lifted(context.robot, walk, leg, start[leg])
    waypoints = [start[leg], lifted, _raised(context.robot, leg, start, lifted), goal.folded[row]]
    return _moves(context, leg, waypoints, NEUTRAL if walk is None else walk.body.pose.now)


def _unfolding(context: PlannerContext, walk: WalkController, row: int) -> list[JointMove]:
    """The moves of a returning leg (a row of the whole robot) to its contact point in a walk."""
    joints = context.joints
    leg = context.legs.rows.index(row)
    foot = walk.motion.feet[leg]
    pose = walk.body.pose.now
    placement = Placement(pose, context.robot.walk.height)
    radius = context.robot.foot_radius
    lifted = _lifted(context.robot, walk, leg, joints[leg])
    _, (down, _, _) = ball_center_and_joints(
        context.robot.legs[leg], (foot.x, foot.y), -context.robot.walk.preload, placement, radius, lifted
    )
    return _moves(context, leg, [joints[leg], _raised(context.robot, leg, joints, lifted), lifted, down], pose)


def _lifted(robot: Robot, walk: WalkController, leg: int, previous: LegJoints) -> LegJoints:
    """Joints [rad] of a leg with its foot above its contact point in a walk."""
    foot = walk.motion.feet[leg]
    placement = Placement(walk.body.pose.now, robot.walk.height)
    height = robot.walk.lift_height
    return ball_center_and_joints(robot.legs[leg], (foot.x, foot.y), height, placement, robot.foot_radius, previous)[1][
        0
    ]


def _raised(robot: Robot, leg: int, joints: Sequence[LegJoints], lifted: LegJoints) -> LegJoints:
    """Joints [rad] of a lifted leg with its femur up and in the direction of its hip."""
    rows = [lifted if row == leg else angles for row, angles in enumerate(joints)]
    coxa, femur, tibia = transport_pose.raised(robot, read_only(rows)).tolist()[leg]
    return coxa, femur, tibia


def _moves(context: PlannerContext, leg: int, waypoints: Sequence[LegJoints], pose: BodyPose) -> list[JointMove]:
    """Moves of one leg through waypoints [rad], its present joint angles first, while the other joints hold."""
    joints = context.joints
    path = [(*joints[:leg], angles, *joints[leg + 1 :]) for angles in waypoints]
    return [JointMove.between(context.robot, a, b, pose) for a, b in pairwise(path) if a != b]
