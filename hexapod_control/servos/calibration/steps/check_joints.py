"""Step check: finds wrong signs and exchanged joints by moving every joint in a known direction.

Servos with position feedback are turned by hand: the one that turns farthest belongs to the joint, and the sign of its
rotation is the direction. Servos without feedback move by themselves, and the operator names the joint.
"""

from __future__ import annotations

import math
from dataclasses import replace

from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.settings.joint_words import JointWordsError, joint_and_sign

MIN_TURN = math.radians(7.0)  # by hand, to count as turned
SHOWN_TURN = math.radians(10.0)  # of a servo that moves by itself
POSITIVE = ("counter-clockwise seen from above", "foot up", "foot up and out")  # by column
INTRODUCTION = {
    True: "\nDoes every joint have the right servo and sign? Torque is off: turn the joints by hand, one at a time.",
    False: "\nDoes every joint have the right servo and sign? Each joint in turn moves a little and returns.",
}
HELP = "Turn only the joint that is named, by about 20 degrees, in the direction given. s skips a joint."


def check(state: CalibrationState) -> None:
    """Checks all joints; errors are corrected if the operator agrees."""
    if state.jogger.reports_position:
        state.jogger.relax()
    state.say(INTRODUCTION[state.jogger.reports_position])
    state.energise()
    act = _by_hand if state.jogger.reports_position else _by_eye
    state.each(range(len(state.joints)), lambda row: act(state, row))


def _by_hand(state: CalibrationState, row: int) -> None:
    while True:
        try:
            before = _positions(state)
            answer = state.ask(f"turn {state.label(row)} by hand, {POSITIVE[row % 3]}, by about 20 deg, then Enter ")
            after = _positions(state)
        except BusError as error:
            state.say(f"  {error}")
            state.ask("Enter when it is connected again ")
            continue
        if answer.lower() in ("s", "skip") or _match_servo(
            state, row, [b - a for a, b in zip(before, after, strict=True)]
        ):
            return


def _match_servo(state: CalibrationState, row: int, turned: list[float]) -> bool:
    """Compares measured rotations [raw] with a joint and offers to correct it. Returns whether the joint is right."""
    farthest = max(range(len(turned)), key=lambda k: abs(turned[k]))
    servo = state.joints[farthest].id
    if abs(turned[farthest]) < MIN_TURN * state.scale.per_rad:
        state.say(f"  no servo has turned: is {state.label(row)} on its horn, and turned by 20 deg?")
        return False
    return _correct(state, row, farthest, 1 if turned[farthest] > 0.0 else -1, f"servo {servo} has turned")


def _by_eye(state: CalibrationState, row: int) -> None:
    while True:
        joint = state.joints[row]
        state.jogger.wiggle(joint.id, joint.direction * SHOWN_TURN)
        answer = state.ask(
            f"has {state.label(row)} turned {POSITIVE[row % 3]} first? [Y/n, r or what turned, lf coxa -] "
        )
        if answer.lower() in ("", "y", "yes", "s", "skip"):
            return
        if answer.lower() in ("r", "repeat"):
            continue
        if answer.lower() in ("n", "no"):
            state.say('  then say what has turned, with its direction, such as "lf coxa -"')
            continue
        try:
            seen, sign = joint_and_sign(answer, state.robot.leg_names)
        except JointWordsError as error:
            state.say(f"  {error}")
            continue
        # The servo of `row` turns joint `seen`: these two rows are exchanged, and the next wiggle shows the result.
        if seen == row:
            _correct(state, row, row, sign * joint.direction, f"servo {joint.id} has turned")
        else:
            _exchange(state, row, seen, f"servo {joint.id} turns {state.label(seen)}")


def _correct(state: CalibrationState, row: int, servo_row: int, direction: int, finding: str) -> bool:
    """Corrects servo and direction (+1 or -1) of a joint if the operator agrees. Returns whether they are right."""
    if servo_row != row and not _exchange(
        state, row, servo_row, f"{finding}, which is {state.label(servo_row)} so far"
    ):
        return False
    if state.joints[row].direction == direction:
        return True
    if not state.agrees(f"  {finding} the other way: change the sign of {state.label(row)}?", True):
        return False
    state.joints[row] = replace(state.joints[row], direction=direction)
    return True


def _exchange(state: CalibrationState, row: int, other: int, finding: str) -> bool:
    """Exchanges the servos of two joints if the operator agrees. Returns whether it did."""
    if not state.agrees(f"  {finding}: exchange the servos of {state.label(row)} and {state.label(other)}?", True):
        return False
    a, b = state.joints[row], state.joints[other]
    state.joints[row] = replace(a, id=b.id, direction=b.direction, center=b.center)
    state.joints[other] = replace(b, id=a.id, direction=a.direction, center=a.center)
    return True


def _positions(state: CalibrationState) -> list[float]:
    """Positions [raw] of all joints in row order. Raises BusError that names silent servos."""
    positions = state.jogger.positions([joint.id for joint in state.joints])
    return [positions[joint.id] for joint in state.joints]
