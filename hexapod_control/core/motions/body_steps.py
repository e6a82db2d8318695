"""Execution of the steps that move the body over planted feet: pose, height, sway, and rotate about x and y."""

from __future__ import annotations

import math

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.motions.motion_steps import HeightStep, PoseStep, RotateStep, SwayStep
from hexapod_control.core.motions.step_context import StepContext, StepExecution

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
        yield f"out of reach of the legs: a body at ({_pose_text(goal)})"
        return
    refusal = context.planner.request_pose(goal, duration)
    if refusal:
        yield refusal
    while not _reached(context, goal):
        yield ""


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
        yield f"ignored while {planner.state.value}: stand up first"
        return
    middle = view.body_pose_goal
    for k in range(SWAY_CHECKS):
        around = _ellipse(middle, cosine, sine, k / SWAY_CHECKS, 1.0)
        if not view.pose_reachable(around):
            yield f"the body cannot sway as far as ({_pose_text(around)})"
            return
    time, total = 0.0, rounds * period
    while time < total:
        fade = min(1.0, 2.0 * time / period, 2.0 * (total - time) / period)
        share = fade * fade * (3.0 - 2.0 * fade)
        if not planner.view.on_feet:
            return
        planner.track_pose(_ellipse(middle, cosine, sine, time / period, share))
        time += context.dt
        yield ""
    yield from _posed(context, middle, 0.0)


def _ellipse(middle: BodyPose, cosine: BodyPose, sine: BodyPose, revolutions: float, share: float) -> BodyPose:
    """Pose after some revolutions on an ellipse that is scaled by a share (0 to 1)."""
    c, s = share * math.cos(math.tau * revolutions), share * math.sin(math.tau * revolutions)
    return BodyPose(*(m + c * a + s * b for m, a, b in zip(middle, cosine, sine, strict=True)))


def _pose_text(pose: BodyPose) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in pose._asdict().items() if value)
