"""`hexapod urdf`: prints the URDF of a robot file, the controllers of ros2_control for it, or a summary."""

from __future__ import annotations

import argparse
import sys

from hexapod_control.cli.bounded_options import add_robot
from hexapod_control.cli.robot_files.robot_summary import summary
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.ros2_controllers import controllers
from hexapod_control.config.robots.urdf import urdf


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    one_of = parser.add_mutually_exclusive_group()
    one_of.add_argument("--ros2-control", action="store_true", help="add the tags of ros2_control to the URDF")
    one_of.add_argument(
        "--controllers", action="store_true", help="print the controllers of ros2_control for this robot instead"
    )
    one_of.add_argument(
        "--summary", action="store_true", help="print a table of legs, lengths, limits, masses and servos instead"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the text. Raises RobotFileError."""
    file = load(args.robot)
    if args.summary:
        text = summary(file)
    elif args.controllers:
        text = controllers(file.robot)
    else:
        text = urdf(file, ros2_control=args.ros2_control)
    sys.stdout.write(text)
    return DONE
