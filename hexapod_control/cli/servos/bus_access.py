# SPDX-License-Identifier: Apache-2.0
"""Opens the servo bus of a robot file for commands that need no servo_driver; positions are in raw units.

A signal that ends such a command raises an exception, once, which lets it switch the torque off.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from hexapod_control.bringup.process_supervisor import StopSignal
from hexapod_control.cli.bounded_options import CommandFailedError, HasArguments, InputError, add_number, number
from hexapod_control.config.errors import END_SIGNALS, signal_exit_code
from hexapod_control.config.robots.robot_file import RobotFile, plausibility_warning
from hexapod_control.config.sentence import Sentence
from hexapod_control.core.posture.stand_up import lying_joints
from hexapod_control.servos.bus.bus_interface import TRIES, Bus, BusError, PortGoneError
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.bus.serial_port import BY_ID, SerialPort, slow_adapter
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.line_search import shared_text, with_findings
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.joint_section import SERVO_ID
from hexapod_control.servos.settings.servo_section import BAUD, LOOPBACK, PACE, WIRED, ServoSettings, servo_settings
from hexapod_control.servos.settings.wiring_rules import wiring_findings

PORTS = ("ttyUSB*", "ttyACM*")  # in /dev
FACTORY_ID = 1  # of a new servo
SCANNED_AT_ONCE = 32  # ids between two lines of progress
MAX_DUPLICATE_CHECKS = 2  # ids of the robot that are checked for duplicates, if nothing responds
REPLY_MARGIN_S = 0.01  # extra time for a late reply; longer than in servo_driver, which has a fixed cycle
baud = number(BAUD)  # the type of `--baud`
servo_id = number(SERVO_ID)  # of any protocol; some protocols have fewer


@dataclass(frozen=True, slots=True)
class ServoAction:
    """The inputs of an action: options, open bus, its settings, robot file and stop signal."""

    args: argparse.Namespace
    bus: Bus
    settings: ServoSettings
    file: RobotFile
    stop: StopSignal

    @property
    def names(self) -> dict[int, str]:
        """Names of the joints by id."""
        return {joint.id: joint.short_name for joint in self.settings.joints}


def add_arguments(parser: HasArguments, default: str | None) -> None:
    """Arguments that select robot, protocol, port and baud."""
    parser.add_argument(
        "--robot", default=default, required=default is None, metavar="NAME|FILE" if default else "FILE", help="robot"
    )
    add_bus_arguments(parser)


def add_bus_arguments(parser: HasArguments) -> None:
    """Arguments that select the bus of a robot."""
    parser.add_argument("--protocol", default="", metavar="P", help="servo bus (default: the robot file's)")
    parser.add_argument("--port", default="", metavar="PATH", help="serial port (default: the robot file's)")
    add_number(parser, "--baud", replace(BAUD, default="the robot file's, or usual"))
    parser.add_argument(
        "--force-model", action="store_true", help="use servos whose model is not one of the protocol's"
    )
    add_number(parser, "--pace", PACE)


def bus_settings(args: argparse.Namespace, file: RobotFile) -> ServoSettings:
    """The bus settings of the robot file, with the given options in place of its values; warns of implausible values.

    Raises RobotFileError, ArgumentError or InputError.
    """
    found = servo_settings(file, args.protocol, args.port)
    if found.protocol == LOOPBACK:
        raise InputError(f"--protocol: must be given, {file.path} has no servo bus; known: {', '.join(WIRED)}")
    if text := plausibility_warning(file, wiring_findings(file)):
        print(f"hexapod: {text}", file=sys.stderr)
    return dataclasses.replace(found, baud=args.baud or found.baud)


def ports() -> list[str]:
    """Serial ports and I2C buses of this computer; serial ones by stable names, if there are any."""
    named = sorted(map(str, BY_ID.iterdir())) if BY_ID.exists() else []
    found = named or sorted(str(port) for pattern in PORTS for port in Path("/dev").glob(pattern))
    return [*found, *sorted(map(str, Path("/dev").glob("i2c-[0-9]")))]


@contextlib.contextmanager
def open_bus(settings: ServoSettings, *, force_model: bool) -> Iterator[Bus]:
    """Opens the bus and closes it at the end; `force_model` accepts servos of any model.

    Raises InputError for a bus that cannot be used, PortGoneError for one that vanishes later.
    """
    row = PROTOCOLS[settings.protocol]
    options: dict[str, Any] = dict(settings.options)
    if "wait" in row.options:
        options["wait"] = ReplyTiming(margin=REPLY_MARGIN_S)
    if "force_model" in row.options:
        options["force_model"] = force_model
    try:
        port = row.connect(settings.port, settings.baud)
        bus = row.open(port, settings.ids, **options)
    except (PortGoneError, BusError, ValueError) as error:
        raise InputError(str(error)) from None
    if isinstance(port, SerialPort) and (text := slow_adapter(port.path, port.latency)):
        print(f"hexapod: {text}", file=sys.stderr)
    try:
        yield bus
    except BusError as error:
        bus.close()
        raise InputError(with_findings(error, settings.protocol, settings.port, settings.baud, settings.ids)) from None
    finally:
        bus.close()


@contextlib.contextmanager
def at_work() -> Iterator[None]:
    """A fault of the servos in the block is a failure of the command, exit code 1, and no bad input."""
    try:
        yield
    except BusError as error:
        raise CommandFailedError(str(error)) from None


def show_progress(text: str) -> None:
    """Replaces the last line of a terminal; nothing elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def scan(bus: Bus, ids: Iterable[int]) -> dict[int, str]:
    """Returns the models by the ids that answer; ids of the robot file are tried several times.

    Raises BusError if no servo answers.
    """
    if not bus.features.servo_ids:
        return dict(bus.identify())
    wanted = tuple(ids)
    found: dict[int, str] = {}
    try:
        for start in range(0, len(wanted), SCANNED_AT_ONCE):
            show_progress(f"id {wanted[start]} ...")
            found |= bus.scan(wanted[start : start + SCANNED_AT_ONCE], 1)
    finally:
        show_progress("")
    found |= bus.scan([i for i in bus.ids if i in wanted and i not in found], TRIES)
    if not found:
        shared = duplicate_ids(bus, [i for i in (FACTORY_ID, *bus.ids[:MAX_DUPLICATE_CHECKS]) if i in wanted])
        if shared:
            raise BusError(shared_text(sorted(set(shared))))
        bus.identify()  # raises with the reason
    return found


