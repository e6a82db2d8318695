"""State of a guided calibration: results so far, questions with undo, captured and jogged positions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration import joint_moves
from hexapod_control.servos.calibration.dialog import Back, Dialog
from hexapod_control.servos.calibration.servo_jogger import ServoJogger, reach
from hexapod_control.servos.settings.joint_calibration import JointCalibration

Item = TypeVar("Item")
REST_POSE = (0.0, 0.0, math.radians(-90.0))  # coxa straight out, femur level, tibia straight down
LIMIT_CLEARANCE = math.radians(5.0)  # [rad] between captured angles and the joint limits


class CalibrationState:
    """State of one calibration, shared by its steps.

    `joints` are the results so far in row order, `rest` the joint angles [rad] of the rest pose.
    """

    def __init__(self, robot: Robot, joints: Sequence[JointCalibration], jogger: ServoJogger, dialog: Dialog) -> None:
        self.robot, self.joints, self.jogger = robot, list(joints), jogger
        self.scale = jogger.bus.scale
        self.rest = [self._resting(row) for row in range(len(self.joints))]
        self.say = dialog.say
        self.help = ""  # of the present step
        self.first = 0  # index of the first unfinished item of the next list
        self.finished: Callable[[int], None] = lambda count: None  # called with the number of finished items of a list
        self._dialog = dialog
        self._answered = 0  # questions
        self._nested = False  # whether `each` is running

    def _resting(self, row: int) -> float:
        joint = self.joints[row]
        return min(max(REST_POSE[row % 3], joint.lower + LIMIT_CLEARANCE), joint.upper - LIMIT_CLEARANCE)

    # --- questions ----------------------------------------------------------------------------------

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """The answer to a question. Raises Back to return to the previous question, Abandoned to end the dialog."""
        answer = words.ask(self._dialog, question, self.help, meanwhile)
        self._answered += 1
        return answer

    def agrees(self, question: str, default: bool) -> bool:
        """The answer to a yes-or-no question."""
        return words.yes(self.ask(words.question(question, default)), default)

    def each(self, items: Sequence[Item], act: Callable[[Item], None]) -> None:
        """Calls `act` with each item; going back at its first question repeats the previous item.

        The results of both items are undone. Raises Back at the first question of the first item.
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

    def capture(self, rows: Sequence[int], pose: str, angles: Sequence[float]) -> dict[int, float]:
        """Raw positions, by row, of joints that the operator moves to `angles` [rad], by hand or by jogging.

        `pose` describes the angles.
        """
        if self.jogger.reports_position:
            self.ask(f"{pose}. Enter when it is there ")
            positions = self.jogger.positions([self.joints[row].id for row in rows])
            return {row: positions[self.joints[row].id] for row in rows}
        self.say(pose)
        return {row: self.jog(row, words.describe_angle(row % 3, angles[row])) for row in rows}

    def jog(self, row: int, target: str, ends: tuple[int, int] | None = None) -> float:
        """Lets the operator jog a servo to a described target. Returns its raw position there.

        `ends` are the raw positions between which it may go; None for the range of the servo.
        """
        servo = self.joints[row].id
        while True:
            position = self.jogger.positions([servo])[servo]
            answer = self.ask(f"  {self.label(row)} to {target} ({position:.0f} {self.scale.unit}): ")
            if not answer:
                return position
            wish = words.jog(answer, position)
            if wish is None:
                self.say(f"  {words.no_jog(answer, self.scale.unit)}")
            else:
                self._move(row, position, wish, ends)

    def _move(self, row: int, position: float, wish: float, ends: tuple[int, int] | None) -> None:
        """Moves a servo from its raw position to another one; asks before a far move, and says what is out of reach."""
        joint, unit = self.joints[row], self.scale.unit
        why = joint_moves.LIMITS if ends else joint_moves.RANGE
        reachable = ends or (self.scale.low, self.scale.high)
        if text := joint_moves.clamp_text(joint, wish, reachable, why):
            self.say(f"  {text}")
        goal = joint_moves.clamped(wish, reachable)
        if joint_moves.is_far(goal - position, self.scale.per_rad, unit) and not self.agrees(
            f"  {joint_moves.move_text(joint, position, goal, unit)}?", False
        ):
            self.say("  nothing has moved")
            return
        self.energise()
        self.jogger.go({joint.id: goal})

    def energise(self) -> None:
        """Switches the torque of servos that report no positions on, with the operator's consent: all of them move."""
        if self.jogger.reports_position or self.jogger.holds:
            return
        place = "the middle" if self.jogger.assumes_middle else "where they are on a robot that lies on its belly"
        self.say(f"These servos report no positions: before the first one turns, all move to {place}, leg by leg.")
        self.ask("Hands off the legs, feet free. Enter moves them ")
        self.jogger.hold(self.jogger.bus.ids)

    def label(self, row: int) -> str:
        """Name of the joint of a row, for messages."""
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
