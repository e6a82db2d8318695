"""Step check: finds wrong signs and exchanged joints by moving every joint in a known direction.

Servos with position feedback are turned by hand: the one that turns farthest belongs to the joint, and the sign of its
rotation is the direction. Servos without feedback move by themselves, and the operator names the joint.
"""

from __future__ import annotations

import math
from dataclasses import replace

from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import AGAIN, DONE, NO, SKIP, YES, Prompt, Typed, aside
from hexapod_control.servos.settings.joint_section import JointWordsError, joint_and_sign

MIN_TURN = math.radians(7.0)  # by hand, to count as turned
SHOWN_TURN = math.radians(10.0)  # of a servo that moves by itself
POSITIVE = (  # by column
    Sentence("counter_clockwise"),
    Sentence("foot_up"),
    Sentence("foot_up_and_out"),
)


def check(state: CalibrationState) -> None:
    """Checks all joints; errors are corrected if the operator agrees."""
    if state.jogger.reports_position:
        state.jogger.relax()
        state.say(Sentence("introduction_check_by_hand"))
    else:
        state.say(Sentence("introduction_check_by_eye"))
    state.energise()
    act = _by_hand if state.jogger.reports_position else _by_eye
    state.each(range(len(state.joints)), lambda row: act(state, row))


def _by_hand(state: CalibrationState, row: int) -> None:
    while True:
        try:
            before = _positions(state)
            question = Sentence("turn_by_hand", joint=state.label(row), direction=POSITIVE[row % 3])
            answer = state.ask(Prompt(question, (DONE, SKIP), joint=state.joint(row)))
            after = _positions(state)
        except BusError as error:
            state.say(aside(error))
            state.wait(Sentence("connected_again"))
            continue
        if answer is SKIP or _match_servo(state, row, [b - a for a, b in zip(before, after, strict=True)]):
            return


def _match_servo(state: CalibrationState, row: int, turned: list[float]) -> bool:
    """Compares measured rotations [raw] with a joint and offers to correct it. Returns whether the joint is right."""
    farthest = max(range(len(turned)), key=lambda k: abs(turned[k]))
    servo = state.joints[farthest].id
    if abs(turned[farthest]) < MIN_TURN * state.scale.per_rad:
        state.say(Sentence("no_servo_turned", joint=state.label(row)))
        return False
    return _correct(state, row, farthest, 1 if turned[farthest] > 0.0 else -1, _has_turned(servo))


def _by_eye(state: CalibrationState, row: int) -> None:
    while True:
        joint = state.joints[row]
        state.jogger.wiggle(joint.id, joint.direction * SHOWN_TURN)
        question = Sentence("has_turned", joint=state.label(row), direction=POSITIVE[row % 3])
        hint = "Y/n, r or what turned, lf coxa -"
        choices = (YES, NO, AGAIN, SKIP)
        answer = state.ask(Prompt(question, choices, Typed.SIGNED_JOINT, state.joint(row), hint))
        if answer in (YES, SKIP):
            return
        if answer is NO:
            state.say(Sentence("say_what_turned"))
        if not isinstance(answer, str):
            continue
        try:
            seen, sign = joint_and_sign(answer, state.robot.leg_names)
        except JointWordsError as error:
            state.say(aside(error))
            continue
        # The servo of `row` turns joint `seen`: these two rows are exchanged, and the next wiggle shows the result.
        if seen == row:
            _correct(state, row, row, sign * joint.direction, _has_turned(joint.id))
        else:
            finding = Sentence("servo_turns_joint", id=joint.id, joint=state.label(seen))
            _exchange(state, row, seen, finding)


def _has_turned(servo: int) -> Sentence:
    return Sentence("servo_has_turned", id=servo)


def _correct(state: CalibrationState, row: int, servo_row: int, direction: int, finding: Sentence) -> bool:
    """Corrects servo and direction (+1 or -1) of a joint if the operator agrees. Returns whether they are right."""
    if servo_row != row:
        other = Sentence("which_is_other", finding=finding, joint=state.label(servo_row))
        if not _exchange(state, row, servo_row, other):
            return False
    if state.joints[row].direction == direction:
        return True
    question = Sentence("change_sign", finding=finding, joint=state.label(row))
    if not state.agrees(question, True, state.joint(row)):
        return False
    state.joints[row] = replace(state.joints[row], direction=direction)
    return True


def _exchange(state: CalibrationState, row: int, other: int, finding: Sentence) -> bool:
    """Exchanges the servos of two joints if the operator agrees. Returns whether it did."""
    question = Sentence("exchange_servos", finding=finding, joint=state.label(row), other=state.label(other))
    if not state.agrees(question, True, state.joint(row)):
        return False
    a, b = state.joints[row], state.joints[other]
    state.joints[row] = replace(a, id=b.id, direction=b.direction, center=b.center)
    state.joints[other] = replace(b, id=a.id, direction=a.direction, center=a.center)
    return True


def _positions(state: CalibrationState) -> list[float]:
    """Positions [raw] of all joints in row order. Raises BusError that names silent servos."""
    positions = state.jogger.positions([joint.id for joint in state.joints])
    return [positions[joint.id] for joint in state.joints]
