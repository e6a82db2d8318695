"""How each kind of step is carried out: by the planner's own commands, tick by tick.

An act begins when the planner can take it, says each tick whether it is done, and tells a refusal as a text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.motions import motion_steps
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.core.posture.transport_pose import folded, raised
from hexapod_control.core.robot import Vector

MARCH = Twist(1e-6, 0.0, 0.0)  # steps on the spot: as good as no motion, but not a zero command
CLOSE = 1e-4  # [m, rad] of a body pose from its goal
ON_ITS_FEET = (RobotState.STANDING, RobotState.WALKING, RobotState.MOVING)

StepExecution = Iterator[str]
"""Yields once per tick: a text that says what is wrong, or nothing while it is under way; ends when it is done."""


def _rest(stage: StepContext) -> StepExecution:
    """Comes to rest with all feet on the ground or held."""
    stage.planner.command(ZERO)
    while not stage.resting:
        yield ""


def _walk(stage: StepContext, step: motion_steps.WalkStep) -> StepExecution:
    planner = stage.planner
    planner.restyle(lift=step.lift, tempo=step.tempo)
    twist = Twist(step.x, step.y, step.yaw)
    ends = (step.duration, step.distance, step.angle)
    yield from _driven(stage, MARCH if twist.is_zero else twist, ends)


def _driven(stage: StepContext, twist: Twist, ends: tuple[float, float, float]) -> StepExecution:
    """Drives until a time [s], a way [m] or an angle [rad] is done; the last two with the way it takes to brake."""
    most_time, most_way, most_angle = ends
    time = way = angle = 0.0
    while True:
        now = stage.twist
        way += math.hypot(now.vx, now.vy) * stage.dt
        angle += abs(now.wz) * stage.dt
        braking = stage.planner.braking_time() / 2.0
        if (
            (most_time and time >= most_time)
            or (most_way and way + math.hypot(now.vx, now.vy) * braking >= most_way)
            or (most_angle and angle + abs(now.wz) * braking >= most_angle)
        ):
            break
        stage.planner.command(twist)
        time += stage.dt
        yield ""
    stage.planner.command(ZERO)


def _arc(stage: StepContext, step: motion_steps.ArcStep) -> StepExecution:
    twist = stage.planner.arc(step.travel, step.curvature)
    yield from _driven(stage, twist, (step.duration, 0.0, 0.0))


def _rotate(stage: StepContext, step: motion_steps.RotateStep) -> StepExecution:
    if step.axis == "z":
        rate = math.copysign(step.rate, step.angle)
        yield from _driven(stage, Twist(0.0, 0.0, rate), (0.0, 0.0, abs(step.angle)))
        return
    # A rocking at `rate` on the mean takes four times its angle there and back.
    coordinate = {"x": "roll", "y": "pitch"}[step.axis]
    period = 4.0 * abs(step.angle) / step.rate
    yield from _swayed(stage, BodyPose(), BodyPose(**{coordinate: step.angle}), period, float(step.times))


def _pose(stage: StepContext, step: motion_steps.PoseStep) -> StepExecution:
    goal = BodyPose(step.x, step.y, step.z, step.roll, step.pitch, step.yaw)
    yield from _posed(stage, goal, step.duration)


def _height(stage: StepContext, step: motion_steps.HeightStep) -> StepExecution:
    walk = stage.planner.standing_walk
    now = walk.state.pose_goal if walk else NEUTRAL
    yield from _posed(stage, now._replace(z=step.z), step.duration)


def _posed(stage: StepContext, goal: BodyPose, duration: float) -> StepExecution:
    walk = stage.planner.standing_walk
    if walk is not None and not walk.pose_reachable(goal):
        yield f"out of reach of the legs: a body at ({_spelt(goal)})"
        return
    refusal = stage.planner.pose(goal, duration)
    if refusal:
        yield refusal
    while not _at(stage, goal):
        yield ""


def _at(stage: StepContext, goal: BodyPose) -> bool:
    walk = stage.planner.standing_walk
    return walk is None or max(abs(a - b) for a, b in zip(walk.state.body_pose, goal, strict=True)) <= CLOSE


def _sway(stage: StepContext, step: motion_steps.SwayStep) -> StepExecution:
    cosine = BodyPose(x=step.x, z=step.z, pitch=step.pitch)
    sine = BodyPose(y=step.y, roll=step.roll, yaw=step.yaw)
    yield from _swayed(stage, cosine, sine, step.period, step.rounds)


def _swayed(stage: StepContext, cosine: BodyPose, sine: BodyPose, period: float, rounds: float) -> StepExecution:
    """Goes round an ellipse about the present pose, growing over the first half round and fading in the last."""
    walk = stage.planner.standing_walk
    if walk is None:
        yield f"ignored while {stage.planner.state.value}: stand up first"
        return
    middle = walk.state.pose_goal
    for k in range(16):  # known to be in reach all round, before it begins
        around = _ellipse(middle, cosine, sine, k / 16, 1.0)
        if not walk.pose_reachable(around):
            yield f"the body cannot sway as far as ({_spelt(around)})"
            return
    time, total = 0.0, rounds * period
    while time < total:
        fade = min(1.0, 2.0 * time / period, 2.0 * (total - time) / period)
        share = fade * fade * (3.0 - 2.0 * fade)
        walk = stage.planner.standing_walk
        if walk is None:
            return
        walk.track_pose(_ellipse(middle, cosine, sine, time / period, share))
        time += stage.dt
        yield ""
    yield from _posed(stage, middle, 0.0)


def _ellipse(middle: BodyPose, cosine: BodyPose, sine: BodyPose, turn: float, share: float) -> BodyPose:
    c, s = share * math.cos(math.tau * turn), share * math.sin(math.tau * turn)
    return BodyPose(*(m + c * a + s * b for m, a, b in zip(middle, cosine, sine, strict=True)))


def _gait(stage: StepContext, step: motion_steps.GaitStep) -> StepExecution:
    refusal = stage.planner.gait(step.name)
    if refusal:
        yield refusal
    while stage.planner.gait_active != step.name and stage.planner.standing_walk:
        yield ""


def _stand(stage: StepContext, step: motion_steps.MotionStep) -> StepExecution:
    refusal = stage.planner.stand()
    if refusal:
        yield refusal
    while stage.planner.state not in ON_ITS_FEET:
        yield ""
    stage.planner.command(ZERO)
    stage.planner.settle()
    while not stage.at_home:
        yield ""


def _sit(stage: StepContext, step: motion_steps.MotionStep) -> StepExecution:
    refusal = stage.planner.sit()
    if refusal:
        yield refusal
    while stage.planner.state is not RobotState.SITTING:
        yield ""


def _pack(stage: StepContext, step: motion_steps.PackStep) -> StepExecution:
    if stage.planner.state is not RobotState.SITTING:
        yield from _sit(stage, step)
    planner = stage.planner
    yield from _moved(stage, lambda: planner.move_joints(raised(planner.robot, planner.lying_row)))
    yield from _moved(stage, lambda: planner.move_joints(folded(planner.robot)))


def _unpack(stage: StepContext, step: motion_steps.UnpackStep) -> StepExecution:
    planner = stage.planner
    yield from _moved(stage, lambda: planner.move_joints(raised(planner.robot, planner.lying_row)))
    yield from _moved(stage, lambda: planner.move_joints(planner.lying_row))


def _wait(stage: StepContext, step: motion_steps.WaitStep) -> StepExecution:
    time = 0.0
    while time < step.duration:
        time += stage.dt
        yield ""


def _leg(stage: StepContext, step: motion_steps.LegStep) -> StepExecution:
    planner = stage.planner
    yield from _rest(stage)
    walk = planner.standing_walk
    if walk is None or step.name not in planner.robot.leg_names:
        yield planner.reach(step.name, (0.0, 0.0, 0.0))
        return
    leg = planner.robot.leg_names.index(step.name)
    side = math.copysign(1.0, planner.robot.legs[leg].hip[1])
    x, y = planner.neutral_footholds()[leg]
    refusal = planner.reach_ground(step.name, (x + step.x, y + side * step.out, step.z))
    if refusal:
        yield refusal
    while not planner.hand_is_there(step.name):
        yield ""


def _feet(stage: StepContext, step: motion_steps.FeetStep) -> StepExecution:
    robot = stage.planner.robot
    # The stance of the robot's own height, whatever the present one: feet that stand would slide from one to the other.
    neutral = joints_at_offset(robot, stage.planner.capabilities.stances.at(robot.walk.height).footholds, 0.0)
    assert neutral is not None  # the robot's own stance
    goal = forward(robot, read_only(neutral)) + _by_leg(stage, step.offsets, np.zeros((len(robot.legs), 3)))
    found = inverse(robot, goal, read_only(neutral))
    for leg, reason, excess in zip(robot.leg_names, found.reasons, found.excess, strict=True):
        if reason is not None:
            yield f"the foot of {leg} would be {reason.value} there ({1000.0 * excess:.0f} mm or mrad beyond)"
            return
    yield from _moved(stage, lambda: stage.planner.move_feet(goal, step.duration))


def _joints(stage: StepContext, step: motion_steps.JointsStep) -> StepExecution:
    def begin() -> str:
        now = stage.planner.joints
        assert now is not None  # refused before otherwise
        return stage.planner.move_joints(_by_leg(stage, step.angles, now), step.duration)

    yield from _moved(stage, begin)


def _by_leg(stage: StepContext, named: Mapping[str, Vector], others: Array) -> Array:
    """Rows (n, 3) by leg: those named, `all`, and what `others` say."""
    every = named.get("all")
    rows = [
        named.get(leg, row if every is None else every)
        for leg, row in zip(stage.planner.robot.leg_names, others.tolist(), strict=True)
    ]
    return read_only(rows)


def _moved(stage: StepContext, begin: Callable[[], str]) -> StepExecution:
    """A motion of the whole row, after coming to rest with all feet on the ground."""
    yield from _rest(stage)
    refusal = begin()
    if refusal:
        yield refusal
        return
    while stage.planner.row_moves:
        yield ""


def _repeat(stage: StepContext, step: motion_steps.RepeatStep) -> StepExecution:
    for _ in range(step.times):
        for inner in step.steps:
            yield from act(stage, inner)


def _together(stage: StepContext, step: motion_steps.TogetherStep) -> StepExecution:
    running = [act(stage, inner) for inner in step.steps]
    while running:
        said = [(one, next(one, None)) for one in running]
        running = [one for one, text in said if text is not None]
        if running:
            yield next((text for _, text in said if text), "")


def _spelt(pose: BodyPose) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in pose._asdict().items() if value)


ACTS: Mapping[type[motion_steps.MotionStep], Callable[[StepContext, Any], StepExecution]] = {
    motion_steps.WalkStep: _walk,
    motion_steps.ArcStep: _arc,
    motion_steps.RotateStep: _rotate,
    motion_steps.PoseStep: _pose,
    motion_steps.HeightStep: _height,
    motion_steps.SwayStep: _sway,
    motion_steps.GaitStep: _gait,
    motion_steps.StandStep: _stand,
    motion_steps.SitStep: _sit,
    motion_steps.PackStep: _pack,
    motion_steps.UnpackStep: _unpack,
    motion_steps.WaitStep: _wait,
    motion_steps.LegStep: _leg,
    motion_steps.FeetStep: _feet,
    motion_steps.JointsStep: _joints,
    motion_steps.RepeatStep: _repeat,
    motion_steps.TogetherStep: _together,
}


def act(stage: StepContext, step: motion_steps.MotionStep) -> StepExecution:
    """Begins a step; its text, if it yields one, says where it stands in the file."""
    running = ACTS[type(step)](stage, step)
    while True:
        stage.step = step  # an inner step sets it after this
        said = next(running, None)
        if said is None:
            return
        yield said if not said or said.startswith(where(stage.step)) else f"{where(step)}{said}"


class StepContext:
    """What acts work on: the planner and what it said last."""

    def __init__(self, planner: Planner) -> None:
        self.planner = planner
        self.plan: TickPlan | None = None  # of the last tick
        self.dt = 0.0  # [s] of this tick
        self.step: motion_steps.MotionStep | None = None  # under way, the innermost

    @property
    def twist(self) -> Twist:
        """The twist executed in the last tick."""
        return self.plan.twist if self.plan is not None else ZERO

    @property
    def resting(self) -> bool:
        """True while the robot neither walks nor moves a foot."""
        walk = self.planner.standing_walk
        return walk.state.still if walk is not None else self.planner.state is RobotState.SITTING

    @property
    def at_home(self) -> bool:
        """True while the robot stands in its neutral stance."""
        walk = self.planner.standing_walk
        return walk is not None and walk.state.at_home


def where(step: motion_steps.MotionStep | None) -> str:
    """Beginning of a message about a step: file:line and kind."""
    if step is None:
        return ""
    return f"{step.place + ': ' if step.place else ''}{motion_steps.NAMES[type(step)]}: "
