# SPDX-License-Identifier: Apache-2.0
"""Step wiggle: which servo turns which joint, and in which direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import JOINTS
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import AGAIN, SKIP, Choice, Prompt, Typed, aside
from hexapod_control.servos.settings.joint_section import JointWordsError, joint_and_sign

WIGGLE_ANGLE = math.radians(5.0)


def wiggle(state: CalibrationState, ids: Sequence[int]) -> None:
    """Asks for every servo which joint it turns and in which direction. Raises BusError if a joint has no servo."""
    state.say(Sentence("help_wiggle"))
    state.energise()
    finished = ids[: state.first]
    taken = {joint.id: row for row, joint in enumerate(state.joints) if joint.id in finished}  # servo -> row

    displaced: list[int] = []  # servos whose joint was given to a later one

    def ask_joint(servo: int) -> None:
        row, direction = _joint(state, servo, taken)
        if row is not None:
            for owner in [other for other, named in taken.items() if named == row]:
                del taken[owner]
                displaced.append(owner)
            taken[servo] = row
            state.joints[row] = replace(state.joints[row], id=servo, direction=direction)
        if state.jogger.reports_position:
            state.jogger.release([servo])

    def ask_in_turn(servo: int) -> None:
        for later in ids[ids.index(servo) :]:  # after returning to this servo
            taken.pop(later, None)
        ask_joint(servo)

    state.each(ids, ask_in_turn)
    while displaced:
        state.each([displaced.pop(0)], ask_joint)
    missing = [joint.joint for row, joint in enumerate(state.joints) if row not in taken.values()]
    if missing:
        raise BusError(Sentence("joints_without_servo", joints=", ".join(missing)))


def identify(state: CalibrationState, servo: int) -> None:
    """Asks which joint a servo turns; the joint that had this servo gets the servo of the other one in exchange."""
    state.energise()
    row, direction = _joint(state, servo, {})
    if row is None:
        return
    former = next((k for k, j in enumerate(state.joints) if j.id == servo), row)
    joint = state.joints[row]
    state.joints[former] = replace(state.joints[former], id=joint.id)
    state.joints[row] = replace(joint, id=servo, direction=direction)


def _joint(state: CalibrationState, servo: int, taken: dict[int, int]) -> tuple[int | None, int]:
    """Row of the joint that a servo turns, and its direction, as the operator sees it; no row if it is skipped."""
    owners = {row: other for other, row in taken.items()}
    suggested = next((r for r, j in enumerate(state.joints) if j.id == servo and r not in owners), None)
    proposal = () if suggested is None else (_as_choice(state, suggested),)
    question = Sentence("which_joint", servo=state.servo(servo), id=servo)
    prompt = Prompt(question, (*proposal, AGAIN, SKIP), Typed.SIGNED_JOINT, hint=proposal[0].word if proposal else "")
    while True:
        state.jogger.wiggle(servo, WIGGLE_ANGLE)
        state.jogger.positions([servo])  # names a servo that has not moved because its plug is loose
        answer = state.ask(prompt)
        if answer is SKIP:
            return None, 1
        if answer is AGAIN:
            continue
        try:
            found = joint_and_sign(answer if isinstance(answer, str) else answer.word, state.robot.leg_names)
        except JointWordsError as error:
            state.say(aside(error))
            continue
        if found[0] not in owners:
            return found
        values = {"joint": state.label(found[0]), "servo": state.servo(owners[found[0]])}
        if state.agrees(Sentence("already_named", **values), False, state.joint(found[0])):
            return found


def _as_choice(state: CalibrationState, row: int) -> Choice:
    sign = "+" if state.joints[row].direction > 0 else "-"
    words = f"{state.robot.leg_names[row // 3]} {JOINTS[row % 3]} {sign}"
    return Choice((words,), Sentence("signed_joint", joint=state.label(row), sign=sign))
