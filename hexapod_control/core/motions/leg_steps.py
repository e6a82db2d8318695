"""Execution of the steps that move legs: one foot, all feet, all joints, standing up, sitting down, and folding."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.leg_kinematics import forward, inverse
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.motions.motion_steps import FeetStep, JointsStep, LegStep, MotionStep, PackStep, UnpackStep
from hexapod_control.core.motions.step_context import StepContext, StepExecution, coming_to_rest
from hexapod_control.core.planner.tick_plan import ON_FEET, RobotState
from hexapod_control.core.posture.transport_pose import folded, raised
from hexapod_control.core.robot import Vector


def execute_stand(context: StepContext, step: MotionStep) -> StepExecution:
    """Stands up and moves to the neutral stance."""
    planner = context.planner
    refusal = planner.stand()
    if refusal:
        yield refusal
    while planner.state.value not in ON_FEET:
        yield ""
    planner.command(ZERO)
    planner.return_to_neutral()
    while not planner.view.in_neutral_stance:
        yield ""


def execute_sit(context: StepContext, step: MotionStep) -> StepExecution:
    """Sits down."""
    refusal = context.planner.sit()
    if refusal:
        yield refusal
    while context.planner.state is not RobotState.SITTING:
        yield ""


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
        yield ""


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
            yield f"the foot of {leg} would be {reason.describe(excess)}"
            return
    yield from _moved(context, lambda: planner.move_feet(goal, step.duration))


def execute_joints(context: StepContext, step: JointsStep) -> StepExecution:
    """Moves all joints to angles; legs that are not named keep theirs."""

    def begin() -> str:
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


def _moved(context: StepContext, begin: Callable[[], str]) -> StepExecution:
    """Comes to rest, then executes the whole-body move that `begin` requests; `begin` returns its refusal, or empty."""
    yield from coming_to_rest(context)
    refusal = begin()
    if refusal:
        yield refusal
        return
    while context.planner.view.whole_body_move_active:
        yield ""
