"""Executes the steps of a motion: one generator per kind of step, which commands the planner tick by tick.

An execution begins when the step is due, yields once per tick, and ends when the step is done. A refusal is yielded as
a text. The kinds of steps are in walking_steps.py, body_steps.py and leg_steps.py; those that combine others are here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hexapod_control.core.motions import motion_steps
from hexapod_control.core.motions.body_steps import execute_height, execute_pose, execute_rocking, execute_sway
from hexapod_control.core.motions.leg_steps import (
    execute_feet,
    execute_joints,
    execute_leg,
    execute_pack,
    execute_sit,
    execute_stand,
    execute_unpack,
)
from hexapod_control.core.motions.step_context import StepContext, StepExecution, step_place
from hexapod_control.core.motions.walking_steps import execute_arc, execute_gait, execute_turn, execute_walk


def execute_step(context: StepContext, step: motion_steps.MotionStep) -> StepExecution:
    """Executes a step; every reason that it yields begins with file and line of the step."""
    while not context.may_begin():
        yield ""
    running = _EXECUTIONS[type(step)](context, step)
    while True:
        context.step = step  # a nested step sets it to itself below
        reason = next(running, None)
        if reason is None:
            return
        yield reason if not reason or reason.startswith(step_place(context.step)) else f"{step_place(step)}{reason}"


def _execute_rotate(context: StepContext, step: motion_steps.RotateStep) -> StepExecution:
    return execute_turn(context, step) if step.axis == "z" else execute_rocking(context, step)


def _execute_wait(context: StepContext, step: motion_steps.WaitStep) -> StepExecution:
    time = 0.0
    while time < step.duration:
        time += context.dt
        yield ""


def _execute_repeat(context: StepContext, step: motion_steps.RepeatStep) -> StepExecution:
    for _ in range(step.times):
        for inner in step.steps:
            yield from execute_step(context, inner)


def _execute_together(context: StepContext, step: motion_steps.TogetherStep) -> StepExecution:
    running = [execute_step(context, inner) for inner in step.steps]
    while running:
        reasons = [(execution, next(execution, None)) for execution in running]
        running = [execution for execution, reason in reasons if reason is not None]
        if running:
            yield next((reason for _, reason in reasons if reason), "")


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
