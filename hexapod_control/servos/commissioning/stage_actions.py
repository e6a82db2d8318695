"""The actions of the commissioning stages."""

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
from hexapod_control.servos.bus.bus_interface import Bus, BusError
from hexapod_control.servos.calibration import dialog as words
from hexapod_control.servos.calibration.assign_ids import USUAL_IDS, IdAssignment
from hexapod_control.servos.calibration.progress_file import ProgressFile
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.calibration.session import CalibrationSession, check_ranges
from hexapod_control.servos.commissioning.hardware import Hardware
from hexapod_control.servos.commissioning.pictured_dialog import PicturedDialog
from hexapod_control.servos.commissioning.stages import BY_KEY, CommissioningProgress, StageError
from hexapod_control.servos.commissioning.weight_test import MIN_SHARE, LoadWatch, lying, rise, standing
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_words import JointWordsError, joint_row
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

MAX_POSITION_ERROR = math.radians(5.0)  # [rad] of a joint without load


class StageActions:
    """One method per stage of one robot. It returns the result for the report, and raises StageError on failure."""

    def __init__(
        self,
        load: Callable[[], RobotFile],
        overrides: tuple[str, str, int],
        progress: CommissioningProgress,
        hardware: Hardware,
        dialog: PicturedDialog,
        pace: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`overrides`: protocol, port and baud from the command line; empty or 0 for those of the file.

        `pace` is a factor on the speed of moves.
        """
        self._load, self._overrides, self._progress = load, overrides, progress
        self._hardware, self._dialog, self._pace, self._sleep = hardware, dialog, pace, sleep
        self.by_key: Mapping[str, Callable[[], str]] = {key: getattr(self, key) for key in BY_KEY}

    # --- before the servos ---------------------------------------------------------------------------

    def stand(self) -> str:
        """Asks whether the robot is on a stand."""
        self._confirm("Do all feet hang free, and is the switch of the battery in reach?")
        return "on a stand, feet free"

    def supply(self) -> str:
        """Asks for the measured voltage and checks that it suits the servos."""
        model = self._load().servo_model
        part = Part("voltage", VOLTAGE, robot_keys.SERVO_VOLTAGE)
        (volts,) = numbers(self._ask("Voltage at the plug of a servo, such as 11.1 V: "), (part,))
        if versions(model) and version_for(model, volts) is None:
            raise StageError(f"{volts:g} V is not for {model}, which takes {permitted(model)}: correct the supply")
        self._progress.voltage = volts
        return f"{volts:.1f} V without load"

    # --- the bus ----------------------------------------------------------------------------------------

    def bus(self) -> str:
        """Checks that servos or boards answer; searches the port if the protocol is not known yet."""
        if self._settings().protocol == LOOPBACK:
            self._find()
        settings = self._settings()
        with self._hardware.open(settings) as bus:
            if not bus.features.servo_ids:
                bus.identify()
                return f"{PROTOCOLS[settings.protocol].title} answers on {settings.port}"
            found = bus.scan(USUAL_IDS, 2)
        models = ", ".join(sorted(set(found.values()))) or "none understood, as with new servos that share id 1"
        return f"{len(found)} servos answer ({models}), {settings.protocol} at {settings.baud} baud on {settings.port}"

    def _find(self) -> None:
        """Asks for the port if there are several, and searches it for servos and boards."""
        _, port, _ = self._overrides
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
        """Checks that the servo of every joint answers; assigns ids to new servos."""
        settings = self._settings()
        with self._hardware.open(settings) as bus:
            if not bus.features.servo_ids:
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

    def _missing(self, bus: Bus, settings: ServoSettings) -> list[str]:
        found = bus.scan(settings.ids, 3)
        return [f"{j.short_name} (id {j.id})" for j in settings.joints if j.id not in found]

    # --- calibration ------------------------------------------------------------------------------------

    def joints(self) -> str:
        """Finds out the servos and signs of all joints."""
        return self._calibrate("wiggle", "check")

    def calibration(self) -> str:
        """Captures a pose with known angles, and the scale of hobby servos."""
        return self._calibrate("rest", "marks")

    def limits(self) -> str:
        """Measures the mechanical stops."""
        return self._calibrate("limits")

    def _calibrate(self, *steps: str) -> str:
        file, settings = self._load(), self._settings()
        try:
            check_ranges(settings)
        except ValueError as error:
            raise StageError(str(error)) from None
        with self._hardware.open(settings) as bus:
            models = dict(bus.identify())
            saved = ProgressFile(file.path, settings)
            CalibrationSession(bus, models, settings, file, self._dialog, self._pace, saved, self._sleep).run(steps)
        return f"{', '.join(steps)} saved into {file.path.name}"

    # --- motion --------------------------------------------------------------------------------------------

    def pose(self) -> str:
        """Moves all legs to the standing pose in the air."""
        settings, robot = self._settings(), self._load().robot
        with self._hardware.open(settings) as bus:
            goals = standing(robot, settings.joints)
            jogger = ServoJogger(bus, goals, self._pace, self._sleep)
            if not jogger.reports_position:
                self._dialog.say("These servos report no positions: they jump into the pose. Hands off the legs.")
                self._ask("Enter moves them ")
            try:
                jogger.go(goals)
                jogger.settle()
                self._check_positions(settings, goals, jogger.positions(settings.ids))
                self._confirm_pose(settings, robot.leg_names)
            finally:
                jogger.relax()
        return "all legs reach the standing pose"

    def _check_positions(
        self, settings: ServoSettings, goals: Mapping[int, float], positions: Mapping[int, float]
    ) -> None:
        errors = {j.short_name: abs(j.angle(positions[j.id]) - j.angle(goals[j.id])) for j in settings.joints}
        worst = max(errors, key=lambda name: errors[name])
        if errors[worst] > MAX_POSITION_ERROR:
            raise StageError(
                f"{worst} is {math.degrees(errors[worst]):.0f} deg from its goal: is it jammed, its horn loose, or its "
                "limits too narrow?"
            )

    def _confirm_pose(self, settings: ServoSettings, legs: Sequence[str]) -> None:
        """Asks whether all legs look right. Raises StageError that names the joint which does not."""
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
        """Raises the robot from the floor in small steps, and lowers it again."""
        self._confirm("Does the robot lie on its belly on the floor, feet beside it, your hand at the switch?")
        settings, robot = self._settings(), self._load().robot
        watch = LoadWatch(settings.joints, self._progress.voltage)
        with self._hardware.open(settings) as bus:
            jogger = ServoJogger(bus, lying(robot, settings.joints), self._pace, self._sleep)
            result = rise(bus, jogger, robot, settings.joints, watch).result
        if not watch.lowest:
            self._ask_lowest()
        return result

    def _ask_lowest(self) -> None:
        """Asks for the voltage that the multimeter shows, on a bus that reports none."""
        part = Part("voltage", VOLTAGE, robot_keys.SERVO_VOLTAGE)
        (lowest,) = numbers(self._ask("Lowest voltage on the multimeter while it stood: "), (part,))
        unloaded = self._progress.voltage
        if unloaded and lowest < MIN_SHARE * unloaded:
            raise StageError(
                f"the supply falls from {unloaded:g} to {lowest:g} V: use thicker cables or a stronger one"
            )

    def stand_up(self) -> str:
        """Starts the nodes of the robot, stands up and sits down."""
        return self._drive("stand_up", "Did it stand level and sit down again?")

    def step(self) -> str:
        """Makes one step with each leg."""
        return self._drive("step", "Did every foot lift, and none drag?")

    def walk(self) -> str:
        """Walks slowly."""
        return self._drive("walk", "Did it walk straight forward?")

    def _drive(self, motion: str, question: str) -> str:
        self._confirm("Is the robot on a free floor that is not slippery, your hand at the switch?")
        result = self._hardware.drive(self._settings(), motion)
        if not self._agrees(question):
            raise StageError(f"the robot did it, but not as it should: {result}")
        return result

    def relax(self) -> str:
        """Switches the torque of all servos off, in any state. Returns a description of the result."""
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
        """Servo settings of the robot file, else as found on the line; those of the command line come first."""
        protocol, port, baud = self._overrides
        wire = self._progress.wire
        file = self._load()
        if file.servos is None:
            protocol, port = protocol or wire.get("protocol", ""), port or wire.get("port", "")
            baud = baud or int(wire.get("baud", "0"))
        found = servo_settings(file, protocol, port)
        return dataclasses.replace(found, baud=baud or found.baud)

    def _ask(self, question: str) -> str:
        """The answer to a question. Raises Back or Abandoned."""
        return words.ask(self._dialog, question)

    def _agrees(self, question: str) -> bool:
        return words.yes(self._ask(words.question(question, True)), True)

    def _confirm(self, question: str) -> None:
        """Raises StageError if the answer is no."""
        if not self._agrees(question):
            raise StageError("this stage starts once you confirm")
