"""`hexapod calibrate`: the guided calibration in the terminal, saved into the robot file at the end or not at all."""

from __future__ import annotations

import argparse
import contextlib
import os
import select
import sys
from collections.abc import Callable

from hexapod_control.cli.input_error import InputError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.interruption import Interrupted, interruptions
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import own_file
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.calibration.guide import STEPS
from hexapod_control.servos.calibration.progress_file import ProgressFile
from hexapod_control.servos.calibration.session import CalibrationSession, check_ranges, chosen
from hexapod_control.servos.protocol_registry import PROTOCOLS
from hexapod_control.servos.settings.servo_section import ServoSettings

POLL_PERIOD_S = 0.05
FIRST_IDS = 33  # are looked at before all others


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    bus_access.add_arguments(parser, None)
    parser.add_argument(
        "--steps", default=",".join(STEPS), metavar="S,S", help="steps to take (default: %(default)s), after a scan"
    )


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand. Returns 0 saved, 1 not saved, 2 bad input, 128 + number of a signal."""
    path = own_file(args.robot)
    try:
        steps = chosen(args.steps)
    except ValueError as error:
        raise InputError(f"--steps: {error}") from None
    file = load(path)
    found = bus_access.settings(args, file)
    try:
        check_ranges(found)
    except ValueError as error:
        raise InputError(f"--robot: {error}") from None
    progress = ProgressFile(path, found)
    try:
        with interruptions(), bus_access.opened(found, force_model=args.force_model) as bus:
            CalibrationSession(bus, _scanned(bus, found), found, file, TerminalDialog(), args.pace, progress).run(steps)
    except (Abandoned, Interrupted) as end:
        kept = f"; the answers so far are in {progress.path} and offered next time" if progress.path.exists() else ""
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(f"\nnothing was saved{kept}", flush=True)
        return end.exit_code if isinstance(end, Interrupted) else 1
    return 0


def _scanned(bus: Bus, found: ServoSettings) -> dict[int, str]:
    """Ids and models of all servos. Raises InputError if those of a robot are not among them."""
    known = PROTOCOLS[found.protocol].ids
    usual = [i for i in known if i < FIRST_IDS or i in found.ids]
    there = bus_access.scanned(bus, usual)
    if len(there) < len(found.joints):
        there |= bus_access.scanned(bus, [i for i in known if i not in usual])
    if len(there) < len(found.joints):
        missing = ", ".join(str(i) for i in found.ids if i not in there)
        raise InputError(f"{len(found.joints)} servos are needed; no answer from ids {missing}: check cables and power")
    bus_access.check_models(bus, there)
    return there


class TerminalDialog:
    """Dialog in lines on standard input and output."""

    def __init__(self) -> None:
        self._rest = b""

    def say(self, text: str) -> None:
        """Prints."""
        print(text, flush=True)

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """A line. Raises Abandoned at their end."""
        print(question, end="", flush=True)
        while b"\n" not in self._rest:
            if select.select([sys.stdin], [], [], POLL_PERIOD_S if meanwhile else None)[0]:
                data = os.read(sys.stdin.fileno(), 4096)
                if not data:
                    raise Abandoned
                self._rest += data
            elif meanwhile:
                meanwhile()
        line, _, self._rest = self._rest.partition(b"\n")
        if not sys.stdin.isatty():
            print(flush=True)
        return line.decode(errors="replace").strip()
