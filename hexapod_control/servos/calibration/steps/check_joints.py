# SPDX-License-Identifier: Apache-2.0
"""Step check: finds wrong signs and exchanged joints by moving every joint in a known direction.

Servos with position feedback are turned by hand: the one that turns farthest belongs to the joint, and the sign of its
rotation is the direction. Servos without feedback move by themselves, and the operator names the joint.
"""

from __future__ import annotations

import math
from dataclasses import replace

from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import AGAIN, DIRECTIONS, DONE, NO, SKIP, YES, Prompt, Typed, aside
from hexapod_control.servos.settings.joint_section import JointWordsError, joint_and_sign

MIN_TURN = math.radians(7.0)  # by hand, to count as turned
SHOWN_TURN = math.radians(10.0)  # of a servo that moves by itself


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
    told: tuple[int, int] | None = None  # the contradiction that was shown last
    while True:
        before = _positions(state)
        question = Sentence("turn_by_hand", joint=state.label(row), direction=Sentence(DIRECTIONS[row % 3][0]))
        if state.ask(Prompt(question, (DONE, SKIP), joint=state.joint(row))) is SKIP:
            return
        turned = [after - b for after, b in zip(_positions(state), before, strict=True)]
        farthest = max(range(len(turned)), key=lambda k: abs(turned[k]))
        found = farthest, 1 if turned[farthest] > 0.0 else -1
        if abs(turned[farthest]) < MIN_TURN * state.scale.per_rad:
            state.say(Sentence("no_servo_turned", joint=state.label(row)))
        elif _correct(state, row, *found, likely=found == told):
            return
        told = found


def _by_eye(state: CalibrationState, row: int) -> None:
    while True:
        joint = state.joints[row]
        state.jogger.wiggle(joint.id, joint.direction * SHOWN_TURN)
        question = Sentence("has_turned", joint=state.label(row), direction=Sentence(DIRECTIONS[row % 3][0]))
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
            _correct(state, row, row, sign * joint.direction, likely=True)
        else:
            finding = Sentence("servo_turns_joint", servo=state.servo(joint.id), joint=state.label(seen))
            _exchange(state, row, seen, finding, likely=True)


def _correct(state: CalibrationState, row: int, servo_row: int, direction: int, *, likely: bool) -> bool:
    """Corrects servo and direction (+1 or -1) of a joint if the operator agrees. Returns whether they are right.

    Unless it is `likely` that the file is wrong and not what the operator did, Enter does not agree.
    """
    if servo_row != row:
        servo = state.servo(state.joints[servo_row].id)
        other = Sentence("other_has_turned", joint=state.label(row), other=state.label(servo_row), servo=servo)
        if not _exchange(state, row, servo_row, other, likely=likely):
            return False
    if state.joints[row].direction == direction:
        return True
    question = Sentence("change_sign", joint=state.label(row), servo=state.servo(state.joints[row].id))
    if not state.agrees(question, likely, state.joint(row)):
        return False
    state.joints[row] = replace(state.joints[row], direction=direction)
    return True


def _exchange(state: CalibrationState, row: int, other: int, finding: Sentence, *, likely: bool) -> bool:
    """Exchanges the servos of two joints if the operator agrees. Returns whether it did."""
    question = Sentence("exchange_servos", finding=finding, joint=state.label(row), other=state.label(other))
    if not state.agrees(question, likely, state.joint(row)):
        return False
    a, b = state.joints[row], state.joints[other]
    state.joints[row] = replace(a, id=b.id, direction=b.direction, center=b.center)
    state.joints[other] = replace(b, id=a.id, direction=a.direction, center=a.center)
    return True


def _positions(state: CalibrationState) -> list[float]:
    """Positions [raw] of all joints in row order. Raises BusError that names silent servos."""
    positions = state.jogger.positions([joint.id for joint in state.joints])
    return [positions[joint.id] for joint in state.joints]
