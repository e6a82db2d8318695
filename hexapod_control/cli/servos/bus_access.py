"""Opens the servos of a robot file for commands that work without a driver, in raw units."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from hexapod_control.cli.bounded_options import number, whole_number
from hexapod_control.cli.input_error import InputError
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.posture import stand_up
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGone
from hexapod_control.servos.bus.id_addressing import TRIES
from hexapod_control.servos.bus.model_numbers import KnowsModels
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.calibration.hand_positioning import HandPositioning
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import LOOPBACK, ServoSettings, servo_settings

REPLY_MARGIN_S = 0.01  # for late replies; longer than while walking
baud = whole_number(1200, 4_500_000)  # the type of `--baud`
servo_id = whole_number(0, 253)  # of any protocol; the protocol itself may take fewer


@runtime_checkable
class FoundServos(Protocol):
    """A bus whose servos have ids of their own."""

    def scan(self, ids: Iterable[int], tries: int) -> dict[int, str]:
        """Ids that answer, and their models."""

    def ping(self, servo: int) -> str | None:
        """The model of a servo."""

    def set_id(self, old: int, new: int) -> None:
        """Writes a new id into a servo."""


def add_arguments(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Arguments that select robot, protocol, port and baud."""
    parser.add_argument(
        "--robot", default=default, required=default is None, metavar="NAME|FILE" if default else "FILE", help="robot"
    )
    parser.add_argument("--protocol", default="", metavar="P", help="servo bus (default: the robot file's)")
    parser.add_argument("--port", default="", metavar="PATH", help="serial port (default: the robot file's)")
    parser.add_argument("--baud", type=baud, default=0, metavar="B", help="baud (default: the robot file's, or usual)")
    parser.add_argument(
        "--force-model", action="store_true", help="use servos whose model is not one of the protocol's"
    )
    parser.add_argument(
        "--pace",
        type=number(0.1, 50.0),
        default=1.0,
        metavar="X",
        help="factor on the speed of moves (default: %(default)g)",
    )


def settings(args: argparse.Namespace, file: RobotFile) -> ServoSettings:
    """The settings that the arguments lead to. Raises RobotFileError, ArgumentError or InputError."""
    found = servo_settings(file, args.protocol, args.port)
    if found.protocol == LOOPBACK:
        known = ", ".join(name for name in PROTOCOLS if name != LOOPBACK)
        raise InputError(f"--protocol: must be given, {file.path} has no servo bus; known: {known}")
    return dataclasses.replace(found, baud=args.baud or found.baud)


@contextlib.contextmanager
def opened(found: ServoSettings, *, force_model: bool) -> Iterator[Bus]:
    """The open bus; `force_model` accepts any model.

    Raises InputError for a bus that cannot be used, PortGone for one that vanishes later.
    """
    row = PROTOCOLS[found.protocol]
    options: dict[str, Any] = dict(found.options)
    if "wait" in row.options:
        options["wait"] = ReplyTiming(margin=REPLY_MARGIN_S)
    if "force_model" in row.options:
        options["force_model"] = force_model
    try:
        bus = row.open(SerialPort(found.port, found.baud), found.ids, **options)
    except (PortGone, BusError, ValueError) as error:
        raise InputError(str(error)) from None
    try:
        yield bus
    except BusError as error:
        raise InputError(str(error)) from None
    finally:
        bus.close()


def scanned(bus: Bus, ids: Iterable[int]) -> dict[int, str]:
    """Ids that answer, and their models; ids of the robot file are asked repeatedly. Raises BusError if none does."""
    if not isinstance(bus, FoundServos):
        return dict(bus.identify())
    wanted = tuple(ids)
    found = bus.scan(wanted, 1)
    found |= bus.scan([i for i in bus.ids if i in wanted and i not in found], TRIES)
    if not found:
        bus.identify()  # raises with the reason
    return found


def check_models(bus: Bus, servos: Iterable[int]) -> None:
    """Raises BusError if servos that were scanned are of another kind; if that is forced, says so."""
    if isinstance(bus, KnowsModels):
        bus.models.check(servos)
        if bus.models.warning:
            print(f"--force-model: {bus.models.warning}", file=sys.stderr)


def manual(bus: Bus, found: ServoSettings, file: RobotFile, pace: float) -> HandPositioning:
    """Moves for single servos; those without position are assumed where a robot on its belly has them."""
    footholds = [leg.foothold for leg in file.robot.legs]
    row = np.ravel(
        np.array(joints_at_offset(file.robot, footholds, stand_up.lying_offset(file.robot, footholds)))
    ).tolist()
    return HandPositioning(
        bus, {joint.id: joint.raw(angle) for joint, angle in zip(found.joints, row, strict=True)}, pace
    )
