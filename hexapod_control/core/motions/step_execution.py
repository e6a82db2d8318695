# SPDX-License-Identifier: Apache-2.0
"""Executes the steps of a motion: one generator per kind of step, which commands the planner tick by tick.

An execution begins when the step is due, yields once per tick, and ends when the step is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions import motion_steps
from hexapod_control.core.motions.motion_steps import (
    ArcStep,
    FeetStep,
    GaitStep,
    HeightStep,
    JointsStep,
    LegStep,
    MotionStep,
    PackStep,
    PoseStep,
    RotateStep,
    SwayStep,
    UnpackStep,
    WalkStep,
)
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.requests import not_on_feet
from hexapod_control.core.planner.tick_plan import ON_FEET, RobotState, TickPlan
from hexapod_control.core.posture.transport_pose import folded, raised
from hexapod_control.core.refusal import Refusal
from hexapod_control.core.robot import Vector

MAX_STEPS_PER_TICK = 8  # that may begin in a tick: a motion may have thousands of steps without duration
StepExecution = Iterator[Refusal | None]
"""Yields once per tick: None while the step runs, or why it cannot continue. Ends when the step is done."""


class StepEnd(Enum):
    """What `next` returns in place of a yielded value once a step is done."""

    DONE = "done"


class StepContext:
    """The planner that executes the steps, the plan of the last tick, and the current step."""

    def __init__(self, planner: Planner) -> None:
        """Starts without a plan."""
        self.planner = planner
        self.plan: TickPlan | None = None  # of the last tick
        self.dt = 0.0  # [s] of this tick
        self.step: motion_steps.MotionStep | None = None  # the current one, innermost
        self._begun = 0  # number of steps begun in this tick

    def begin_tick(self, dt: float) -> None:
        """Begins a tick of `dt` [s]."""
        self.dt = dt
        self._begun = 0

    def may_begin(self) -> bool:
        """Counts a step that is about to begin. Returns False if no more may begin in this tick."""
        self._begun += 1
        return self._begun <= MAX_STEPS_PER_TICK

    @property
    def twist(self) -> Twist:
        """The twist executed in the last tick."""
        return self.plan.twist if self.plan is not None else ZERO


def coming_to_rest(context: StepContext) -> StepExecution:
    """Brings the robot to rest, with all feet on the ground or held in the air."""
    context.planner.command(ZERO)
    while not context.planner.view.at_rest:
        yield None


def step_place(step: motion_steps.MotionStep | None) -> str:
    """Returns the beginning of a message about a step: file:line and kind; empty for None."""
    if step is None:
        return ""
    return f"{step.place + ': ' if step.place else ''}{motion_steps.NAMES[type(step)]}: "


POSE_TOLERANCE = 1e-4  # [m, rad] up to which a body pose is at its goal
SWAY_CHECKS = 16  # points of an ellipse that must be in reach before a sway begins


def execute_pose(context: StepContext, step: PoseStep) -> StepExecution:
    """Moves to a body pose."""
    goal = BodyPose(step.x, step.y, step.z, step.roll, step.pitch, step.yaw)
    yield from _posed(context, goal, step.duration)


def execute_height(context: StepContext, step: HeightStep) -> StepExecution:
    """Moves to a height; the other coordinates of the pose are unchanged."""
    goal = context.planner.view.body_pose_goal._replace(z=step.z)
    yield from _posed(context, goal, step.duration)


def execute_rocking(context: StepContext, step: RotateStep) -> StepExecution:
    """Rocks the body about x or y."""
    # Rocking to both sides and back covers four times the angle, at `rate` on average.
    coordinate = {"x": "roll", "y": "pitch"}[step.axis]
    period = 4.0 * abs(step.angle) / step.rate
    yield from _swayed(context, BodyPose(), BodyPose(**{coordinate: step.angle}), period, float(step.times))


def execute_sway(context: StepContext, step: SwayStep) -> StepExecution:
    """Moves the body pose along an ellipse."""
    cosine = BodyPose(x=step.x, z=step.z, pitch=step.pitch)
    sine = BodyPose(y=step.y, roll=step.roll, yaw=step.yaw)
    yield from _swayed(context, cosine, sine, step.period, step.rounds)


def _posed(context: StepContext, goal: BodyPose, duration: float) -> StepExecution:
    """Moves to a body pose in `duration` [s]; 0: as fast as the limits allow."""
    view = context.planner.view
    if view.on_feet and not view.pose_reachable(goal):
        yield Refusal("pose_out_of_reach", "out of reach of the legs: a body at ({pose})", pose=_pose_text(goal))
        return
    refusal = context.planner.request_pose(goal, duration)
    if refusal:
        yield refusal
    while not _reached(context, goal):
        yield None


def _reached(context: StepContext, goal: BodyPose) -> bool:
    view = context.planner.view
    return not view.on_feet or max(abs(a - b) for a, b in zip(view.body_pose, goal, strict=True)) <= POSE_TOLERANCE


def _swayed(context: StepContext, cosine: BodyPose, sine: BodyPose, period: float, rounds: float) -> StepExecution:
    """Moves on an ellipse about the present pose, which grows in the first half revolution and shrinks in the last.

    The pose is middle + cos(2 pi t / period) `cosine` + sin(2 pi t / period) `sine`; `period` in [s].
    """
    planner = context.planner
    view = planner.view
    if not view.on_feet:
        yield not_on_feet(planner.state)
        return
    middle = view.body_pose_goal
    for k in range(SWAY_CHECKS):
        around = _ellipse(middle, cosine, sine, k / SWAY_CHECKS, 1.0)
        if not view.pose_reachable(around):
            text = "the body cannot sway as far as ({pose})"
            yield Refusal("sway_out_of_reach", text, pose=_pose_text(around))
            return
    time = 0.0
    total = rounds * period
    while time < total:
        fade = min(1.0, 2.0 * time / period, 2.0 * (total - time) / period)
        share = fade * fade * (3.0 - 2.0 * fade)
        if not planner.view.on_feet:
            return
        planner.track_pose(_ellipse(middle, cosine, sine, time / period, share))
        time += context.dt
        yield None
    yield from _posed(context, middle, 0.0)


def _ellipse(middle: BodyPose, cosine: BodyPose, sine: BodyPose, revolutions: float, share: float) -> BodyPose:
    """Pose after some revolutions on an ellipse that is scaled by a share (0 to 1)."""
    c, s = share * math.cos(math.tau * revolutions), share * math.sin(math.tau * revolutions)
    return BodyPose(*(m + c * a + s * b for m, a, b in zip(middle, cosine, sine, strict=True)))


def _pose_text(pose: BodyPose) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in pose._asdict().items() if value)


def execute_stand(context: StepContext, step: MotionStep) -> StepExecution:
    """Stands up and moves to the neutral stance."""
    planner = context.planner
    refusal = planner.stand()
    if refusal:
        yield refusal
    while planner.state.value not in ON_FEET:
        yield None
    planner.command(ZERO)
    planner.return_to_neutral()
    while not planner.view.in_neutral_stance:
        yield None


def execute_sit(context: StepContext, step: MotionStep) -> StepExecution:
    """Sits down."""
    refusal = context.planner.sit()
    if refusal:
        yield refusal
    while context.planner.state is not RobotState.SITTING:
        yield None


def execute_pack(context: StepContext, step: PackStep) -> StepExecution:
    """Sits down and folds the legs: first all femurs up, then every leg against its femur."""
    planner = context.planner
    if planner.state is not RobotState.SITTING:
        yield from execute_sit(context, step)
    yield from _moved(context, lambda: planner.move_joints(raised(planner.robot, planner.view.lying_joints)))
    yield from _moved(context, lambda: planner.move_joints(folded(planner.robot)))


def execute_unpack(context: StepContext, step: UnpackStep) -> StepExecution:
    """Unfolds the legs to the pose from which the robot stands up."""
    planner = context.planner
    lying = planner.view.lying_joints
    yield from _moved(context, lambda: planner.move_joints(raised(planner.robot, lying)))
    yield from _moved(context, lambda: planner.move_joints(lying))


def execute_leg(context: StepContext, step: LegStep) -> StepExecution:
    """Moves one foot to a point relative to its neutral foothold."""
    planner = context.planner
    yield from coming_to_rest(context)
    if not planner.view.on_feet or step.name not in planner.robot.leg_names:
        yield planner.guide_foot(step.name, (0.0, 0.0, 0.0))
        return
    leg = planner.robot.leg_names.index(step.name)
    side = math.copysign(1.0, planner.robot.legs[leg].hip[1])
    x, y = planner.view.neutral_footholds()[leg]
    refusal = planner.guide_foot_over_ground(step.name, (x + step.x, y + side * step.out, step.z))
    if refusal:
        yield refusal
    while not planner.view.guided_foot_arrived(step.name):
        yield None


def execute_feet(context: StepContext, step: FeetStep) -> StepExecution:
    """Moves all feet by offsets from the neutral stance."""
    planner = context.planner
    robot = planner.robot
    # The stance at the nominal height: on the way to that of the present height, planted feet would slide.
    neutral = read_only(planner.capabilities.standing_joints)
    goal = forward(robot, neutral) + _by_leg(context, step.offsets, np.zeros((len(robot.legs), 3)))
    solution = inverse(robot, goal, neutral)
    for leg, reason, excess in zip(robot.leg_names, solution.reasons, solution.excess, strict=True):
        if reason is not None:
            where = reason.describe(excess)
            yield Refusal("foot_would_be", "the foot of {leg} would be {where}", leg=leg, where=where)
            return
    yield from _moved(context, lambda: planner.move_feet(goal, step.duration))


def execute_joints(context: StepContext, step: JointsStep) -> StepExecution:
    """Moves all joints to angles; legs that are not named keep theirs."""

    def begin() -> Refusal | None:
        now = context.planner.view.joint_angles
        assert now is not None  # refused before the robot rests
        return context.planner.move_joints(_by_leg(context, step.angles, now), step.duration)

    yield from _moved(context, begin)


def _by_leg(context: StepContext, named: Mapping[str, Vector], others: Array) -> Array:
    """Returns values (n, 3) by leg: from `named` by its name or `all`, else from `others` (n, 3)."""
    common = named.get("all")
    values = [
        named.get(leg, other if common is None else common)
        for leg, other in zip(context.planner.robot.leg_names, others.tolist(), strict=True)
    ]
    return read_only(values)


def _moved(context: StepContext, begin: Callable[[], Refusal | None]) -> StepExecution:
    """Comes to rest, then executes the whole-body move that `begin` requests; `begin` returns its refusal."""
    yield from coming_to_rest(context)
    refusal = begin()
    if refusal:
        yield refusal
        return
    while context.planner.view.whole_body_move_active:
        yield None


STEP_ON_THE_SPOT = Twist(1e-6, 0.0, 0.0)  # a negligible motion, but not a zero command


def execute_walk(context: StepContext, step: WalkStep) -> StepExecution:
    """Walks with a constant twist, with the step's own lift height and tempo."""
    context.planner.change_settings(lift=step.lift, tempo=step.tempo)
    twist = Twist(step.x, step.y, step.yaw)
    ends = (step.duration, step.distance, step.angle)
    yield from _driven(context, STEP_ON_THE_SPOT if twist.is_zero else twist, ends)


