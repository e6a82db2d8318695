# SPDX-License-Identifier: Apache-2.0
"""`hexapod calibrate`: guided calibration in the terminal; the robot file is written once, at the end."""

from __future__ import annotations

import argparse
import contextlib

from hexapod_control.cli.bounded_options import InputError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.bus_access import Interrupted, interruptions
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import own_file
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.bus.id_addressing import duplicate_ids
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.calibration.guide import STEPS
from hexapod_control.servos.calibration.progress_file import ProgressFile
from hexapod_control.servos.calibration.session import CalibrationSession, parse_steps
from hexapod_control.servos.line_search import shared_text
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import ServoSettings

FIRST_IDS = 33  # ids below this are scanned first: robots use small ids


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    bus_access.add_arguments(parser, None)
    parser.add_argument(
        "--steps", default=",".join(STEPS), metavar="S,S", help="steps to take (default: %(default)s), after a scan"
    )


def run(args: argparse.Namespace) -> int:
    """Runs the calibration. Returns 0 if saved, 1 if not, 128 + number of the signal that ended it."""
    path = own_file(args.robot)
    try:
        steps = parse_steps(args.steps)
    except ValueError as error:
        raise InputError(f"--steps: {error}") from None
    file = load(path)
    settings = bus_access.bus_settings(args, file)
    progress = ProgressFile(path, settings)
    try:
        with interruptions(), bus_access.open_bus(settings, force_model=args.force_model) as bus:
            session = CalibrationSession(
                bus, _scanned(bus, settings), settings, file, TerminalDialog(), args.pace, progress
            )
            with bus_access.at_work():
                session.run(steps)
    except (Abandoned, Interrupted) as end:
        hint = f"; the answers so far are in {progress.path} and offered next time" if progress.path.exists() else ""
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(f"\nnothing was saved{hint}; torque is off", flush=True)
        return end.exit_code if isinstance(end, Interrupted) else FAILED
    return DONE


def _scanned(bus: Bus, settings: ServoSettings) -> dict[int, str]:
    """Returns the models of all servos by id. Raises InputError if there are fewer servos than joints."""
    known = PROTOCOLS[settings.protocol].ids
    usual = [i for i in known if i < FIRST_IDS or i in settings.ids]
    there = bus_access.scan(bus, usual)
    if len(there) < len(settings.joints):
        there |= bus_access.scan(bus, [i for i in known if i not in usual])
    if len(there) < len(settings.joints):
        missing = [i for i in settings.ids if i not in there]
        if shared := duplicate_ids(bus, missing):
            raise InputError(shared_text(shared))
        named = ", ".join(map(str, missing))
        raise InputError(
            f"{len(settings.joints)} servos are needed; no answer from ids {named}: check cables and power"
        )
    bus_access.check_models(bus, there)
    return there
