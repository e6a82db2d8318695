"""`hexapod urdf`: prints the URDF of a robot file."""

from __future__ import annotations

import argparse
import sys

from hexapod_control.cli.bounded_options import add_robot
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the URDF. Raises RobotFileError."""
    sys.stdout.write(urdf(load(args.robot)))
    return 0
