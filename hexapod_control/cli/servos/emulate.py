# SPDX-License-Identifier: Apache-2.0
"""`hexapod emulate`: emulated servos of a robot on a pseudo terminal, with faults that can be injected at any time."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import select
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from hexapod_control.bringup.process_supervisor import StopSignal, stop_requests
from hexapod_control.cli.bounded_options import CommandFailedError, InputError, add_number
from hexapod_control.cli.servos.bus_access import baud
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.reality import IDEAL, REALITIES, SEED, reality
from hexapod_control.servos.bus.bus_interface import BusError
from hexapod_control.servos.emulated_robot import robot_emulator
from hexapod_control.servos.emulated_robot.robot_emulator import Emulation, FaultCommand, emulate, sensor_bus
from hexapod_control.servos.settings.io_section import io_settings
from hexapod_control.servos.settings.servo_section import LOOPBACK, WIRED, servo_settings

POLL_PERIOD_S = 0.05
SWITCH_INTERVAL_S = 0.0005  # between threads, so that the emulated bus replies in time


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    known = ", ".join(WIRED)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE", help="robot (default: %(default)s)")
    parser.add_argument("--protocol", default="", metavar="P", help=f"{known} (default: the robot file's)")
    parser.add_argument("--link", type=Path, required=True, metavar="PATH", help="symbolic link to create")
    parser.add_argument(
        "--i2c", type=Path, metavar="PATH", help="link to create to an I2C bus with the sensors of the robot file"
    )
    parser.add_argument("--baud", type=baud, metavar="B", help="of the wire (default: the robot file's, or the usual)")
    parser.add_argument(
        "--reality", choices=tuple(REALITIES), default=IDEAL, help="errors of servos and legs (default: %(default)s)"
    )
    add_number(parser, "--reality-seed", SEED)
    parser.add_argument("--fault", action="append", default=[], metavar="F", help="see below; may be given many times")
    rows = [(f"{name}={kind.value}" if kind.value else name, kind.help) for name, kind in robot_emulator.KINDS.items()]
    lines = [f"  {name:15s} {text}" for name, text in rows]
    title = "faults, each with @SECONDS after it if it comes later; the same words are taken on standard input:"
    parser.epilog = "\n".join([*([parser.epilog, ""] if parser.epilog else []), title, *lines])


def run(args: argparse.Namespace) -> int:
    """Emulates until Ctrl-C. Returns 0; 2 for bad input."""
    link = _link("--link", args.link)
    sensors = _link("--i2c", args.i2c) if args.i2c else None
    commands = [_fault_command(text) for text in args.fault]
    file = load(args.robot)
    settings = servo_settings(file, args.protocol, str(link))
    if settings.protocol == LOOPBACK:
        raise InputError("--protocol: must be given, this robot file has no servo bus")
    settings = dataclasses.replace(settings, baud=args.baud or settings.baud)
    io = io_settings(file)
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    with stop_requests() as stop:
        try:
            errors = reality(file.robot, args.reality, args.reality_seed)
            emulation = emulate(file.robot, settings, link, io, errors)
        except BusError as error:
            raise InputError(f"--protocol: {error}") from None
        try:
            delayed = _begin(emulation, commands)
            with sensor_bus(emulation.sensors, sensors) if sensors else contextlib.nullcontext():
                _print(_start_text(args.robot, settings.protocol, settings.baud, link))
                if io.feet and io.feet.chip == "gpio":
                    _print(
                        "The foot switches are on pins of a computer, which are not emulated: remove io.feet meanwhile"
                    )
                failed = _serve(emulation, delayed, stop)
        finally:
            emulation.pty.close()
    if failed:
        raise CommandFailedError(f"{failed} of the faults of --fault could not be injected, for the reasons above")
    return DONE


def _link(option: str, path: Path) -> Path:
    """The absolute path of a link that can be made. Raises InputError."""
    link = Path(os.path.abspath(path))
    if link.exists() and not link.is_symlink():
        raise InputError(f"{option}: {link}: there is something already that is not a link")
    if not os.access(link.parent, os.W_OK):
        raise InputError(f"{option}: {link}: its folder does not exist or cannot be written to")
    return link


def _fault_command(text: str) -> FaultCommand:
    try:
        return robot_emulator.parse_fault(text)
    except ValueError as error:
        raise InputError(f"--fault: {error}") from None


def _begin(emulation: Emulation, commands: Sequence[FaultCommand]) -> list[FaultCommand]:
    """Injects the faults without a delay. Returns the others, sorted by their delay."""
    for command in commands:
        if not command.after:
            try:
                command.act(emulation)
            except ValueError as error:
                raise InputError(f"--fault: {command.name}: {error}") from None
    return sorted((command for command in commands if command.after), key=lambda command: command.after)


def _start_text(robot: str, protocol: str, baud: int, link: Path) -> str:
    name = shlex.quote(robot)
    port = shlex.quote(str(link))
    given = f"servo_protocol:={protocol} servo_port:={port}"
    return "\n".join(
        (
            f"{protocol} servos of {robot} at {baud} baud on {link}; Ctrl-C ends them. Point a driver at them:",
            f"  hexapod robot {name} {given} web:=true",
            f"  hexapod servos --robot {name} --protocol {protocol} --port {port} scan",
            "Faults, and what hands would do, are typed here: hexapod emulate --help lists them.",
        )
    )


def _serve(emulation: Emulation, delayed: list[FaultCommand], stop: StopSignal) -> int:
    """Runs until the program is asked to end; injects faults when they are due or typed on standard input.

    Returns the number of delayed faults that could not be injected.
    """
    start = time.monotonic()
    listening = True
    failed = 0
    while not stop.is_set():
        while delayed and time.monotonic() - start >= delayed[0].after:
            failed += not _act(emulation, delayed.pop(0))
        if not listening:
            stop.wait(POLL_PERIOD_S)
        elif select.select([sys.stdin], [], [], POLL_PERIOD_S)[0]:
            listening = _listen(emulation)
    return failed


def _listen(emulation: Emulation) -> bool:
    """Injects the faults that were typed. Returns False at the end of the input."""
    data = os.read(sys.stdin.fileno(), 4096)
    for line in data.decode(errors="replace").splitlines():
        if line.strip():
            try:
                _act(emulation, dataclasses.replace(robot_emulator.parse_fault(line), after=0.0))
            except ValueError as error:
                _print(str(error))
    return bool(data)


def _act(emulation: Emulation, command: FaultCommand) -> bool:
    """Injects a fault and says so. Returns False, and says why, if that is not possible."""
    try:
        command.act(emulation)
    except ValueError as error:
        _print(f"{command.name}: {error}")
        return False
    _print(f"{command.name}{f'={command.value}' if command.value else ''}")
    return True


def _print(text: str) -> None:
    print(text, flush=True)