def execute_arc(context: StepContext, step: ArcStep) -> StepExecution:
    """Walks on an arc."""
    twist = context.planner.view.arc_twist(step.travel, step.curvature)
    yield from _driven(context, twist, (step.duration, 0.0, 0.0))


def execute_turn(context: StepContext, step: RotateStep) -> StepExecution:
    """Turns on the spot."""
    rate = math.copysign(step.rate, step.angle)
    yield from _driven(context, Twist(0.0, 0.0, rate), (0.0, 0.0, abs(step.angle)))


def execute_gait(context: StepContext, step: GaitStep) -> StepExecution:
    """Changes to another gait and waits until it is active; with `auto` there is nothing to wait for."""
    refusal = context.planner.change_gait(step.name)
    if refusal:
        yield refusal
    while step.name not in (context.planner.view.active_gait, AUTO) and context.planner.view.on_feet:
        yield None


def _driven(context: StepContext, twist: Twist, ends: tuple[float, float, float]) -> StepExecution:
    """Walks for a duration [s], distance [m] or angle [rad], braking distance and angle included; 0: no limit."""
    max_duration, max_distance, max_angle = (end or math.inf for end in ends)
    time = distance = angle = 0.0
    while True:
        speed = math.hypot(context.twist.vx, context.twist.vy)
        rate = abs(context.twist.wz)
        distance += speed * context.dt
        angle += rate * context.dt
        half_braking_time = context.planner.view.braking_time() / 2.0
        if time >= max_duration:
            break
        if distance + speed * half_braking_time >= max_distance or angle + rate * half_braking_time >= max_angle:
            break
        context.planner.command(twist)
        time += context.dt
        yield None
    context.planner.command(ZERO)


