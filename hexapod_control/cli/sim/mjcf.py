# SPDX-License-Identifier: Apache-2.0
"""`hexapod mjcf`: prints the MuJoCo model of a robot file in a world, as the simulator builds it."""

from __future__ import annotations

import argparse
import sys

from hexapod_control.cli.sim.world_options import add_world, world_settings
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="ROBOT", help="a name that comes with the package, or a robot file")
    add_world(parser)


def run(args: argparse.Namespace) -> int:
    """Prints the model. Raises RobotFileError, InputError."""
    file = load(args.robot)
    settings = world_settings(args)
    from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S
    from hexapod_control.sim.mjcf import mjcf
    from hexapod_control.sim.simulation import Simulation

    sys.stdout.write(mjcf(Simulation(file.robot, urdf(file), settings), CONTROL_PERIOD_S))
    return DONE
