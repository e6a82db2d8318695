# SPDX-License-Identifier: Apache-2.0
"""Step dots: the zeros of all joints from feet put on the printed dots of `hexapod dots`, in place of a pose by eye."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import quoted
from hexapod_control.core.quantity import Quantity, QuantityError
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import JOG_HELP, Choice, Prompt, Typed, aside
from hexapod_control.servos.calibration.foot_dots import (
    NoDotsError,
    dot_name,
    dots,
    femur_axis_height,
    fit_zeros,
    joints_on,
    misplaced_leg,
)
from hexapod_control.servos.calibration.joint_moves import pose_goals
from hexapod_control.servos.calibration.steps.horn_fit import TOOTH, fit_horns
from hexapod_control.servos.calibration.steps.rest_pose import measure_again

RULER = Quantity("mm", 90.0, 110.0, "length of the ruler on the sheet", 100.0)
HEIGHT_RANGE = 20.0  # [mm] about the usual height of the body
APPROACH = 0.005  # [m] above its dot, at which a leg that moves by itself stops: a zero may be 3 degrees wrong
TOLD_ZERO = math.radians(5.0)  # [rad] more than a pose held with care by eye is wrong: the joint is named
LARGEST_ZERO = 1.5 * TOOTH  # [rad] a horn a tooth off and a pose by eye: beyond, the body or a foot is somewhere else


def feet_on_dots(state: CalibrationState) -> None:
    """Measures all joints with the feet on their dots, and corrects their zeros if the operator agrees."""
    if not state.agrees(Sentence("dots_printed"), False):
        return
    try:
        feet = _feet(state)
    except NoDotsError as error:
        state.say(aside(error))
        return
    if state.jogger.reports_position:
        state.jogger.relax()
        state.wait(Sentence("body_on_sheet_by_hand"))
    else:
        state.wait(Sentence("body_on_sheet_by_jogging", help=JOG_HELP))
        state.energise()
    angles = np.zeros_like(feet)
    legs = range(len(state.robot.legs))

    def measure(place: int, leg: int) -> None:
        angles[place, leg] = _measured(state, feet, place, leg)

    every = [(place, leg) for place in range(len(feet)) for leg in legs]
    state.each(every, lambda item: measure(*item))
    kept: int | None = None
    repeated: set[int] = set()
    while kept is None and (found := misplaced_leg(state.robot, feet, angles)):
        leg, miss = found
        others = np.delete(fit_zeros(state.robot, feet, angles).misses, leg).max()
        values = {"leg": state.leg(leg), "miss": 1e3 * miss, "others": 1e3 * float(others)}
        about = (state.robot.leg_names[leg],)
        if state.agrees(Sentence("leg_beside_dots", **values), leg not in repeated, about):
            repeated.add(leg)
            state.each([(place, leg) for place in range(len(feet))], lambda item: measure(*item))
        else:
            kept = leg
    _correct(state, feet, angles, kept)
    fit_horns(state, lambda rows: measure_again(state, rows))


def _feet(state: CalibrationState) -> Array:
    """Ball centers (2, n, 3) [m] of the feet on the dots as printed, under the body as it is propped."""
    placed = np.array(dots(state.robot))
    placed[..., :2] *= _length(state, Sentence("ruler_on_sheet"), RULER) / 100.0
    usual = round(1e3 * femur_axis_height(state.robot))
    ends = usual - HEIGHT_RANGE, usual + HEIGHT_RANGE
    height = Quantity("mm", *ends, "height of a femur axis above the sheet", float(usual))
    question = Sentence("femur_above_sheet", leg=state.leg(0), usual=usual)
    placed[..., 2] -= 1e-3 * _length(state, question, height) - femur_axis_height(state.robot)
    return placed


def _length(state: CalibrationState, question: Sentence, quantity: Quantity) -> float:
    """A length [mm] that the operator measures; Enter is the default."""
    usual = Choice(("",), Sentence("length_as_usual", usual=quantity.default))
    while True:
        answer = state.ask(Prompt(question, (usual,), Typed.TEXT, hint=f"{quantity.default:g}"))
        if not isinstance(answer, str):
            return float(quantity.default or 0.0)
        try:
            return quantity.read(answer.lower().removesuffix("mm").strip())
        except QuantityError:
            state.say(aside(Sentence("no_length", answer=quoted(answer), low=quantity.lower, high=quantity.upper)))


def _measured(state: CalibrationState, feet: Array, place: int, leg: int) -> Sequence[float]:
    """Angles (3,) [rad] of a leg whose foot the operator has put on a dot, by hand or by jogging."""
    rows = range(3 * leg, 3 * leg + 3)
    name = dot_name(place, leg)
    about = (state.robot.leg_names[leg],)
    if state.jogger.reports_position:
        state.wait(Sentence("put_foot_on_dot", leg=state.leg(leg), dot=name), about)
        raw = state.jogger.positions([state.joints[row].id for row in rows])
        return [state.joints[row].angle(raw[state.joints[row].id]) for row in rows]
    above = feet[place] + (0.0, 0.0, APPROACH)
    goals, _ = pose_goals([state.joints[row] for row in rows], joints_on(state.robot, above)[leg].tolist())
    state.wait(Sentence("leg_goes_to_dot", leg=state.leg(leg), dot=name), about)
    state.jogger.go(goals)
    while True:
        raw = {state.joints[row].id: state.jog(row, Sentence("foot_on_dot", dot=name)) for row in rows}
        if state.agrees(Sentence("is_foot_on_dot", leg=state.leg(leg), dot=name), True, about):
            return [state.joints[row].angle(raw[state.joints[row].id]) for row in rows]


def _correct(state: CalibrationState, feet: Array, angles: Array, kept: int | None) -> None:
    """Tells what was found, and moves the centers of all joints but those of the leg `kept`, if the operator agrees."""
    fit = fit_zeros(state.robot, feet, angles)
    zeros = np.array(fit.zeros)
    if kept is not None:
        zeros[kept] = 0.0
    flat = zeros.ravel().tolist()
    worst = max(range(len(flat)), key=lambda row: abs(flat[row]))
    for row, zero in enumerate(flat):
        if abs(zero) >= TOLD_ZERO:
            state.say(Sentence("joint_was_off", joint=state.label(row), degrees=math.degrees(zero)))
    rms = math.degrees(math.sqrt(float(np.square(zeros).mean())))
    deviation = math.degrees(math.sqrt(float(np.square(fit.deviations).mean())))
    far = abs(flat[worst]) > LARGEST_ZERO
    if far:
        state.say(Sentence("zero_too_far", joint=state.label(worst), degrees=math.degrees(flat[worst])))
    if state.agrees(Sentence("use_zeros", rms=rms, worst=math.degrees(abs(flat[worst])), deviation=deviation), not far):
        state.joints = [
            replace(joint, center=joint.raw(joint.q_center - zero), trim=0.0) if zero else joint
            for joint, zero in zip(state.joints, flat, strict=True)
        ]
