"""`hexapod calibrate`: the guided calibration in the terminal, saved into the robot file at the end or not at all."""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

from hexapod_control.cli import wire
from hexapod_control.cli.errors import InputError
from hexapod_control.robots.error import RobotFileError
from hexapod_control.robots.load import RobotFile, load
from hexapod_control.robots.save import own_file
from hexapod_control.servos.bus import Bus
from hexapod_control.servos.guide import STEPS, Guide
from hexapod_control.servos.manual import Manual
from hexapod_control.servos.protocols import PROTOCOLS
from hexapod_control.servos.robot_section import save
from hexapod_control.servos.settings import ServoSettings

POLL = 0.05  # [s]
FIRST_IDS = 33  # are looked at before all others


class Abandoned(Exception):  # noqa: N818 - the user wants to end
    """No answers come any more."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    wire.add_arguments(parser, None)
    parser.add_argument(
        "--steps", default=",".join(STEPS), metavar="S,S", help="steps to take (default: %(default)s), after a scan"
    )


def run(args: argparse.Namespace) -> int:
    """0 saved, 1 not saved, 2 bad input."""
    path = own_file(args.robot)
    steps = [step.strip() for step in args.steps.split(",") if step.strip()]
    for step in steps:
        if step not in STEPS:
            raise InputError(f"--steps: must be of {', '.join(STEPS)}, is {step!r}")
    file = load(path)
    found = wire.settings(args, file)
    _check_ranges(found)
    try:
        with wire.opened(found) as bus:
            return _calibrate(bus, _fresh(found, file), file, steps, args.pace)
    except (Abandoned, KeyboardInterrupt):
        print("\nnothing was saved", flush=True)
        return 1


def _check_ranges(found: ServoSettings) -> None:
    """Raises InputError for a joint that turns farther than such a servo, however it is mounted."""
    scale = PROTOCOLS[found.protocol].scale
    most = (scale.high - scale.low) / scale.per_rad
    for joint in found.joints:
        if joint.upper - joint.lower > most + 1e-6:
            name, asked = joint.joint.removesuffix("_joint"), math.degrees(joint.upper - joint.lower)
            raise InputError(
                f"--robot: {name} turns by {asked:.0f} deg in the robot file, such a servo by "
                f"{math.degrees(most):.0f}: narrow the limits in leg.joints"
            )


def _fresh(found: ServoSettings, file: RobotFile) -> ServoSettings:
    """Without a section of this protocol in the file: the maker's scale, from which a calibration begins."""
    section = file.servos if isinstance(file.servos, dict) else {}
    if section.get("protocol") == found.protocol:
        return found
    units = PROTOCOLS[found.protocol].scale.per_rad
    joints = tuple(dataclasses.replace(j, units_per_rad=units, units_per_rad_neg=units) for j in found.joints)
    return dataclasses.replace(found, joints=joints)


def _calibrate(bus: Bus, found: ServoSettings, file: RobotFile, steps: list[str], pace: float) -> int:
    talk = Terminal()
    row = PROTOCOLS[found.protocol]
    usual = [i for i in row.ids if i < FIRST_IDS or i in found.ids]
    there = wire.scanned(bus, usual)
    if len(there) < len(found.joints):
        there |= wire.scanned(bus, [i for i in row.ids if i not in usual])
    models = ", ".join(sorted(set(there.values())))
    talk.say(f"{row.title} at {found.baud} baud on {found.port}: {len(there)} servos ({models})")
    if len(there) < len(found.joints):
        missing = ", ".join(str(i) for i in found.ids if i not in there)
        raise InputError(f"{len(found.joints)} servos are needed; no answer from ids {missing}: check cables and power")
    hands = Manual(bus, dict.fromkeys(there, float(row.scale.center)), pace)
    guide = Guide(file.robot, found.joints, hands, talk)
    try:
        guide.run(there, steps)
    finally:
        hands.relax()
    talk.say("\nTorque is off.")
    if (talk.ask(f"save into {file.path}? [Y/n] ") or "y").lower()[0] != "y":
        raise Abandoned
    backup = _saved(file.path, dataclasses.replace(found, joints=tuple(guide.joints)), talk)
    talk.say(f"saved; the file as it was: {backup.name}")
    return 0


def _saved(path: Path, found: ServoSettings, talk: Terminal) -> Path:
    """The backup; if the limits in the file do not fit what was found, they can be changed meanwhile."""
    while True:
        try:
            return save(load(path), found, PROTOCOLS[found.protocol].scale)
        except RobotFileError as error:
            talk.say(str(error))
            if talk.ask("change the file in an editor, then Enter saves again; q gives up: ") == "q":
                raise Abandoned from None


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
