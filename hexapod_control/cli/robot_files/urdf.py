"""`hexapod urdf`: check a robot file and print its URDF."""

from __future__ import annotations

import argparse
import sys

from hexapod_control.config.robots.robot_file import RobotFileError, load
from hexapod_control.config.robots.urdf import urdf

HELP = "check a robot file and print its URDF"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument(
        "--robot",
        default="phantomx",
        metavar="NAME|FILE",
        help="a robot that comes with the package, or the path of a robot file (default: %(default)s)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the URDF on stdout; 2 with one line on stderr if the robot file is bad."""
    try:
        text = urdf(load(args.robot))
    except RobotFileError as error:
        print(error, file=sys.stderr)
        return 2
    sys.stdout.write(text)
    return 0
