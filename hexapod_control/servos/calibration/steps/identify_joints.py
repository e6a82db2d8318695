"""Step wiggle: which servo turns which joint, and in which direction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from hexapod_control.core.names import JOINTS
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.settings.joint_words import JointWordsError, joint_and_sign

WIGGLE_ANGLE = math.radians(5.0)
INTRODUCTION = """
Which servo is which joint? Lift the robot, its legs free. Each servo turns a little in one direction,
then back past the middle. Answer with leg, joint and the FIRST direction, e.g. "lf coxa +":
  coxa   + counter-clockwise seen from above
  femur  + foot up
  tibia  + foot up
Enter accepts the answer in brackets, r repeats, s skips a servo, b goes back, ? shows this again."""


def wiggle(work: CalibrationState, ids: Sequence[int]) -> None:
    """Asks for every servo which joint it turns and in which direction. Raises BusError if a joint has no servo."""
    work.say(INTRODUCTION)
    if not work.jogger.reports_position:
        work.say("These servos report no positions: before the first one turns, all move to the middle, leg by leg.")
    finished = ids[: work.first]
    taken = {joint.id: row for row, joint in enumerate(work.joints) if joint.id in finished}  # servo -> row

    def ask_joint(servo: int) -> None:
        for later in ids[ids.index(servo) :]:  # after returning to this servo
            taken.pop(later, None)
        row, direction = _joint(work, servo, taken)
        if row is not None:
            taken[servo] = row
            work.joints[row] = replace(work.joints[row], id=servo, direction=direction)
        if work.jogger.reports_position:
            work.jogger.release([servo])

    work.each(ids, ask_joint)
    missing = [joint.joint for row, joint in enumerate(work.joints) if row not in taken.values()]
    if missing:
        raise BusError(f"no servo was found for {', '.join(missing)}: check cables and ids, then start again")


def identify(work: CalibrationState, servo: int) -> None:
    """Asks which joint a servo turns; the joint that had this servo gets the servo of the other one in exchange."""
    row, direction = _joint(work, servo, {})
    if row is None:
        return
    former, joint = next((k for k, j in enumerate(work.joints) if j.id == servo), row), work.joints[row]
    work.joints[former] = replace(work.joints[former], id=joint.id)
    work.joints[row] = replace(joint, id=servo, direction=direction)


def _joint(work: CalibrationState, servo: int, taken: dict[int, int]) -> tuple[int | None, int]:
    """Row of the joint that a servo turns, and its direction, as the operator sees it; no row if it is skipped."""
    owners = {row: other for other, row in taken.items()}
    suggested = next((r for r, j in enumerate(work.joints) if j.id == servo and r not in owners), None)
    hint = f" [{_as_answer(work, suggested)}]" if suggested is not None else ""
    while True:
        work.jogger.wiggle(servo, WIGGLE_ANGLE)
        answer = work.ask(f"servo {servo}: which joint, which direction first?{hint} ").lower()
        if answer in ("s", "skip"):
            return None, 1
        if answer in ("r", "repeat") or (not answer and suggested is None):
            continue
        try:
            found = joint_and_sign(answer or hint.strip(" []"), work.robot.leg_names)
        except JointWordsError as error:
            work.say(f"  {error}")
            continue
        if found[0] in owners:
            work.say(f"  that is already servo {owners[found[0]]}; b goes back if that was wrong")
        else:
            return found


def _as_answer(work: CalibrationState, row: int) -> str:
    sign = "+" if work.joints[row].direction > 0 else "-"
    return f"{work.robot.leg_names[row // 3]} {JOINTS[row % 3]} {sign}"
