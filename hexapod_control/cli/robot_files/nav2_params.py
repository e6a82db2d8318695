# SPDX-License-Identifier: Apache-2.0
"""`hexapod nav2-params`: a parameter file or behaviour tree of Nav2 with the limits and the footprint of a robot."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hexapod_control.cli.bounded_options import InputError, add_robot
from hexapod_control.config.bounded_yaml import UnusableFileError, read_text
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.nav2_parameters import Nav2FileError, TreeError, describe, fill, fill_tree
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import share
from hexapod_control.ros.distribution import NAMES, NAV2_CHANGES, distribution


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    parser.add_argument("--gait", default="", help="gait to walk in (default: the robot file's)")
    parser.add_argument(
        "--params", metavar="FILE", help="Nav2 parameters to fill in (default: config/nav2.yaml of this package)"
    )
    parser.add_argument(
        "--tree", metavar="FILE", help="a behaviour tree of Nav2 to fill in instead, with the times of its recoveries"
    )
    parser.add_argument(
        "--distro",
        choices=NAMES,
        metavar="|".join(NAMES),
        default=distribution(),
        help="ROS distribution of Nav2 (default: this one)",
    )
    parser.add_argument("--out", metavar="FILE", help="where to write; may be the file of --params (default: stdout)")


def run(args: argparse.Namespace) -> int:
    """Writes the parameter file; its comments and all other values are kept. Raises InputError."""
    changes = NAV2_CHANGES[args.distro]
    source = Path(args.tree or args.params or share("config", "nav2.yaml"))
    robot = load(args.robot)
    saved_capabilities.enable()
    try:
        text = read_text(source)
        described = describe(robot.robot, args.gait)
        text = fill_tree(text, described) if args.tree else fill(text, described, changes.renamed, changes.added)
    except (Nav2FileError, TreeError) as error:
        raise InputError(f"{source}: {error}") from None
    except UnusableFileError as error:
        raise InputError(f"{source}: {error}") from None
    except ValueError as error:
        raise InputError(f"{robot.path}: {error}") from None
    if args.out is None:
        sys.stdout.write(text)
    else:
        Path(args.out).write_text(text, encoding="utf-8")
    return DONE