class StepRefusal(Refusal):
    """A refusal that begins with file and line of its step."""


def execute_step(context: StepContext, step: motion_steps.MotionStep) -> StepExecution:
    """Executes a step; every reason that it yields begins with file and line of the step."""
    while not context.may_begin():
        yield None
    running = _EXECUTIONS[type(step)](context, step)
    while True:
        context.step = step  # a nested step sets it to itself below
        refusal = next(running, StepEnd.DONE)
        if refusal is StepEnd.DONE:
            return
        # the place of the innermost step counts, whose execution is nested in that of its repetitions
        if isinstance(refusal, Refusal) and not isinstance(refusal, StepRefusal):
            refusal = StepRefusal(refusal.kind, "{place}{refusal}", place=step_place(step), refusal=refusal)
        yield refusal


def _execute_rotate(context: StepContext, step: motion_steps.RotateStep) -> StepExecution:
    return execute_turn(context, step) if step.axis == "z" else execute_rocking(context, step)


def _execute_wait(context: StepContext, step: motion_steps.WaitStep) -> StepExecution:
    time = 0.0
    while time < step.duration:
        time += context.dt
        yield None


def _execute_repeat(context: StepContext, step: motion_steps.RepeatStep) -> StepExecution:
    for _ in range(step.times):
        for inner in step.steps:
            yield from execute_step(context, inner)


