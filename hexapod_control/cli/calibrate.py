"""`hexapod calibrate`: the guided calibration in the terminal, saved into the robot file at the end or not at all."""

from __future__ import annotations

import argparse
import os
import select
import sys
from collections.abc import Callable

from hexapod_control.cli import wire
from hexapod_control.cli.errors import InputError
from hexapod_control.robots.load import load
from hexapod_control.robots.save import own_file
from hexapod_control.servos.bus import Bus
from hexapod_control.servos.calibrating import Calibrating, check_ranges, chosen
from hexapod_control.servos.guide import STEPS
from hexapod_control.servos.guide_words import Abandoned
from hexapod_control.servos.protocols import PROTOCOLS
from hexapod_control.servos.settings import ServoSettings

POLL = 0.05  # [s]
FIRST_IDS = 33  # are looked at before all others


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    wire.add_arguments(parser, None)
    parser.add_argument(
        "--steps", default=",".join(STEPS), metavar="S,S", help="steps to take (default: %(default)s), after a scan"
    )


def run(args: argparse.Namespace) -> int:
    """0 saved, 1 not saved, 2 bad input."""
    path = own_file(args.robot)
    try:
        steps = chosen(args.steps)
    except ValueError as error:
        raise InputError(f"--steps: {error}") from None
    file = load(path)
    found = wire.settings(args, file)
    try:
        check_ranges(found)
    except ValueError as error:
        raise InputError(f"--robot: {error}") from None
    try:
        with wire.opened(found) as bus:
            Calibrating(bus, _scanned(bus, found), found, file, Terminal(), args.pace).run(steps)
    except (Abandoned, KeyboardInterrupt):
        print("\nnothing was saved", flush=True)
        return 1
    return 0


def _scanned(bus: Bus, found: ServoSettings) -> dict[int, str]:
    """Ids and models of all servos. Raises InputError if those of a robot are not among them."""
    known = PROTOCOLS[found.protocol].ids
    usual = [i for i in known if i < FIRST_IDS or i in found.ids]
    there = wire.scanned(bus, usual)
    if len(there) < len(found.joints):
        there |= wire.scanned(bus, [i for i in known if i not in usual])
    if len(there) < len(found.joints):
        missing = ", ".join(str(i) for i in found.ids if i not in there)
        raise InputError(f"{len(found.joints)} servos are needed; no answer from ids {missing}: check cables and power")
    return there


class Terminal:
    """Talks in lines: whatever gives lines can answer."""

    def __init__(self) -> None:
        self._rest = b""

    def say(self, text: str) -> None:
        """Prints."""
        print(text, flush=True)

    def ask(self, question: str, meanwhile: Callable[[], None] | None = None) -> str:
        """A line. Raises Abandoned at their end."""
        print(question, end="", flush=True)
        while b"\n" not in self._rest:
            if select.select([sys.stdin], [], [], POLL if meanwhile else None)[0]:
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
