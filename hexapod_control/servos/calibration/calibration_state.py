# SPDX-License-Identifier: Apache-2.0
"""State of a guided calibration: results so far, questions with undo, captured and jogged positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.names import leg_and_joint
from hexapod_control.core.robot import Robot
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration import joint_moves
from hexapod_control.servos.calibration.dialog import DONE, THERE, Back, Choice, Dialog, Prompt, Typed
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.settings.joint_calibration import JointCalibration

Item = TypeVar("Item")
REST_POSE = (0.0, 0.0, math.radians(-90.0))  # coxa straight out, femur level, tibia straight down
LIMIT_CLEARANCE = math.radians(5.0)  # [rad] between captured angles and the joint limits


def resting(joints: Sequence[JointCalibration]) -> list[float]:
    """Angles [rad] of joints, in row order, in the rest pose: as near to REST_POSE as their limits allow."""
    return [
        min(max(REST_POSE[row % 3], joint.lower + LIMIT_CLEARANCE), joint.upper - LIMIT_CLEARANCE)
        for row, joint in enumerate(joints)
    ]


class CalibrationState:
    """State of one calibration, shared by its steps.

    `joints` are the results so far in row order.
    """

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[JointCalibration],
        jogger: ServoJogger,
        dialog: Dialog,
        accept: Callable[[Sequence[JointCalibration]], object] = lambda joints: None,
    ) -> None:
        """`accept` raises RobotFileError for calibrations, in row order, that the robot file cannot have."""
        self.robot = robot
        self.joints = list(joints)
        self.before = tuple(joints)  # at the start
        self.accept = accept
        self.jogger = jogger
        self.scale = jogger.bus.scale
        self.say = dialog.say
        self.help: Sentence | None = None  # of the present step
        self.first = 0  # index of the first unfinished item of the next list
        self.finished: Callable[[int], None] = lambda count: None  # called with the number of finished items of a list
        self._dialog = dialog
        self._answered = 0  # questions
        self._nested = False  # whether `each` is running

    @property
    def rest(self) -> list[float]:
        """Joint angles [rad] of the rest pose."""
        return resting(self.joints)

    # --- questions ----------------------------------------------------------------------------------

    def ask(self, prompt: Prompt, meanwhile: Callable[[], None] | None = None) -> Choice | str:
        """The answer to a prompt. Raises Back to return to the previous question, Abandoned to end the dialog."""
        answer = self._dialog.ask(prompt, self.help, meanwhile)
        self._answered += 1
        return answer

    def wait(self, text: Sentence, joint: tuple[str, ...] = (), meanwhile: Callable[[], None] | None = None) -> None:
        """Waits until the operator has done something."""
        self.ask(Prompt(text, (DONE,), joint=joint), meanwhile)

    def agrees(self, question: Sentence, default: bool, joint: tuple[str, ...] = ()) -> bool:
        """The answer to a yes-or-no question."""
        return words.agreed(self.ask(words.yes_or_no(question, default, joint)))

    def each(self, items: Sequence[Item], act: Callable[[Item], None]) -> None:
        """Calls `act` with each item; going back at its first question repeats the previous item.

        The results of both items are undone. Raises Back at the first question of the first item.
        """
        outer = not self._nested
        self._nested = True
        before = [list(self.joints)] * (self.first if outer else 0)
        self.first = 0
        while len(before) < len(items):
            before.append(list(self.joints))
            answered = self._answered
            try:
                act(items[len(before) - 1])
            except BusError as error:
                self.joints = before.pop()
                if not outer:
                    raise
                self.say(words.aside(error))
                self._dialog.ask_again(Prompt(Sentence("connected_again"), (DONE,)))
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

    def capture(self, rows: Sequence[int], pose: Sentence, angles: Sequence[float]) -> dict[int, float]:
        """Raw positions, by row, of joints that the operator moves to `angles` [rad], by hand or by jogging.

        `pose` describes the angles of one joint, or of a leg.
        """
        if self.jogger.reports_position:
            joint = self.joint(rows[0])
            self.wait(Sentence("hold_pose", pose=pose), joint if len(rows) == 1 else joint[:1])
            positions = self.jogger.positions([self.joints[row].id for row in rows])
            return {row: positions[self.joints[row].id] for row in rows}
        self.say(pose)
        return {row: self.jog(row, words.describe_angle(row % 3, angles[row])) for row in rows}

    def jog(self, row: int, target: Sentence, ends: tuple[int, int] | None = None) -> float:
        """Lets the operator jog a servo to a described target. Returns its raw position there.

        `ends` are the raw positions between which it may go; None for the range of the servo.
        """
        self.energise()  # a servo without position feedback is where its pulse is, and nowhere else
        servo = self.joints[row].id
        unit = self.scale.unit
        while True:
            position = self.jogger.positions([servo])[servo]
            question = Sentence("jog", joint=self.label(row), target=target, position=position, unit=unit)
            answer = self.ask(Prompt(question, (THERE, *words.JOGS), Typed.TEXT, self.joint(row)))
            if answer is THERE:
                return position
            typed = answer if isinstance(answer, str) else answer.word
            wish = words.jog(typed, position)
            if wish is None:
                self.say(words.aside(words.no_jog(typed, unit)))
            else:
                self._move(row, position, wish, ends)

    def _move(self, row: int, position: float, wish: float, ends: tuple[int, int] | None) -> None:
        """Moves a servo from its raw position to another one; asks before a far move, and says what is out of reach."""
        joint = self.joints[row]
        unit = self.scale.unit
        reachable = ends or (self.scale.low, self.scale.high)
        if found := joint_moves.out_of_reach(joint, wish, reachable, calibrated=ends is not None):
            self.say(words.aside(found))
        goal = joint_moves.clamped(wish, reachable)
        if joint_moves.is_far(goal - position, self.scale.per_rad, unit):
            question = joint_moves.move_question(joint, position, goal, unit)
            if not self.agrees(question, False, self.joint(row)):
                self.say(words.aside(Sentence("nothing_moved")))
                return
        self.jogger.go({joint.id: goal})

    def energise(self) -> None:
        """Switches the torque of servos that report no positions on, with the operator's consent: all of them move."""
        if self.jogger.reports_position or self.jogger.holds:
            return
        self.say(Sentence("all_will_move", place=self.jogger.place))
        self.wait(Sentence("hands_off"))
        self.jogger.hold(self.jogger.bus.ids)

    def label(self, row: int) -> Sentence:
        """Name of the joint of a row, for messages."""
        return words.name(self.joints[row].short_name)

    def servo(self, servo: int) -> Sentence:
        """Name of a servo, for messages."""
        return words.servo_name(self.jogger.bus, servo)

    def leg(self, leg: int) -> Sentence:
        """Name of a leg, for messages."""
        return words.name(self.robot.leg_names[leg])

    def joint(self, row: int) -> tuple[str, str]:
        """Leg and joint of a row, for prompts."""
        return leg_and_joint(self.joints[row].joint)
