"""A guided calibration from its first question to the saved file, for every front end: terminal, ROS services."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.calibration.dialog import Abandoned, Dialog, yes
from hexapod_control.servos.calibration.guide import STEPS, CalibrationGuide
from hexapod_control.servos.calibration.hand_positioning import HandPositioning
from hexapod_control.servos.protocol_registry import PROTOCOLS, scale
from hexapod_control.servos.settings.save_servo_section import save
from hexapod_control.servos.settings.servo_section import ServoSettings

SAVE = "save"  # the step after the guide's


def chosen(text: str) -> list[str]:
    """The steps that a list with commas names. Raises ValueError."""
    steps = [step.strip() for step in text.split(",") if step.strip()]
    for step in steps:
        if step not in STEPS:
            raise ValueError(f"must be of {', '.join(STEPS)}, is {step!r}")
    return steps


def check_ranges(settings: ServoSettings) -> None:
    """Raises ValueError for a joint that turns farther than such a servo, however it is mounted."""
    units = scale(settings.protocol, settings.options)
    most = (units.high - units.low) / units.per_rad
    for joint in settings.joints:
        if joint.upper - joint.lower > most + 1e-6:
            name, asked = joint.joint.removesuffix("_joint"), math.degrees(joint.upper - joint.lower)
            raise ValueError(
                f"{name} turns by {asked:.0f} deg in the robot file, such a servo by "
                f"{math.degrees(most):.0f}: narrow the limits in leg.joints"
            )


class CalibrationSession:
    """One calibration of the robot of a file, over an open bus."""

    def __init__(
        self,
        bus: Bus,
        there: Mapping[int, str],
        settings: ServoSettings,
        file: RobotFile,
        talk: Dialog,
        pace: float,
    ) -> None:
        """`there` are ids and models of the servos; moves `pace` times as fast as usual."""
        self.settings = _fresh(settings, file)  # what was found, at the end
        self._file, self._talk, self._there, self._saving = file, talk, there, False
        hands = HandPositioning(bus, dict.fromkeys(there, float(bus.scale.center)), pace)
        self.guide = CalibrationGuide(file.robot, self.settings.joints, hands, talk)

    @property
    def step(self) -> str:
        """What is being done."""
        return SAVE if self._saving else self.guide.step

    def run(self, steps: Sequence[str]) -> Path:
        """Asks, then saves. Returns the dated copy of the file as it was; torque is off at the end, however it comes.

        Raises Abandoned if nothing was saved, BusError, RobotFileError or OSError for what went wrong.
        """
        settings = self.settings
        title = f"{PROTOCOLS[settings.protocol].title} at {settings.baud} baud on {settings.port}"
        models = ", ".join(sorted(set(self._there.values())))
        self._talk.say(f"{title}: {len(self._there)} servos ({models})")
        try:
            self.guide.run(self._there, steps)
        finally:
            self.guide.hands.relax()
        self._talk.say("\nTorque is off.")
        self._saving = True
        if not yes(self._talk.ask(f"save into {self._file.path}? [Y/n] "), True):
            raise Abandoned
        self.settings = dataclasses.replace(settings, joints=tuple(self.guide.joints))
        return self._saved()

    def _saved(self) -> Path:
        """The backup; if the limits in the file do not fit what was found, they can be changed meanwhile."""
        while True:
            try:
                backup = save(
                    load(self._file.path), self.settings, scale(self.settings.protocol, self.settings.options)
                )
                break
            except RobotFileError as error:
                self._talk.say(str(error))
                if self._talk.ask("change the file in an editor, then Enter saves again; q gives up: ") == "q":
                    raise Abandoned from None
        self._talk.say(f"saved; the file as it was: {backup.name}")
        return backup


def _fresh(settings: ServoSettings, file: RobotFile) -> ServoSettings:
    """Without a section of this protocol in the file: the maker's scale, from which a calibration begins."""
    section = file.servos if isinstance(file.servos, dict) else {}
    if section.get("protocol") == settings.protocol:
        return settings
    units = scale(settings.protocol, settings.options).per_rad
    joints = tuple(dataclasses.replace(j, units_per_rad=units, units_per_rad_neg=units) for j in settings.joints)
    return dataclasses.replace(settings, joints=joints)