def _execute_together(context: StepContext, step: motion_steps.TogetherStep) -> StepExecution:
    running = [execute_step(context, inner) for inner in step.steps]
    while running:
        yielded = [(execution, next(execution, StepEnd.DONE)) for execution in running]
        running = [execution for execution, refusal in yielded if refusal is not StepEnd.DONE]
        if running:
            yield next((refusal for _, refusal in yielded if isinstance(refusal, Refusal)), None)


# Any: each function takes the kind of step in the same line.
_EXECUTIONS: Mapping[type[motion_steps.MotionStep], Callable[[StepContext, Any], StepExecution]] = {
    motion_steps.WalkStep: execute_walk,
    motion_steps.ArcStep: execute_arc,
    motion_steps.RotateStep: _execute_rotate,
    motion_steps.PoseStep: execute_pose,
    motion_steps.HeightStep: execute_height,
    motion_steps.SwayStep: execute_sway,
    motion_steps.GaitStep: execute_gait,
    motion_steps.StandStep: execute_stand,
    motion_steps.SitStep: execute_sit,
    motion_steps.PackStep: execute_pack,
    motion_steps.UnpackStep: execute_unpack,
    motion_steps.WaitStep: _execute_wait,
    motion_steps.LegStep: execute_leg,
    motion_steps.FeetStep: execute_feet,
    motion_steps.JointsStep: execute_joints,
    motion_steps.RepeatStep: _execute_repeat,
    motion_steps.TogetherStep: _execute_together,
}
