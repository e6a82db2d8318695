# SPDX-License-Identifier: Apache-2.0
"""The guided calibration: derives joint calibrations from answers and captured positions, step by step.

Angles are those of the robot's joints: coxa + is counter-clockwise seen from above, femur and tibia + is foot up, all
zero is the leg straight out. Nothing is written to files or to the memory of servos.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from hexapod_control.config.sentence import Sentence
from hexapod_control.core.robot import Robot
from hexapod_control.servos.calibration.calibration_state import CalibrationState
from hexapod_control.servos.calibration.dialog import Back, Dialog
from hexapod_control.servos.calibration.progress_file import CalibrationProgress
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.calibration.steps.check_joints import check
from hexapod_control.servos.calibration.steps.feet_on_dots import feet_on_dots
from hexapod_control.servos.calibration.steps.horn_fit import fit_ranges
from hexapod_control.servos.calibration.steps.identify_joints import wiggle
from hexapod_control.servos.calibration.steps.rest_pose import rest
from hexapod_control.servos.calibration.steps.scale_and_limits import measure
from hexapod_control.servos.settings.joint_calibration import JointCalibration

ITEMIZED = ("wiggle", "check", "rest", "marks", "limits")  # steps whose finished items are saved
STEPS = (*ITEMIZED, "dots")


class CalibrationGuide:
    """Runs the steps of one calibration. `joints` are the results so far, in row order."""

    def __init__(
        self,
        robot: Robot,
        joints: Sequence[JointCalibration],
        jogger: ServoJogger,
        dialog: Dialog,
        accept: Callable[[Sequence[JointCalibration]], object] = lambda joints: None,
    ) -> None:
        """`accept` raises RobotFileError for calibrations, in row order, that the robot file cannot have."""
        self.step = ""  # name of the present step
        self.jogger = jogger
        self.on_progress: Callable[[CalibrationProgress], None] = lambda progress: None  # after every item
        self._resumed: CalibrationProgress | None = None
        self._state = CalibrationState(robot, joints, jogger, dialog, accept)

    @property
    def joints(self) -> tuple[JointCalibration, ...]:
        """The calibrations so far, in row order."""
        return tuple(self._state.joints)

    def resume(self, progress: CalibrationProgress) -> None:
        """Makes `run` start at this progress."""
        self._resumed = progress
        self._state.joints = list(progress.joints)

    def run(self, servos: Iterable[int], steps: Sequence[str]) -> None:
        """Runs the chosen steps with the servos of these ids. Going back stops at the beginning of a step."""
        state = self._state
        ids = sorted(servos)
        measuring = "marks" if "marks" in steps else "limits"  # both are measured together, leg by leg
        acts: Mapping[str, Callable[[], None]] = {
            "wiggle": lambda: wiggle(state, ids),
            "check": lambda: check(state),
            "rest": lambda: rest(state),
            measuring: lambda: measure(state, steps),
            "dots": lambda: feet_on_dots(state),
        }
        resumed = self._resumed
        fit_ranges(state)
        for step in STEPS[STEPS.index(resumed.step) if resumed else 0 :]:
            if step in steps and step in acts:
                state.first = resumed.done if resumed and step == resumed.step else 0
                state.finished = lambda done, step=step: self.on_progress(  # type: ignore[misc]
                    CalibrationProgress(tuple(steps), step, done if step in ITEMIZED else 0, self.joints)
                )
                self._run_step(step, acts[step])

    def _run_step(self, step: str, act: Callable[[], None]) -> None:
        self.step = step
        self._state.help = Sentence(f"help_{step}")
        while True:
            try:
                act()
                return
            except Back:
                self._state.say(Sentence("first_question", step=step))
