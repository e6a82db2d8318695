"""What is done in each stage of the first evening."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.draft.questions.units import VOLTAGE, Part, numbers
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.servo_table import permitted, version_for, versions
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration.assign_ids import USUAL_IDS, IdAssignment, NamedServos
from hexapod_control.servos.calibration.hand_positioning import HandPositioning
from hexapod_control.servos.calibration.progress_file import ProgressFile
from hexapod_control.servos.calibration.session import CalibrationSession, check_ranges
from hexapod_control.servos.commissioning.hardware import Hardware
from hexapod_control.servos.commissioning.pictured_dialog import PicturedDialog
from hexapod_control.servos.commissioning.stages import BY_KEY, FirstProgress, StageError
from hexapod_control.servos.commissioning.weight_test import MIN_SHARE, LoadWatch, lying, rise, standing
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_words import JointWordsError, joint_row
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

MAX_OFF = math.radians(5.0)  # [rad] of a joint from its goal in the air


class StageActions:
    """The stages of one robot. Each returns its line of the report, and raises StageError if it did not succeed."""

    def __init__(
        self,
        load: Callable[[], RobotFile],
        given: tuple[str, str, int],
        progress: FirstProgress,
        hardware: Hardware,
        dialog: PicturedDialog,
        pace: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`given` are protocol, port and baud of the command line, empty or 0 for those of the file."""
        self._load, self._given, self._progress = load, given, progress
        self._hardware, self._dialog, self._pace, self._sleep = hardware, dialog, pace, sleep
        self.by_key: Mapping[str, Callable[[], str]] = {key: getattr(self, key) for key in BY_KEY}

    # --- before the servos ---------------------------------------------------------------------------

    def stand(self) -> str:
        """The robot cannot fall or push itself up."""
        self._confirm("Do all feet hang free, and is the switch of the battery in reach?")
        return "on a stand, feet free"

    def supply(self) -> str:
        """The voltage suits the servos."""
        model = self._load().servo_model
        row = Part("voltage", VOLTAGE, robot_keys.SERVO_VOLTAGE)
        (volts,) = numbers(self._ask("Voltage at the plug of a servo, such as 11.1 V: "), (row,))
        if versions(model) and version_for(model, volts) is None:
            raise StageError(f"{volts:g} V is not for {model}, which takes {permitted(model)}: correct the supply")
        self._progress.voltage = volts
        return f"{volts:.1f} V without load"

    # --- the bus ----------------------------------------------------------------------------------------

    def bus(self) -> str:
        """Something answers; if the protocol is not known yet, it is found out."""
        if self._settings().protocol == LOOPBACK:
            self._find()
        settings = self._settings()
        with self._hardware.open(settings) as bus:
            if not isinstance(bus, NamedServos):
                bus.identify()
                return f"{PROTOCOLS[settings.protocol].title} answers on {settings.port}"
            found = bus.scan(USUAL_IDS, 2)
        models = ", ".join(sorted(set(found.values()))) or "none understood, as with new servos that share id 1"
        return f"{len(found)} servos answer ({models}), {settings.protocol} at {settings.baud} baud on {settings.port}"

    def _find(self) -> None:
        """Asks for the port if there are several, and searches it."""
        _, port, _ = self._given
        if not port:
            ports = self._hardware.ports()
            if not ports:
                raise StageError(
                    "this computer has no serial port: plug the adapter in, and use a cable with data lines"
                )
            port = (
                ports[0] if len(ports) == 1 else self._ask(f"Which port: {', '.join(ports)}? [{ports[0]}] ") or ports[0]
            )
        self._dialog.say(f"{port}: all baud rates and protocols are tried, which takes up to half a minute")
        found = [each for each in self._hardware.findings(port) if each.protocol]
        for each in found:
            self._dialog.say(f"  {each.text}")
        if not found:
            raise StageError(
                f"nothing answers on {port}: check supply, ground and data line, and that no jumper is missing"
            )
        best = max(found, key=lambda each: len(each.servos) + len(each.shared))
        self._progress.wire = {"protocol": best.protocol, "port": port, "baud": str(best.baud)}

    def ids(self) -> str:
        """Every joint has a servo that answers."""
        settings = self._settings()
        with self._hardware.open(settings) as bus:
            if not isinstance(bus, NamedServos):
                return "channels of a board, no ids"
            missing = self._missing(bus, settings)
            if missing and self._agrees(
                f"{len(missing)} ids do not answer. Are the servos new, so that they need ids?"
            ):
                known = PROTOCOLS[settings.protocol].ids
                IdAssignment(bus, settings.joints, known, self._dialog, lambda row: "").run()
                missing = self._missing(bus, settings)
        if missing:
            raise StageError(f"no answer from {', '.join(missing)}: check plug and cable, or the servo is dead")
        return f"{len(settings.joints)} servos, each with its own id"

    def _missing(self, bus: NamedServos, settings: ServoSettings) -> list[str]:
        found = bus.scan(settings.ids, 3)
        return [f"{j.short_name} (id {j.id})" for j in settings.joints if j.id not in found]

    # --- calibration ------------------------------------------------------------------------------------

    def joints(self) -> str:
        """Servos and signs of all joints."""
        return self._calibrated("wiggle", "check")

    def calibration(self) -> str:
        """The pose with known angles, and the scale of hobby servos."""
        return self._calibrated("rest", "marks")

    def limits(self) -> str:
        """The mechanical stops."""
        return self._calibrated("limits")

    def _calibrated(self, *steps: str) -> str:
        file, settings = self._load(), self._settings()
        try:
            check_ranges(settings)
        except ValueError as error:
            raise StageError(str(error)) from None
        with self._hardware.open(settings) as bus:
            there = dict(bus.identify())
            kept = ProgressFile(file.path, settings)
            CalibrationSession(bus, there, settings, file, self._dialog, self._pace, kept, self._sleep).run(steps)
        return f"{', '.join(steps)} saved into {file.path.name}"

    # --- motion --------------------------------------------------------------------------------------------

    def pose(self) -> str:
        """All legs reach the standing pose in the air."""
        settings, robot = self._settings(), self._load().robot
        with self._hardware.open(settings) as bus:
            goals = standing(robot, settings.joints)
            hands = HandPositioning(bus, goals, self._pace, self._sleep)
            if not hands.reads:
                self._dialog.say("These servos report no positions: they jump into the pose. Hands off the legs.")
            try:
                hands.go(goals)
                hands.settle()
                places = hands.positions(settings.ids)
                self._check_places(settings, goals, places)
                self._check_look(settings, robot.leg_names)
            finally:
                hands.relax()
        return "all legs reach the standing pose"

    def _check_places(self, settings: ServoSettings, goals: Mapping[int, float], places: Mapping[int, float]) -> None:
        off = {j.short_name: abs(j.angle(places[j.id]) - j.angle(goals[j.id])) for j in settings.joints}
        worst = max(off, key=lambda name: off[name])
        if off[worst] > MAX_OFF:
            raise StageError(
                f"{worst} is {math.degrees(off[worst]):.0f} deg from its goal: is it jammed, its horn loose, or its "
                "limits too narrow?"
            )

    def _check_look(self, settings: ServoSettings, legs: Sequence[str]) -> None:
        answer = self._ask("Do all legs look like the picture? Enter, or the joint that does not, such as lf femur ")
        if not answer or words.yes(answer, False):
            return
        try:
            name = settings.joints[joint_row(answer, legs)].short_name
        except JointWordsError as error:
            raise StageError(f"{error}; or type joints or calibration to repeat that stage") from None
        raise StageError(
            f"{name}: if it points to the wrong side, type joints to repeat that stage; if it is off by a few degrees, "
            "type calibration: perhaps its horn is a tooth off"
        )

    def weight(self) -> str:
        """The robot rises in small steps from the floor, and lies down again."""
        self._confirm("Does the robot lie on its belly on the floor, feet beside it, your hand at the switch?")
        settings, robot = self._settings(), self._load().robot
        watch = LoadWatch(settings.joints, self._progress.voltage)
        with self._hardware.open(settings) as bus:
            hands = HandPositioning(bus, lying(robot, settings.joints), self._pace, self._sleep)
            result = rise(bus, hands, robot, settings.joints, watch).result
        if not watch.lowest:
            self._ask_lowest()
        return result

    def _ask_lowest(self) -> None:
        """The voltage of a bus that reports none, from the multimeter."""
        row = Part("voltage", VOLTAGE, robot_keys.SERVO_VOLTAGE)
        (lowest,) = numbers(self._ask("Lowest voltage on the multimeter while it stood: "), (row,))
        unloaded = self._progress.voltage
        if unloaded and lowest < MIN_SHARE * unloaded:
            raise StageError(
                f"the supply falls from {unloaded:g} to {lowest:g} V: use thicker cables or a stronger one"
            )

    def stand_up(self) -> str:
        """The programs of the robot let it stand and sit."""
        return self._driven("stand_up", "Did it stand level and sit down again?")

    def step(self) -> str:
        """One step with each leg."""
        return self._driven("step", "Did every foot lift, and none drag?")

    def walk(self) -> str:
        """A slow walk."""
        return self._driven("walk", "Did it walk straight forward?")

    def _driven(self, what: str, question: str) -> str:
        self._confirm("Is the robot on a free floor that is not slippery, your hand at the switch?")
        result = self._hardware.drive(self._settings(), what)
        if not self._agrees(question):
            raise StageError(f"the robot did it, but not as it should: {result}")
        return result

    def relax(self) -> str:
        """Switches the torque of all servos off in any state. Returns a description."""
        try:
            settings = self._settings()
            if settings.protocol == LOOPBACK:
                return "no servo was found yet, so that none has torque"
            with self._hardware.open(settings) as bus:
                bus.relax()
        except (BusError, RobotFileError, OSError) as error:
            return f"no torque-off could be sent ({error}): switch the supply off"
        return "the torque is off"

    # --- questions ------------------------------------------------------------------------------------------

    def _settings(self) -> ServoSettings:
        """Of the robot file, or as found on the line; what the user has given comes first."""
        protocol, port, baud = self._given
        wire = self._progress.wire
        file = self._load()
        if file.servos is None:
            protocol, port = protocol or wire.get("protocol", ""), port or wire.get("port", "")
            baud = baud or int(wire.get("baud", "0"))
        found = servo_settings(file, protocol, port)
        return dataclasses.replace(found, baud=baud or found.baud)

    def _ask(self, question: str) -> str:
        """An answer. Raises Back or Abandoned."""
        return words.ask(self._dialog, question)

    def _agrees(self, question: str) -> bool:
        return words.yes(self._ask(words.question(question, True)), True)

    def _confirm(self, question: str) -> None:
        """Raises StageError if the answer is no."""
        if not self._agrees(question):
            raise StageError("this stage starts once you confirm")
