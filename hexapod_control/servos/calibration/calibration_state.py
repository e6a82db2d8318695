"""State of a guided calibration: results so far, questions with undo, positioning of the joints."""

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
LIMIT_CLEARANCE = math.radians(5.0)  # [rad] of captured angles to the joint limits


class CalibrationState:
    """One calibration. `joints` are its results so far in row order, `rest` the joint angles [rad] of the rest pose."""

    def __init__(
        self, robot: Robot, joints: Sequence[JointCalibration], hands: HandPositioning, dialog: Dialog
    ) -> None:
        self.robot, self.joints, self.hands = robot, list(joints), hands
        self.scale = hands.bus.scale
        self.rest = [self._resting(row) for row in range(len(self.joints))]
        self.say = dialog.say
        self.help = ""  # of the present step
        self.first = 0  # index of the first unfinished item of the next list
        self.finished: Callable[[int], None] = lambda count: None  # called with the number of finished items of a list
        self._dialog = dialog
        self._answered = 0  # questions
        self._nested = False

    def _resting(self, row: int) -> float:
        joint = self.joints[row]
        return min(max(REST_POSE[row % 3], joint.lower + LIMIT_CLEARANCE), joint.upper - LIMIT_CLEARANCE)

    # --- questions ----------------------------------------------------------------------------------

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question. Raises Back to return to the previous question, Abandoned to end the dialog."""
        answer = words.ask(self._dialog, question, self.help, meanwhile)
        self._answered += 1
        return answer

    def agrees(self, question: str, usual: bool) -> bool:
        """The answer to a yes-or-no question."""
        return words.yes(self.ask(words.question(question, usual)), usual)

    def each(self, items: Sequence[Item], act: Callable[[Item], None]) -> None:
        """Calls `act` with each item; going back at its first question returns to the previous item.

        Calibrations made since then are undone. Raises Back at the first question of the first item.
        """
        outer, self._nested = not self._nested, True
        before = [list(self.joints)] * (self.first if outer else 0)
        self.first = 0
        while len(before) < len(items):
            before.append(list(self.joints))
            answered = self._answered
            try:
                act(items[len(before) - 1])
            except Back:
                self.joints = before.pop()
                if self._answered == answered:
                    if not before:
                        self._nested = not outer
                        raise
                    self.joints = before.pop()
            else:
                if outer:
                    self.finished(len(before))
        self._nested = not outer

    # --- positions -------------------------------------------------------------------------------------

    def captured(self, rows: Sequence[int], what: str, angles: Sequence[float]) -> dict[int, float]:
        """Raw positions, by row, of joints that the operator moves to `angles` [rad], by hand or by jogging."""
        if self.hands.reads:
            self.ask(f"{what}. Enter when it is there ")
            places = self.hands.positions([self.joints[row].id for row in rows])
            return {row: places[self.joints[row].id] for row in rows}
        self.say(what)
        return {row: self.jogged(row, words.place(row % 3, angles[row])) for row in rows}

    def jogged(self, row: int, what: str) -> float:
        """The raw position to which the operator jogs a servo."""
        servo = self.joints[row].id
        while True:
            place = self.hands.positions([servo])[servo]
            answer = self.ask(f"  {self.label(row)} to {what} ({place:.0f} {self.scale.unit}): ")
            if not answer:
                return place
            step = words.jog(answer)
            if step is None:
                self.say(f"  {words.JOG_HELP}")
            else:
                self.hands.go({servo: place + step})

    def label(self, row: int) -> str:
        """Name of a joint, for texts."""
        return self.joints[row].short_name

    def warn_of_reach(self, row: int) -> None:
        """Warns if a servo cannot turn its joint to the limits in the robot file."""
        joint = self.joints[row]
        least, most = map(math.degrees, reach(joint))
        lower, upper = math.degrees(joint.lower), math.degrees(joint.upper)
        if least > lower + 0.05 or most < upper - 0.05:
            leg, column = self.robot.leg_names[row // 3], JOINTS[row % 3]
            self.say(
                f"  {self.label(row)} turns from {least:.1f} to {most:.1f} deg, but the robot file has {lower:g} to "
                f"{upper:g}:\n  move the horn by one tooth, or narrow legs.{leg}.joints.{column} in the file"
            )
