"""The guided calibration: questions to a person at the robot, answers and captured positions to calibrations.

Angles are those of the robot's joints: coxa + is counter-clockwise seen from above, femur and tibia + is foot up, all
zero is the leg straight out. Nothing is written here, neither to servos nor to files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import Back, Dialog
from hexapod_control.servos.calibration.hand_positioning import HandPositioning
from hexapod_control.servos.calibration.identify_joints import wiggle
from hexapod_control.servos.calibration.level_feet import Residuals, verify
from hexapod_control.servos.calibration.scale_and_limits import measure
from hexapod_control.servos.settings.joint_calibration import JointCalibration

STEPS = ("wiggle", "rest", "marks", "limits", "verify")


class CalibrationGuide:
    """One calibration. `joints` are the calibrations so far, in row order."""

    def __init__(self, robot: Robot, joints: Sequence[JointCalibration], hands: HandPositioning, talk: Dialog) -> None:
        self.step = ""  # that is being done
        self.residuals: Residuals = {}  # of the feet [m], as far as they were looked at
        self.hands = hands
        self._work = CalibrationState(robot, joints, hands, talk)

    @property
    def joints(self) -> Sequence[JointCalibration]:
        """The calibrations so far, in row order."""
        return tuple(self._work.joints)

    def run(self, there: Iterable[int], steps: Sequence[str]) -> None:
        """All steps that are wanted, with the servos that are there. Going back ends at the begin of a step."""
        work, ids = self._work, sorted(there)
        both = "marks" if "marks" in steps else "limits"  # are measured together, leg by leg
        acts: Mapping[str, Callable[[], None]] = {
            "wiggle": lambda: wiggle(work, ids),
            "rest": lambda: rest(work),
            both: lambda: measure(work, steps),
            "verify": lambda: verify(work, self._show),
        }
        for step in STEPS:
            if step in steps and step in acts:
                self._take(step, acts[step])

    def _take(self, step: str, act: Callable[[], None]) -> None:
        self.step = step
        while True:
            try:
                act()
                return
            except Back:
                self._work.say(f"  this is where {step} begins")

    def _show(self, residuals: Residuals) -> None:
        self.residuals = residuals


def rest(work: CalibrationState) -> None:
    """Captures where each joint is at a known angle: the rest pose."""
    if work.hands.reads:
        work.hands.relax()
        work.say("\nThe rest pose. Torque is off: put one leg after the other into the pose by hand.")
    else:
        work.say(f"\nThe rest pose. {words.JOG_HELP}")
    work.each(range(len(work.robot.leg_names)), lambda leg: _rest_of(work, leg))


def _rest_of(work: CalibrationState, leg: int) -> None:
    rows = range(3 * leg, 3 * leg + 3)
    pose = ", ".join(f"{JOINTS[row % 3]} {words.place(row % 3, work.rest[row])}" for row in rows)
    places = work.captured(rows, f"{work.robot.leg_names[leg]}: {pose}", work.rest)
    for row in rows:
        work.joints[row] = replace(work.joints[row], center=places[row], q_center=work.rest[row], trim=0.0)
        work.warn_of_reach(row)
