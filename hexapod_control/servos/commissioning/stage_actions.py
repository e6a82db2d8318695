"""The actions of the commissioning stages."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.draft.questions.units import VOLTAGE, Part, numbers
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.config.robots.servo_table import permitted, version_for, versions
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.bus.bus_interface import Bus, BusError
from hexapod_control.servos.calibration.assign_ids import USUAL_IDS, IdAssignment
from hexapod_control.servos.calibration.dialog import DONE, Choice, Dialog, Prompt, Typed, agreed, name, yes_or_no
from hexapod_control.servos.calibration.progress_file import ProgressFile
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.calibration.session import CalibrationSession, check_ranges
from hexapod_control.servos.commissioning.stages import BY_KEY, CommissioningProgress, StageError
from hexapod_control.servos.commissioning.weight_test import MIN_SHARE, LoadWatch, lying, rise, standing
from hexapod_control.servos.line_search import LineFinding
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_section import JointWordsError, joint_row
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

ALL_DO = Choice(("", "y", "yes"), Sentence("all_do"))
MAX_POSITION_ERROR = math.radians(5.0)  # [rad] of a joint without load


class Hardware(Protocol):
    """The bus, the ports of the computer, and the nodes of the robot."""

    def open(self, settings: ServoSettings) -> AbstractContextManager[Bus]:
        """An open bus. Raises PortGoneError or BusError."""

    def ports(self) -> Sequence[str]:
        """Serial ports and I2C buses of this computer."""

    def findings(self, port: str) -> Sequence[LineFinding]:
        """The servos and boards that answer on a port, at all baud rates and with all protocols."""

    def drive(self, settings: ServoSettings, motion: str) -> Sentence:
        """Starts the nodes, performs a motion (stand_up, step or walk), and sits down. Returns its result.

        Raises StageError.
        """


class StageActions:
    """One method per stage of one robot. It returns the result for the report, and raises StageError on failure."""

    def __init__(
        self,
        load: Callable[[], RobotFile],
        overrides: tuple[str, str, int],
        progress: CommissioningProgress,
        hardware: Hardware,
        dialog: Dialog,
        pace: float,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`overrides`: protocol, port and baud from the command line; empty or 0 for those of the file.

        `pace` is a factor on the speed of moves.
        """
        self._load = load
        self._overrides = overrides
        self._progress = progress
        self._hardware = hardware
        self._dialog = dialog
        self._pace = pace
        self._sleep = sleep
        self.by_key: Mapping[str, Callable[[], Sentence]] = {key: getattr(self, key) for key in BY_KEY}

    # --- before the servos ---------------------------------------------------------------------------

    def stand(self) -> Sentence:
        """Asks whether the robot is on a stand."""
        self._confirm(Sentence("feet_free"))
        return Sentence("on_a_stand")

    def supply(self) -> Sentence:
        """Asks for the measured voltage and checks that it suits the servos."""
        model = self._load().servo_model
        volts = self._voltage(Sentence("voltage"))
        if versions(model) and version_for(model, volts) is None:
            raise StageError(Sentence("wrong_voltage", volts=volts, model=model, permitted=permitted(model)))
        self._progress.voltage = volts
        return Sentence("voltage_without_load", volts=volts)

    # --- the bus ----------------------------------------------------------------------------------------

    def bus(self) -> Sentence:
        """Checks that servos or boards answer; searches the port if the protocol is not known yet."""
        if self._settings().protocol == LOOPBACK:
            self._find()
        settings = self._settings()
        with self._hardware.open(settings) as bus:
            if not bus.features.servo_ids:
                bus.identify()
                return Sentence("board_answers", board=PROTOCOLS[settings.protocol].title, port=settings.port)
            found = bus.scan(USUAL_IDS, 2)
        return Sentence(
            "servos_answer",
            count=len(found),
            models=", ".join(sorted(set(found.values()))) or Sentence("none_understood"),
            protocol=settings.protocol,
            baud=settings.baud,
            port=settings.port,
        )

    def _find(self) -> None:
        """Asks for the port if there are several, and searches it for servos and boards."""
        _, port, _ = self._overrides
        if not port:
            ports = self._hardware.ports()
            if not ports:
                raise StageError(Sentence("no_port"))
            port = ports[0] if len(ports) == 1 else self._which_port(ports)
        self._dialog.say(Sentence("searching", port=port))
        found = [each for each in self._hardware.findings(port) if each.protocol]
        for each in found:
            kind = "board_found" if each.board else "servos_found"
            models = ", ".join(sorted(set(each.servos.values())))
            values = {"baud": each.baud, "protocol": each.protocol, "count": len(each.servos), "models": models}
            self._dialog.say(Sentence(kind, finding=each.text, board=each.board, **values))
        if not found:
            raise StageError(Sentence("port_silent", port=port))
        best = max(found, key=lambda each: len(each.servos) + len(each.shared))
        self._progress.wire = {"protocol": best.protocol, "port": port, "baud": str(best.baud)}

    def _which_port(self, ports: Sequence[str]) -> str:
        question = Sentence("which_port", ports=", ".join(ports))
        choices = tuple(Choice((port,), Sentence.of(port)) for port in ports)
        answer = self._dialog.ask(Prompt(question, choices, hint=ports[0]))
        return answer if isinstance(answer, str) else answer.word

    def ids(self) -> Sentence:
        """Checks that the servo of every joint answers; assigns ids to new servos."""
        settings = self._settings()
        with self._hardware.open(settings) as bus:
            if not bus.features.servo_ids:
                return Sentence("no_ids")
            missing = _missing(bus, settings)
            question = Sentence("new_servos", count=len(missing))
            if missing and self._agrees(question):
                IdAssignment(bus, settings.joints, PROTOCOLS[settings.protocol].ids, self._dialog).run()
                missing = _missing(bus, settings)
        if missing:
            raise StageError(Sentence("servos_silent", servos=", ".join(missing)))
        return Sentence("ids_assigned", count=len(settings.joints))

    # --- calibration ------------------------------------------------------------------------------------

    def joints(self) -> Sentence:
        """Finds out the servos and signs of all joints."""
        return self._calibrate("wiggle", "check")

    def calibration(self) -> Sentence:
        """Captures a pose with known angles, and the scale of hobby servos."""
        return self._calibrate("rest", "marks")

    def limits(self) -> Sentence:
        """Measures the mechanical stops."""
        return self._calibrate("limits")

    def _calibrate(self, *steps: str) -> Sentence:
        file, settings = self._load(), self._settings()
        try:
            check_ranges(settings)
        except ValueError as error:
            raise StageError(Sentence.of(error)) from None
        with self._hardware.open(settings) as bus:
            models = dict(bus.identify())
            saved = ProgressFile(file.path, settings)
            CalibrationSession(bus, models, settings, file, self._dialog, self._pace, saved, self._sleep).run(steps)
        named = Sentence("steps_" + "_".join(steps))
        return Sentence("steps_saved", steps=named, file=file.path.name)

    # --- motion --------------------------------------------------------------------------------------------

    def pose(self) -> Sentence:
        """Moves all legs to the standing pose in the air."""
        settings = self._settings()
        robot = self._load().robot
        with self._hardware.open(settings) as bus:
            goals = standing(robot, settings.joints)
            jogger = ServoJogger(bus, goals, self._pace, self._sleep)
            if not jogger.reports_position:
                self._dialog.say(Sentence("will_jump"))
                self._dialog.ask(Prompt(Sentence("move_them"), (DONE,)))
            try:
                jogger.go(goals)
                jogger.settle()
                self._check_positions(settings, goals, jogger.positions(settings.ids))
                self._confirm_pose(settings, robot.leg_names)
            finally:
                jogger.relax()
        return Sentence("pose_reached")

    def _check_positions(
        self, settings: ServoSettings, goals: Mapping[int, float], positions: Mapping[int, float]
    ) -> None:
        errors = {j.short_name: abs(j.angle(positions[j.id]) - j.angle(goals[j.id])) for j in settings.joints}
        worst = max(errors, key=lambda joint: errors[joint])
        if errors[worst] > MAX_POSITION_ERROR:
            raise StageError(Sentence("joint_off_pose", joint=name(worst), degrees=math.degrees(errors[worst])))

    def _confirm_pose(self, settings: ServoSettings, legs: Sequence[str]) -> None:
        """Asks whether all legs look right. Raises StageError that names the joint which does not."""
        question = Sentence("legs_like_picture")
        answer = self._dialog.ask(Prompt(question, (ALL_DO,), Typed.JOINT))
        if not isinstance(answer, str):
            return
        try:
            row = joint_row(answer, legs)
        except JointWordsError as error:
            raise StageError(Sentence("no_joint_to_repeat", reason=Sentence.of(error))) from None
        raise StageError(Sentence("joint_looks_wrong", joint=name(settings.joints[row].short_name)))

    def weight(self) -> Sentence:
        """Raises the robot from the floor in small steps, and lowers it again."""
        self._confirm(Sentence("on_its_belly"))
        settings = self._settings()
        robot = self._load().robot
        watch = LoadWatch(settings.joints, self._progress.voltage)
        with self._hardware.open(settings) as bus:
            jogger = ServoJogger(bus, lying(robot, settings.joints), self._pace, self._sleep)
            result = rise(bus, jogger, robot, settings.joints, watch).result
        if not watch.lowest:
            self._ask_lowest()
        return result

    def _ask_lowest(self) -> None:
        """Asks for the voltage that the multimeter shows, on a bus that reports none."""
        lowest = self._voltage(Sentence("lowest_voltage"))
        unloaded = self._progress.voltage
        if unloaded and lowest < MIN_SHARE * unloaded:
            raise StageError(Sentence("measured_supply_falls", unloaded=unloaded, lowest=lowest))

    def stand_up(self) -> Sentence:
        """Starts the nodes of the robot, stands up and sits down."""
        return self._drive("stand_up", Sentence("stood_level"))

    def step(self) -> Sentence:
        """Makes one step with each leg."""
        return self._drive("step", Sentence("feet_lifted"))

    def walk(self) -> Sentence:
        """Walks slowly."""
        return self._drive("walk", Sentence("walked_straight"))

    def _drive(self, motion: str, question: Sentence) -> Sentence:
        self._confirm(Sentence("on_free_floor"))
        result = self._hardware.drive(self._settings(), motion)
        if not self._agrees(question):
            raise StageError(Sentence("not_as_it_should", result=result))
        return result

    def relax(self) -> Sentence:
        """Switches the torque of all servos off, in any state. Returns a description of the result."""
        try:
            settings = self._settings()
            if settings.protocol == LOOPBACK:
                return Sentence("no_servo_yet")
            with self._hardware.open(settings) as bus:
                bus.relax()
        except (BusError, RobotFileError, OSError) as error:
            return Sentence("torque_off_failed", error=Sentence.of(error))
        return Sentence("torque_off_sent")

    # --- questions ------------------------------------------------------------------------------------------

    def _settings(self) -> ServoSettings:
        """Servo settings of the robot file, else as found on the line; those of the command line come first."""
        protocol, port, baud = self._overrides
        wire = self._progress.wire
        file = self._load()
        if file.servos is None:
            protocol = protocol or wire.get("protocol", "")
            port = port or wire.get("port", "")
            baud = baud or int(wire.get("baud", "0"))
        found = servo_settings(file, protocol, port)
        return dataclasses.replace(found, baud=baud or found.baud)

    def _voltage(self, question: Sentence) -> float:
        """A voltage [V] that the operator measures. Raises AnswerError."""
        answer = self._dialog.ask(Prompt(question, typed=Typed.TEXT))
        part = Part("voltage", VOLTAGE, robot_keys.SERVO_VOLTAGE)
        (volts,) = numbers(answer if isinstance(answer, str) else answer.word, (part,))
        return volts

    def _agrees(self, question: Sentence) -> bool:
        return agreed(self._dialog.ask(yes_or_no(question, True)))

    def _confirm(self, question: Sentence) -> None:
        """Raises StageError if the answer is no."""
        if not self._agrees(question):
            raise StageError(Sentence("not_confirmed"))


def _missing(bus: Bus, settings: ServoSettings) -> list[str]:
    found = bus.scan(settings.ids, 3)
    return [f"{j.short_name} (id {j.id})" for j in settings.joints if j.id not in found]
