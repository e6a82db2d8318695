"""Execution of the steps that walk: walk, arc and rotate about z, and changes of gait."""

from __future__ import annotations

import math

from hexapod_control.core.gait.gait_table import AUTO
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.motions.motion_steps import ArcStep, GaitStep, RotateStep, WalkStep
from hexapod_control.core.motions.step_context import StepContext, StepExecution

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
        yield ""


def _driven(context: StepContext, twist: Twist, ends: tuple[float, float, float]) -> StepExecution:
    """Walks for a duration [s], distance [m] or angle [rad], braking distance and angle included; 0: no limit."""
    max_duration, max_distance, max_angle = (end or math.inf for end in ends)
    time = distance = angle = 0.0
    while True:
        speed, rate = math.hypot(context.twist.vx, context.twist.vy), abs(context.twist.wz)
        distance += speed * context.dt
        angle += rate * context.dt
        half_braking_time = context.planner.view.braking_time() / 2.0
        if time >= max_duration:
            break
        if distance + speed * half_braking_time >= max_distance or angle + rate * half_braking_time >= max_angle:
            break
        context.planner.command(twist)
        time += context.dt
        yield ""
    context.planner.command(ZERO)
