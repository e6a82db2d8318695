# SPDX-License-Identifier: Apache-2.0
"""The actions of the commissioning stages."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots import robot_keys
from hexapod_control.config.robots.draft.questions.units import VOLTAGE, AnswerError, Part, numbers
from hexapod_control.config.robots.robot_file import RobotFile, from_text
from hexapod_control.config.robots.servo_table import permitted, servo_table, usual_voltage, version_for, versions
from hexapod_control.config.section_writer import save_text, with_values
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.core.names import quoted
from hexapod_control.servos.bus.bus_interface import Bus, BusError, ServoQuantity
from hexapod_control.servos.calibration.assign_ids import USUAL_IDS, IdAssignment
from hexapod_control.servos.calibration.calibration_state import resting
from hexapod_control.servos.calibration.dialog import DONE, Back, Choice, Dialog, Prompt, Typed, agreed, name, yes_or_no
from hexapod_control.servos.calibration.identification import (
    IdentificationDialog,
    NotIdentifiedError,
    StandRecorder,
    require_reported,
)
from hexapod_control.servos.calibration.progress_file import ProgressFile
from hexapod_control.servos.calibration.self_calibration import NotCalibratedError, SelfCalibration, require_angles
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.calibration.session import CalibrationSession
from hexapod_control.servos.commissioning.board_channels import ask_channels, on_channels
from hexapod_control.servos.commissioning.sensor_questions import SensorContext, SensorQuestions
from hexapod_control.servos.commissioning.stages import BY_KEY, CommissioningProgress, StageError
from hexapod_control.servos.commissioning.weight_test import MIN_SHARE, LoadWatch, lying, rise, standing
from hexapod_control.servos.line_search import LineFinding
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.protocols.pca9685 import MAX_BOARDS, board_addresses
from hexapod_control.servos.settings.io_section import I2C_SERVOS, io_settings
from hexapod_control.servos.settings.joint_section import JointWordsError, joint_row
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

OTHER_MODEL = Choice(("other",), Sentence("other_model"))
EXAMPLE_V = 7.4  # of two lithium cells
NEW = Choice(("new", "y", "yes"), Sentence("they_are_new"))
RETRY = Choice(("r", "retry", "n", "no"), Sentence("try_again"))
ALL_DO = Choice(("", "y", "yes"), Sentence("all_do"))
# voltage at rest over that in the robot file, without a question: of a discharged and of a full battery
LOW_SHARE = 0.92
HIGH_SHARE = 1.16
MAX_POSITION_ERROR = math.radians(5.0)  # [rad] of a joint without load


class Hardware(Protocol):
    """The bus, the ports of the computer, and the nodes of the robot."""

    def open(self, settings: ServoSettings) -> AbstractContextManager[Bus]:
        """An open bus. Raises PortGoneError or BusError."""

    def ports(self) -> Sequence[str]:
        """Serial ports and I2C buses of this computer."""

    def boards(self, port: str) -> Sequence[int]:
        """The addresses of the PCA9685 boards on an I2C bus. Raises PortGoneError or BusError."""

    def chips(self, bus: str) -> Mapping[str, int]:
        """The addresses of the sensors that answer on an I2C bus, by the name of their chip; none without the bus."""

    def findings(self, port: str) -> Sequence[LineFinding]:
        """The servos and boards that answer on a port, at all baud rates and with all protocols."""

    def drive(self, settings: ServoSettings, motion: str) -> Sentence:
        """Starts the nodes, performs a motion (stand_up, step or walk), and sits down. Returns its result.

        Raises StageError.
        """

    def tour(self, path: Path, settings: ServoSettings, tour: PoseTour) -> None:
        """Starts the nodes, takes the robot of a file through a tour, and sits down. Raises StageError."""


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

    # --- the bus ----------------------------------------------------------------------------------------

    def bus(self) -> Sentence:
        """Checks that servos or boards answer, and which; searches the port if the protocol is not known yet."""
        if self._settings().protocol == LOOPBACK:
            self._find()
        settings = self._settings()
        if PROTOCOLS[settings.protocol].board_size:
            self._ask_channels(settings)
            settings = self._settings()
        with self._hardware.open(settings) as bus:
            if not bus.features.servo_ids:
                bus.identify()
            found = bus.scan(USUAL_IDS, 2)
        self._ask_model(settings.protocol, found)
        if PROTOCOLS[settings.protocol].board_size:
            return Sentence("board_answers", board=PROTOCOLS[settings.protocol].title, port=settings.port)
        return Sentence(
            "servos_answer",
            count=len(found),
            models=", ".join(sorted(set(found.values()))) or Sentence("none_understood"),
            protocol=settings.protocol,
            baud=settings.baud,
            port=settings.port,
        )

    def _ask_channels(self, settings: ServoSettings) -> None:
        """Asks which channels of the boards have a servo."""
        addresses = self._hardware.boards(settings.port) if settings.protocol == I2C_SERVOS else []
        if settings.protocol == I2C_SERVOS and not addresses:
            raise StageError(Sentence("no_board", port=settings.port))
        in_file = dict(settings.options).get("addresses")
        ordered = [*(in_file if isinstance(in_file, tuple) else ()), *addresses]  # the ids of the file stay as they are
        addresses = list(dict.fromkeys(ordered))[:MAX_BOARDS]
        ids = settings.ids if self._load().servos is not None or "ids" in self._progress.wire else ()
        boards = [f"0x{address:02X}" for address in addresses] or [PROTOCOLS[settings.protocol].title]
        self._dialog.say(Sentence("boards_found", boards=", ".join(boards), joints=len(settings.joints)))
        size = PROTOCOLS[settings.protocol].board_size
        found = ask_channels(self._dialog, boards, size, len(settings.joints), ids)
        self._progress.wire["ids"] = " ".join(map(str, found))
        self._progress.wire["addresses"] = " ".join(map(str, addresses))

    def _ask_model(self, protocol: str, found: Mapping[int, str]) -> None:
        """Asks for the model of the servos unless those found are that of the robot file, and writes another one."""
        file = self._load()
        kind = "pwm" if PROTOCOLS[protocol].board_size else protocol
        known = list(dict.fromkeys(servo.model for servo in servo_table() if servo.protocol == kind))
        models = set(found.values())
        if models == {file.servo_model}:
            self._progress.wire["model"] = file.servo_model
            return
        answering = [model for model in known if {model} == models]
        likely = next((model for model in (*answering, file.servo_model) if model in known), "")
        choices = (Choice((likely,), Sentence.of(likely)), OTHER_MODEL) if likely else (OTHER_MODEL,)
        found_models = ", ".join(sorted(models)) or kind
        question = Sentence("which_model", model=file.servo_model, found=found_models, known=", ".join(known))
        answer: Choice | str = ""
        while isinstance(answer, str) and answer not in known:
            answer = self._dialog.ask(Prompt(question, choices, Typed.TEXT, hint=choices[0].word))
            if isinstance(answer, str) and answer not in known:
                answer = next((model for model in known if model.lower() == answer.lower()), answer)
                if answer not in known:
                    self._dialog.say(Sentence("unknown_model", answer=quoted(answer), known=", ".join(known)))
        model = answer if isinstance(answer, str) else "" if answer is OTHER_MODEL else likely
        self._progress.wire["model"] = model
        if model and model != file.servo_model:
            self._write_model(file, model, usual_voltage(model))

    def _write_model(self, file: RobotFile, model: str, voltage: float) -> None:
        """Writes the model of the servos and their voltage into the robot file, unless it would be refused."""
        servo = {"model": model, "voltage": voltage}
        try:
            text = with_values(read_text(file.path, newline=""), dict.fromkeys(_servo_sections(file), servo))
            save_text(file.path, text, "servo")
            self._dialog.say(Sentence("model_written", model=model, voltage=voltage, file=file.path.name))
        except RobotFileError as error:
            self._dialog.say(Sentence("model_not_written", model=model, reason=Sentence.of(error)))

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
            new = len(_missing(bus, settings)) > len(settings.joints) // 2  # until they have got their ids
            while missing := _missing(bus, settings):
                if new:
                    question = Sentence("new_servos", count=len(missing), joints=len(settings.joints))
                else:
                    question = Sentence("servos_silent", servos=", ".join(missing))
                answer = self._dialog.ask(Prompt(question, (NEW, RETRY) if new else (RETRY, NEW)))
                new = False
                if answer is NEW:
                    with contextlib.suppress(Back):
                        IdAssignment(bus, settings.joints, PROTOCOLS[settings.protocol].ids, self._dialog).run()
        return Sentence("ids_assigned", count=len(settings.joints))

    def supply(self) -> Sentence:
        """Asks for the measured voltage and checks that it suits the servos."""
        model = self._progress.wire.get("model", self._load().servo_model)
        volts = self._voltage(Sentence("voltage", volts=_usual_voltage(model)))
        if versions(model) and version_for(model, volts) is None:
            raise StageError(Sentence("wrong_voltage", volts=volts, model=model, permitted=permitted(model)))
        file = self._load()
        intended = _servo_voltage(file)
        unlike = model == file.servo_model and not LOW_SHARE * intended <= volts <= HIGH_SHARE * intended
        if intended and unlike and not self._agrees(Sentence("other_voltage", volts=volts, intended=intended), False):
            raise StageError(Sentence("set_supply", intended=intended))
        self._progress.voltage = volts
        sold_for_several = version_for(model, volts) is not version_for(model, intended)
        if model == file.servo_model and (sold_for_several or (intended and unlike)):
            self._write_model(file, model, volts)
        return Sentence("voltage_without_load", volts=volts)

    # --- calibration ------------------------------------------------------------------------------------

    def joints(self) -> Sentence:
        """Finds out the servos and signs of all joints."""
        return self._calibrate("wiggle", "check")

    def calibration(self) -> Sentence:
        """Captures a pose with known angles, the scale of hobby servos, and the feet on printed dots."""
        return self._calibrate("rest", "marks", "dots")

    def limits(self) -> Sentence:
        """Measures the mechanical stops."""
        return self._calibrate("limits")

    def _calibrate(self, *steps: str) -> Sentence:
        file, settings = self._load(), self._settings()
        with self._hardware.open(settings) as bus:
            models = dict(bus.identify())
            saved = ProgressFile(file.path, settings)
            session = CalibrationSession(bus, models, settings, file, self._dialog, self._pace, saved, self._sleep)
            changed = session.run(steps)
        if not changed:
            return Sentence("nothing_changed", file=file.path.name)
        named = Sentence(f"steps_{'_'.join(steps)}")
        return Sentence("steps_saved", steps=named, file=file.path.name)

    def sensors(self) -> Sentence:
        """Asks for the sensors, and writes them with the thresholds of the battery into the robot file."""
        file = self._load()
        context = self._sensor_context(file)
        section, battery = SensorQuestions(self._dialog, context).ask()
        has_section = "io" in file.document.children
        if not section and not battery and not has_section:
            return Sentence("no_sensors")
        changes: dict[tuple[str, ...], object] = {}
        if section or has_section:
            changes["io",] = section or {"bus": context.bus}
        if battery and file.servos is not None:
            changes["servos", "battery"] = battery
        text = with_values(read_text(file.path, newline=""), changes)
        try:
            io_settings(from_text(file.path, text))
            save_text(file.path, text, "io")
        except RobotFileError as error:
            raise StageError(Sentence("sensors_refused", reason=Sentence.of(error))) from None
        return Sentence("sensors_saved", file=file.path.name)

    def _sensor_context(self, file: RobotFile) -> SensorContext:
        settings = self._settings()
        io = io_settings(file)
        i2c_servos = settings.protocol == I2C_SERVOS
        buses = [settings.port] if i2c_servos else [port for port in self._hardware.ports() if "i2c" in port]
        bus = io.bus if any(io.devices()) or not buses else buses[0]
        boards = board_addresses(settings.ids, dict(settings.options)) if i2c_servos else ()
        chips = {chip: address for chip, address in self._hardware.chips(bus).items() if address not in boards}
        with self._hardware.open(settings) as servos:
            reported = settings.protocol != LOOPBACK and bool(servos.can_read & ServoQuantity.VOLTAGE)
        supply = self._progress.voltage or _servo_voltage(file) or _usual_voltage(file.servo_model)
        return SensorContext(file.robot.leg_names, io, chips, bus, settings.protocol, supply, reported)

    # --- motion --------------------------------------------------------------------------------------------

    def pose(self) -> Sentence:
        """Moves all legs to the standing pose in the air."""
        settings = self._settings()
        robot = self._load().robot
        with self._hardware.open(settings) as bus:
            goals = standing(robot, settings.joints)
            rest = {
                j.id: float(j.goal(angle)) for j, angle in zip(settings.joints, resting(settings.joints), strict=True)
            }
            jogger = ServoJogger(bus, rest, self._pace, self._sleep)
            if not jogger.reports_position:
                self._dialog.say(Sentence("legs_move_slowly"))
                self._dialog.ask(Prompt(Sentence("hands_off"), (DONE,)))
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

    def identify(self) -> Sentence:
        """The robot on its stand measures its servos."""
        file = self._load()
        settings = self._settings()
        try:
            require_reported(settings)
        except NotIdentifiedError as error:
            return Sentence.of(error)
        with self._hardware.open(settings) as bus:
            jogger = ServoJogger(bus, {}, self._pace, self._sleep)
            recorder = StandRecorder(bus, jogger, file.robot, settings.joints, sleep=self._sleep)
            try:
                return IdentificationDialog(file, settings, recorder, self._dialog).run()
            except NotIdentifiedError as error:
                raise StageError(Sentence.of(error)) from None

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

    def measure(self) -> Sentence:
        """The robot measures its joint zeros and lengths on its own feet."""
        try:
            require_angles(self._settings())
        except NotCalibratedError as error:
            return Sentence.of(error)
        try:
            return SelfCalibration(self._load, self._settings, self._hardware.tour, self._dialog).run()
        except NotCalibratedError as error:
            raise StageError(Sentence.of(error)) from None

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
        found = dataclasses.replace(found, baud=baud or found.baud)
        if wire.get("ids") and PROTOCOLS[found.protocol].board_size:
            ids, addresses = ([int(each) for each in wire[key].split()] for key in ("ids", "addresses"))
            return on_channels(found, ids, addresses, keep=file.servos is not None)
        return found

    def _voltage(self, question: Sentence) -> float:
        """A voltage [V] that the operator measures; what is none is asked again."""
        part = Part("voltage", VOLTAGE, robot_keys.SERVO_VOLTAGE)
        while True:
            answer = self._dialog.ask(Prompt(question, typed=Typed.TEXT))
            try:
                (volts,) = numbers(answer if isinstance(answer, str) else answer.word, (part,))
            except AnswerError as error:
                self._dialog.say(Sentence.of(error))
            else:
                return volts

    def _agrees(self, question: Sentence, default: bool = True) -> bool:
        return agreed(self._dialog.ask(yes_or_no(question, default)))

    def _confirm(self, question: Sentence) -> None:
        """Raises StageError if the answer is no."""
        if not self._agrees(question):
            raise StageError(Sentence("not_confirmed"))


def _missing(bus: Bus, settings: ServoSettings) -> list[str]:
    found = bus.scan(settings.ids, 3)
    return [f"{j.short_name} (id {j.id})" for j in settings.joints if j.id not in found]


def _usual_voltage(model: str) -> float:
    """A supply [V] of a servo."""
    return usual_voltage(model) if versions(model) else EXAMPLE_V


def _servo_sections(file: RobotFile) -> list[tuple[str, ...]]:
    """The keys of all sections `servo` of a robot file."""
    legs = file.document.children["legs"].children
    own: list[tuple[str, ...]] = [("legs", leg, "servo") for leg in legs if "servo" in legs[leg].children]
    return own if len(own) == len(legs) else [("leg", "servo"), *own]


def _servo_voltage(file: RobotFile) -> float:
    """The voltage [V] of the servos in a robot file, 0 if it has none."""
    entry = file.document
    for key in (*_servo_sections(file)[0], "voltage"):
        if key not in entry.children:
            return 0.0
        entry = entry.children[key]
    return float(str(entry.value))
