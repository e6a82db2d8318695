# SPDX-License-Identifier: Apache-2.0
"""`hexapod check`: problems and capabilities of a robot, worst first."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TextIO

from hexapod_control.cli.bounded_options import InputError, add_number, output_file
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.plausibility.check_values import located_errors, odometry_findings
from hexapod_control.config.robots.robot_file import confirmed, implausible, load, odometry_scale
from hexapod_control.core.quantity import Quantity
from hexapod_control.evaluation.robot_check.subject import USUAL_BATTERY_WH, Remark, Seriousness, Subject
from hexapod_control.servos.settings.unused_settings import unused_settings
from hexapod_control.servos.settings.wiring_rules import DOUBTS, wiring_findings

PAYLOAD = Quantity("kg", 0.0, 100.0, "load on the body", 0.0)
BATTERY = Quantity("Wh", 0.1, 10000.0, "capacity of the battery; 24 Wh are three cells of 2200 mAh", USUAL_BATTERY_WH)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="NAME|FILE", help="a robot file, or a name that comes with the package")
    add_number(parser, "--payload", PAYLOAD)
    add_number(parser, "--battery", BATTERY)
    parser.add_argument("--values", action="store_true", help="only look for implausible values, which takes a second")
    parser.add_argument(
        "--report", type=output_file("a report", (".html",)), metavar="FILE", help="write a page with plots"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Prints the remarks. Returns 1 if a value is implausible or the robot has a problem, else 0.

    Raises RobotFileError for an unusable file, InputError for options that exclude each other or a robot that cannot
    walk with the payload.
    """
    if args.values and args.report:
        raise InputError("--report: needs the checks that --values leaves out; give one of the two")
    file = load(args.robot)
    unused = list(unused_settings(file))  # raises for unusable sections
    wiring = (*wiring_findings(file), *odometry_findings(odometry_scale(file.document)))
    doubts = tuple(wiring_findings(file, DOUBTS))
    found = [
        Remark(Seriousness.WRONG, "value", str(error), "", {"line": error.line, "key": error.key})
        for error in implausible(file, wiring)
    ]
    count = f"{len(found)} implausible value{'s' * (len(found) > 1)}"
    values = count if found else "all values are plausible"
    found += [Remark(Seriousness.NOTE, "value", text) for text in unused]
    found += [
        Remark(Seriousness.NOTE, "value", str(error), "", {"line": error.line, "key": error.key})
        for error in located_errors(file.document, doubts)
        if error.key not in file.confirmed
    ]
    found += [
        Remark(
            Seriousness.NOTE, "confirmed", f"{error}; confirmed: {file.confirmed[error.key]}", "", {"key": error.key}
        )
        for error in confirmed(file, (*wiring, *doubts))
    ]
    print(f"{file.path}: {values}", *([] if args.json else found), sep="\n", file=_stream(args), flush=True)
    if not args.values:
        from hexapod_control.evaluation.robot_check.checks import remarks, verdict

        saved_capabilities.enable()
        subject = Subject(file, args.payload, args.battery)
        try:
            others = remarks(subject, lambda name: print(f"check: {name}", file=sys.stderr))
        except ValueError as error:
            raise InputError(f"{file.path}: {error}") from None
        found += others
        if not args.json:
            print(verdict(subject, found), *others, sep="\n")
        if args.report:
            _write_report(args.report, subject, found)
    if args.json:
        print(json.dumps({"robot": file.robot.name, "payload": args.payload, "remarks": list(map(_plain, found))}))
    return FAILED if any(remark.seriousness >= Seriousness.PROBLEM for remark in found) else DONE


def _write_report(path: Path, subject: Subject, found: list[Remark]) -> None:
    from hexapod_control.evaluation.robot_check.html_report import page

    path.write_text(page(subject, found), encoding="utf-8")
    print(path, file=sys.stderr)


def _stream(args: argparse.Namespace) -> TextIO:
    return sys.stderr if args.json else sys.stdout


def _plain(remark: Remark) -> dict[str, object]:
    return {
        "seriousness": remark.seriousness.name.lower(),
        "topic": remark.topic,
        "text": remark.text,
        "change": remark.change,
        "figures": remark.figures,
    }
