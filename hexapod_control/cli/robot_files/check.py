"""`hexapod check`: what is wrong with a robot file, worst first."""

from __future__ import annotations

import argparse
import json

from hexapod_control.config.robots.robot_file import implausible, load

OK, DOUBTFUL = 0, 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="NAME|FILE", help="a robot file, or a name that comes with the package")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Prints what is implausible. Returns 0 if nothing is, 1 else. Raises RobotFileError for an unusable file."""
    file = load(args.robot)
    found = implausible(file)
    if args.json:
        values = [{"line": error.line, "key": error.key, "text": error.text} for error in found]
        print(json.dumps({"robot": file.robot.name, "implausible": values}, indent=2))
    else:
        print(*(str(error) for error in found), sep="\n") if found else print(f"{file.path}: all values are plausible")
    return DOUBTFUL if found else OK