def check_models(bus: Bus, servos: Iterable[int]) -> None:
    """Raises BusError if a scanned servo has a model that the protocol cannot control; warns if that is allowed."""
    if warning := bus.check_models(servos):
        print(f"--force-model: {warning}", file=sys.stderr)


def servo_jogger(bus: Bus, settings: ServoSettings, file: RobotFile, pace: float) -> ServoJogger:
    """A ServoJogger at `pace` times the usual speed.

    Servos without position feedback are assumed to be in the lying pose.
    """
    lying = np.ravel(np.array(lying_joints(file.robot))).tolist()
    lying += [extra.rest for extra in file.robot.extra_servos]
    return ServoJogger(
        bus,
        {joint.id: joint.raw(angle) for joint, angle in zip(settings.servos, lying, strict=True)},
        pace,
        place=Sentence("to_the_belly"),
    )


class Interrupted(KeyboardInterrupt):
    """A signal asked the program to end; `exit_code` tells which."""

    def __init__(self, number: int) -> None:
        """`number` of the signal."""
        super().__init__(signal.strsignal(number))
        self.exit_code = signal_exit_code(number)


@contextmanager
def interruptions() -> Iterator[None]:
    """The first of END_SIGNALS raises Interrupted; further ones are ignored while the torque is released."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        for each in END_SIGNALS:
            signal.signal(each, signal.SIG_IGN)
        raise Interrupted(number)

    previous = {number: signal.signal(number, interrupt) for number in END_SIGNALS}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
