# SPDX-License-Identifier: Apache-2.0
"""Joint targets of another program, such as a learned policy, which the robot follows within all limits.

The tick limiter keeps reach, joint speeds and the gaps between legs. Targets that exceed these for too long, that tip
the robot, or that stop arriving, end the stream: the robot comes to rest, sets its feet down and stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.core.kinematics.leg_kinematics import LegJoints, clamp
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.support_detection import detect_support
from hexapod_control.core.kinematics.whole_body import WholeBodyPose
from hexapod_control.core.planner.requests import HaltRequest, Request, StandRequest, not_at_rest
from hexapod_control.core.planner.states import OnFeet, PlannerContext, PlannerState, StateReply, WholeBodyMove
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.posture.straight_moves import JointMove
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import interpolated

MAX_SILENCE_S = 0.2  # between two targets
MAX_EXCESS_S = 0.5  # for which targets may exceed the limits; time within them counts against it
SILENT = Refusal("silent", "its joint targets have stopped: the robot stands; is the program that sends them running?")
EXCEEDED = Refusal(
    "exceeded",
    "its joint targets exceeded what joints, legs or balance allow for {seconds:g} s: the robot stands; train it with "
    "smaller and slower actions",
    seconds=MAX_EXCESS_S,
)
ENDED = Refusal("ended", "another request or a fault has ended it")


class JointStream(JointMove):
    """All joints move to the newest goal within one tick of `duration` [s], or later if the limiter slows it down."""

    done = False
    progress = 0.0

    def advance(self, dt: float, previous: Sequence[LegJoints]) -> WholeBodyPose:
        """Advances by `dt` [s] and returns the pose, without Cartesian foot targets."""
        share = min(1.0, dt / self.duration)
        joints = [interpolated(a, b, share) for a, b in zip(previous, self.goal, strict=True)]
        support = detect_support(self.robot, joints, self.pose)
        return WholeBodyPose(joints, None, support.contacts, support.planted, support.placement, None)


@dataclass
class FollowingJoints(WholeBodyMove):
    """The robot follows a stream of joint targets until a request, a fault, their excess or their silence ends it."""

    maxima: Twist = ZERO  # of the walk before it, in which commands to the policy are limited
    ended: Refusal | None = None  # why it comes to rest
    beyond: bool = False  # whether the newest targets are beyond the limits of the joints
    silence: float = 0.0  # [s] since the newest targets
    excess: float = 0.0  # [s] see MAX_EXCESS_S

    def handle(self, request: Request, context: PlannerContext) -> StateReply:
        """Stand, sit and halt end it; feet in the air are set down."""
        reply = super().handle(request, context)
        if isinstance(request, HaltRequest):
            self.then = request
        if self.pace_goal <= 0.0:
            self.ended = self.ended or ENDED
        return reply

    def advance(self, dt: float, context: PlannerContext) -> WholeBodyPose | None:
        """Moves towards the newest targets for `dt` [s]."""
        self.silence += dt
        if self.silence > MAX_SILENCE_S:
            self._end(SILENT)
        self.move.duration = dt
        return super().advance(dt, context)

    def after_tick(self, plan: TickPlan, dt: float, context: PlannerContext) -> PlannerState:
        """Counts how long the targets have exceeded the limits, after a tick of `dt` [s]."""
        exceeds = self.beyond or context.limiter.slowed or not plan.margin >= 0.0
        self.excess = max(0.0, self.excess + (dt if exceeds else -dt))
        if self.excess > MAX_EXCESS_S:
            self._end(EXCEEDED)
        return self

    def _end(self, why: Refusal) -> None:
        if self.ended is None:
            self.ended = why
            self.then = StandRequest()
            self.pace_goal = 0.0


def follow_joints(state: PlannerState, joints: Sequence[LegJoints], context: PlannerContext) -> StateReply:
    """Follows joint targets (n, 3) [rad] from now on. A stream begins while the robot stands at rest."""
    goal = tuple(clamp(leg, angles) for leg, angles in zip(context.robot.legs, joints, strict=True))
    if isinstance(state, FollowingJoints):
        if state.ended is None:
            state.move.goal = goal
            state.beyond = goal != tuple(joints)
            state.silence = 0.0
        return StateReply(state, state.ended)
    if not isinstance(state, OnFeet) or state.then is not None or not state.walk.still:
        return StateReply(state, not_at_rest(state.robot_state))
    move = JointStream(context.robot, context.joints, goal, state.walk.body.pose.now, 1.0)
    return StateReply(FollowingJoints(move, origin=state.origin, maxima=state.walk.maxima()))
