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


def check(work: CalibrationState) -> None:
    """Checks all joints; errors are corrected if the operator agrees."""
    if work.jogger.reports_position:
        work.jogger.relax()
    work.say(INTRODUCTION[work.jogger.reports_position])
    act = _by_hand if work.jogger.reports_position else _by_eye
    work.each(range(len(work.joints)), lambda row: act(work, row))


def _by_hand(work: CalibrationState, row: int) -> None:
    while True:
        try:
            before = _positions(work)
            answer = work.ask(f"turn {work.label(row)} by hand, {POSITIVE[row % 3]}, by about 20 deg, then Enter ")
            after = _positions(work)
        except BusError as error:
            work.say(f"  {error}")
            work.ask("Enter when it is connected again ")
            continue
        if answer.lower() in ("s", "skip") or _match_servo(
            work, row, [b - a for a, b in zip(before, after, strict=True)]
        ):
            return


def _match_servo(work: CalibrationState, row: int, turned: list[float]) -> bool:
    """Compares measured rotations [raw] with a joint and offers to correct it. Returns whether the joint is right."""
    farthest = max(range(len(turned)), key=lambda k: abs(turned[k]))
    servo = work.joints[farthest].id
    if abs(turned[farthest]) < MIN_TURN * work.scale.per_rad:
        work.say(f"  no servo has turned: is {work.label(row)} on its horn, and turned by 20 deg?")
        return False
    return _correct(work, row, farthest, 1 if turned[farthest] > 0.0 else -1, f"servo {servo} has turned")


def _by_eye(work: CalibrationState, row: int) -> None:
    while True:
        joint = work.joints[row]
        work.jogger.wiggle(joint.id, joint.direction * SHOWN_TURN)
        answer = work.ask(
            f"has {work.label(row)} turned {POSITIVE[row % 3]} first? [Y/n, r or what turned, lf coxa -] "
        )
        if answer.lower() in ("", "y", "yes", "s", "skip"):
            return
        if answer.lower() in ("r", "repeat"):
            continue
        if answer.lower() in ("n", "no"):
            work.say('  then say what has turned, with its direction, such as "lf coxa -"')
            continue
        try:
            seen, sign = joint_and_sign(answer, work.robot.leg_names)
        except JointWordsError as error:
            work.say(f"  {error}")
            continue
        # The servo of `row` turns joint `seen`: these two rows are exchanged, and the next wiggle shows the result.
        if seen == row:
            _correct(work, row, row, sign * joint.direction, f"servo {joint.id} has turned")
        else:
            _exchange(work, row, seen, f"servo {joint.id} turns {work.label(seen)}")


def _correct(work: CalibrationState, row: int, servo_row: int, direction: int, finding: str) -> bool:
    """Corrects servo and direction (+1 or -1) of a joint if the operator agrees. Returns whether they are right."""
    if servo_row != row and not _exchange(work, row, servo_row, f"{finding}, which is {work.label(servo_row)} so far"):
        return False
    if work.joints[row].direction == direction:
        return True
    if not work.agrees(f"  {finding} the other way: change the sign of {work.label(row)}?", True):
        return False
    work.joints[row] = replace(work.joints[row], direction=direction)
    return True


def _exchange(work: CalibrationState, row: int, other: int, finding: str) -> bool:
    """Exchanges the servos of two joints if the operator agrees. Returns whether it did."""
    if not work.agrees(f"  {finding}: exchange the servos of {work.label(row)} and {work.label(other)}?", True):
        return False
    a, b = work.joints[row], work.joints[other]
    work.joints[row] = replace(a, id=b.id, direction=b.direction, center=b.center)
    work.joints[other] = replace(b, id=a.id, direction=a.direction, center=a.center)
    return True


def _positions(work: CalibrationState) -> list[float]:
    """Positions [raw] of all joints in row order. Raises BusError that names silent servos."""
    positions = work.jogger.positions([joint.id for joint in work.joints])
    return [positions[joint.id] for joint in work.joints]
