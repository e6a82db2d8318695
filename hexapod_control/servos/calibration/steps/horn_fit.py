# SPDX-License-Identifier: Apache-2.0
"""What the servos turn against what the robot file asks of the joints: limits are narrowed, or horns put on again.

A horn fits its servo only in steps of a tooth, so that a joint reaches its limits on one side and not on the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.calibration_state import REST_POSE, CalibrationState
from hexapod_control.servos.calibration.dialog import DIRECTIONS, Abandoned, Back, Choice, Prompt, aside
from hexapod_control.servos.calibration.servo_jogger import reach
from hexapod_control.servos.settings.joint_calibration import JointCalibration

TOOTH = math.tau / 25  # [rad] pitch of the usual servo spline
TOLERANCE = math.radians(0.05)  # [rad] that a joint may miss
NARROW = Choice(("", "narrow"), Sentence("narrow_limits"))
HORNS = Choice(("h", "horns"), Sentence("horns_are_on"))


def fit_ranges(state: CalibrationState) -> None:
    """Narrows, if the operator agrees, the limits of joints that turn farther than their servo in any position.

    The rest pose is the middle of the servo then, and a horn may be half a tooth off. Raises Abandoned otherwise.
    """
    turns = [(state.scale.high - state.scale.low) / joint.units_per_rad for joint in state.joints]
    wide = [row for row, joint in enumerate(state.joints) if joint.upper - joint.lower > turns[row] + 1e-6]
    if not wide:
        return
    turn = turns[wide[0]]
    worst = max(math.degrees(state.joints[row].upper - state.joints[row].lower) for row in wide)
    values = {"count": len(wide), "asked": worst, "turn": math.degrees(turn)}
    if not state.agrees(Sentence("ranges_too_wide", joint=state.label(wide[0]), **values), True):
        raise Abandoned
    for row in wide:
        joint = state.joints[row]
        ends = [REST_POSE[row % 3] + sign * (turn - TOOTH) / 2.0 for sign in (-1.0, 1.0)]
        lower = max(joint.lower, ends[0])
        upper = min(joint.upper, ends[1])
        middle = (lower + upper) / 2.0  # until the horn is measured
        state.joints[row] = replace(
            joint, lower=lower, upper=upper, center=float(state.scale.center), q_center=middle, trim=0.0
        )


def fit_horns(state: CalibrationState, measure_again: Callable[[Sequence[int]], None]) -> None:
    """Asks about all joints whose servos cannot turn them to their limits, until there are none.

    `measure_again` is called with the rows of joints whose horns the operator has put on again.
    """
    while tight := [row for row, joint in enumerate(state.joints) if _missing(joint) > TOLERANCE]:
        for row in tight:
            state.say(_finding(state, row))
        try:
            answer = state.ask(Prompt(Sentence("fit_limits", count=len(tight)), (NARROW, HORNS)))
        except Back:
            continue
        if answer is HORNS:
            measure_again(tight)
        elif answer is NARROW:
            narrowed = list(state.joints)
            for row in tight:
                narrowed[row] = _narrowed(narrowed[row])
            try:
                state.accept(narrowed)
            except RobotFileError as error:
                state.say(aside(Sentence("limits_refused", reason=Sentence.of(error))))
            else:
                state.joints = narrowed


def _missing(joint: JointCalibration) -> float:
    """Angle [rad] by which a joint does not reach one of its limits."""
    least, most = reach(joint)
    return max(least - joint.lower, joint.upper - most)


def _narrowed(joint: JointCalibration) -> JointCalibration:
    least, most = reach(joint)
    return replace(joint, lower=max(joint.lower, least), upper=min(joint.upper, most))


def _finding(state: CalibrationState, row: int) -> Sentence:
    """How far a joint turns, and where its horn belongs."""
    joint = state.joints[row]
    least, most = map(math.degrees, reach(joint))
    limits = {"lower": math.degrees(joint.lower), "upper": math.degrees(joint.upper)}
    finding = Sentence("narrow_reach", joint=state.label(row), least=least, most=most, **limits)
    count = teeth_to_move(joint)
    if not count:
        return finding
    direction = Sentence(DIRECTIONS[row % 3][count < 0])
    return Sentence("narrow_reach_horn", finding=finding, teeth=teeth(count), direction=direction)


def teeth_to_move(joint: JointCalibration) -> int:
    """Teeth by which the horn of a joint should be moved, + towards larger angles; 0 if that does not help."""
    least, most = reach(joint)
    loss = {count: max(0.0, least + count * TOOTH - joint.lower) + max(0.0, joint.upper - most - count * TOOTH)
            for count in range(-12, 13)}  # fmt: skip
    best = min(loss, key=lambda count: (round(loss[count], 6), abs(count)))
    return best if loss[best] < loss[0] - TOLERANCE else 0


def teeth(count: int) -> Sentence:
    """A number of teeth in words."""
    return Sentence("teeth", count=abs(count)) if abs(count) > 1 else Sentence("one_tooth")
