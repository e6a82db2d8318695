"""The work of a guided calibration: what is known so far, questions one can go back over, joints put into places."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration.dialog import Back, Dialog
from hexapod_control.servos.calibration.hand_positioning import HandPositioning, reach
from hexapod_control.servos.settings.joint_calibration import JointCalibration

Item = TypeVar("Item")
REST_POSE = (0.0, 0.0, math.radians(-90.0))  # coxa straight out, femur level, tibia straight down
LIMIT_CLEARANCE = math.radians(5.0)  # of the limits that captured angles keep


class CalibrationState:
    """One calibration. `joints` are the calibrations so far, in row order; `rest` the angles [rad] of the rest pose."""

    def __init__(self, robot: Robot, joints: Sequence[JointCalibration], hands: HandPositioning, talk: Dialog) -> None:
        self.robot, self.joints, self.hands = robot, list(joints), hands
        self.scale = hands.bus.scale
        self.rest = [self._resting(row) for row in range(len(self.joints))]
        self.say = talk.say
        self._talk = talk
        self._answered = 0  # questions

    def _resting(self, row: int) -> float:
        joint = self.joints[row]
        return min(max(REST_POSE[row % 3], joint.lower + LIMIT_CLEARANCE), joint.upper - LIMIT_CLEARANCE)

    # --- questions ----------------------------------------------------------------------------------

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question. Raises Back for the one that goes back."""
        answer = self._talk.ask(question, meanwhile)
        if answer == words.BACK:
            raise Back
        self._answered += 1
        return answer

    def agrees(self, question: str, usual: bool) -> bool:
        """The answer to a question for yes or no."""
        return words.yes(self.ask(words.question(question, usual)), usual)

    def each(self, items: Sequence[Item], act: Callable[[Item], None]) -> None:
        """Does something with each item; going back at its first question leads to the item before.

        What was calibrated since then is forgotten. Raises Back at the first question of the first item.
        """
        before: list[list[JointCalibration]] = []
        while len(before) < len(items):
            before.append(list(self.joints))
            answered = self._answered
            try:
                act(items[len(before) - 1])
            except Back:
                self.joints = before.pop()
                if self._answered == answered:
                    if not before:
                        raise
                    self.joints = before.pop()

    # --- places -------------------------------------------------------------------------------------

    def captured(self, rows: Sequence[int], what: str, angles: Sequence[float]) -> dict[int, float]:
        """Raw places of joints that a person puts to angles [rad] by row."""
        if self.hands.reads:
            self.ask(f"{what}. Enter when it is there ")
            places = self.hands.positions([self.joints[row].id for row in rows])
            return {row: places[self.joints[row].id] for row in rows}
        self.say(what)
        return {row: self.jogged(row, words.place(row % 3, angles[row])) for row in rows}

    def jogged(self, row: int, what: str) -> float:
        """The raw place to which a person jogs a servo."""
        servo = self.joints[row].id
        while True:
            place = self.hands.positions([servo])[servo]
            answer = self.ask(f"  {self.label(row)} to {what} ({place:.0f} {self.scale.unit}): ")
            if not answer:
                return place
            way = words.jog(answer)
            if way is None:
                self.say(f"  {words.JOG_HELP}")
            else:
                self.hands.go({servo: place + way})

    def label(self, row: int) -> str:
        """A joint in words."""
        return self.joints[row].joint.removesuffix("_joint")

    def warn_of_reach(self, row: int) -> None:
        """Says where a joint cannot do what the robot file has."""
        joint = self.joints[row]
        least, most = map(math.degrees, reach(joint))
        lower, upper = math.degrees(joint.lower), math.degrees(joint.upper)
        if least > lower + 0.05 or most < upper - 0.05:
            leg, column = self.robot.leg_names[row // 3], JOINTS[row % 3]
            self.say(
                f"  {self.label(row)} turns from {least:.1f} to {most:.1f} deg, the robot file has {lower:g} to "
                f"{upper:g}:\n  set the horn another tooth on, or narrow legs.{leg}.joints.{column} in the file"
            )
