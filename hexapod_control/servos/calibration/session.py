# SPDX-License-Identifier: Apache-2.0
"""A guided calibration from the first question to the saved file, for terminal and ROS services."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.bus.bus_interface import Bus, BusError
from hexapod_control.servos.calibration.dialog import Abandoned, Choice, Dialog, Prompt, agreed, yes_or_no
from hexapod_control.servos.calibration.guide import STEPS, CalibrationGuide
from hexapod_control.servos.calibration.progress_file import ProgressFile
from hexapod_control.servos.calibration.servo_jogger import MIDDLE, ServoJogger
from hexapod_control.servos.preflight import inspect, with_offsets
from hexapod_control.servos.protocol_registry import PROTOCOLS, scale
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.save_servo_section import accepted, save
from hexapod_control.servos.settings.servo_section import ServoSettings

SAVE = "save"  # the last step, after those of the guide
SAVE_AGAIN = Choice(("",), Sentence("save_again"))


def parse_steps(text: str) -> list[str]:
    """The steps in a comma-separated list. Raises ValueError for an unknown one."""
    steps = [step.strip() for step in text.split(",") if step.strip()]
    for step in steps:
        if step not in STEPS:
            raise ValueError(f"must be of {', '.join(STEPS)}, is {step!r}")
    return steps


class CalibrationSession:
    """One calibration of the robot of a file, over an open bus. Life cycle: `run` once; `step` shows its progress."""

    def __init__(
        self,
        bus: Bus,
        models: Mapping[int, str],
        settings: ServoSettings,
        file: RobotFile,
        dialog: Dialog,
        pace: float,
        progress: ProgressFile | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`models` by id of the servos that answer; `pace` is a factor on the speed of moves.

        With a `progress` file an unfinished calibration can be continued, and this one is stored until it is saved.
        Raises BusError if the configuration of a servo makes its torque dangerous.
        """
        _check_configuration(bus, settings, models)
        self.settings = _fresh(settings, file)  # with the new calibrations, at the end
        self._loaded = settings.joints
        self._bus = bus
        self._file = file
        self._dialog = dialog
        self._models = models
        self._saving = False
        middle = float(bus.scale.center)
        centers = {**dict.fromkeys(models, middle), **{joint.id: joint.center for joint in self.settings.joints}}
        place = MIDDLE if set(centers.values()) == {middle} else Sentence("to_the_centers")
        jogger = ServoJogger(bus, centers, pace, sleep, place)
        self.guide = CalibrationGuide(file.robot, self.settings.joints, jogger, dialog, self._accepted)
        self._progress = progress

    @property
    def step(self) -> str:
        """Name of the present step."""
        return SAVE if self._saving else self.guide.step

    def run(self, steps: Sequence[str]) -> bool:
        """Calibrates and saves. Returns False if nothing has changed. The torque is off at the end in every case.

        Raises Abandoned if the operator has not saved, and BusError, RobotFileError or OSError.
        """
        settings = self.settings
        self._dialog.say(
            Sentence(
                "servos_to_calibrate",
                protocol=PROTOCOLS[settings.protocol].title,
                baud=settings.baud,
                port=settings.port,
                count=len(self._models),
                models=", ".join(sorted(set(self._models.values()))),
            )
        )
        try:
            self.guide.run(self._models, self._steps_to_run(steps))
        finally:
            self.guide.jogger.relax()
        joints = with_offsets(self._bus, self.guide.joints)
        self._dialog.say(Sentence("torque_is_off"))
        self._saving = True
        changed = self._file.servos is None or joints != self._loaded
        if changed and not self._agrees(Sentence("save", path=self._file.path)):
            self._forget_progress()
            raise Abandoned
        if changed:
            self.settings = dataclasses.replace(settings, joints=joints)
            self._save()
        self._forget_progress()
        return changed

    def _steps_to_run(self, steps: Sequence[str]) -> Sequence[str]:
        """The chosen steps, or those of an unfinished calibration that the operator continues."""
        if self._progress is None:
            return steps
        found = self._progress.read()
        self.guide.on_progress = self._progress.write
        if found is None or not set(found.steps) <= set(STEPS) or found.step not in found.steps:
            return steps
        question = Sentence("continue", step=found.step, done=found.done)
        if not self._agrees(question):
            self._progress.delete()
            return steps
        self.guide.resume(found)
        return found.steps

    def _agrees(self, question: Sentence) -> bool:
        """The answer to a yes-or-no question. Raises Abandoned if the operator quits; the answers so far are kept."""
        return agreed(self._dialog.ask_again(yes_or_no(question, True)))

    def _forget_progress(self) -> None:
        if self._progress is not None:
            self._progress.delete()

    def _accepted(self, joints: Sequence[JointCalibration]) -> None:
        """Raises RobotFileError for calibrations with which the robot file would be refused."""
        settings = dataclasses.replace(self.settings, joints=tuple(joints))
        accepted(load(self._file.path), settings, scale(settings.protocol, settings.options))

    def _save(self) -> None:
        """Saves; if limits in the file do not fit, the operator can edit it and save again."""
        while True:
            try:
                backup = save(
                    load(self._file.path), self.settings, scale(self.settings.protocol, self.settings.options)
                )
                break
            except RobotFileError as error:
                self._dialog.say(Sentence.of(error))
                question = Sentence("correct_file")
                self._dialog.ask_again(Prompt(question, (SAVE_AGAIN,)))
        self._dialog.say(Sentence("saved", backup=backup.name))


def _check_configuration(bus: Bus, settings: ServoSettings, servo_ids: Iterable[int]) -> None:
    """Raises BusError for servos that are not in position mode; their joints are not known yet."""
    servos = [dataclasses.replace(settings.joints[0], joint="servo", id=servo) for servo in servo_ids]
    report = inspect(bus, servos, calibrated=False)
    if report.refusal:
        raise BusError(report.refusal)


def _fresh(settings: ServoSettings, file: RobotFile) -> ServoSettings:
    """The settings at the start of a calibration: nominal scale unless the file has a section of this protocol."""
    section = file.servos if isinstance(file.servos, dict) else {}
    if section.get("protocol") == settings.protocol:
        return settings
    units = scale(settings.protocol, settings.options).per_rad
    joints = tuple(dataclasses.replace(j, units_per_rad=units, units_per_rad_neg=units) for j in settings.joints)
    return dataclasses.replace(settings, joints=joints)
