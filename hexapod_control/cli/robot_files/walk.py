# SPDX-License-Identifier: Apache-2.0
"""`hexapod walk`: writes the joint targets of a walk to a CSV file, without ROS and without physics."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from hexapod_control.cli.bounded_options import InputError, add_number, add_robot, number
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots import saved_capabilities
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core import names
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.planner.planner import MAX_TICK_S, Planner
from hexapod_control.core.quantity import Quantity
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.evaluation.robot_check.steady_walk import standing_start

DURATION = Quantity("s", 0.0, 3600.0, "length of the walk", 5.0)
RATE = Quantity("Hz", 0.1, 10_000.0, "rows per second", 50.0)
TWIST = Quantity("", -100.0, 100.0, "m/s or rad/s; the planner scales to what the robot can do")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    parser.add_argument("--gait", default="", help="gait (default: the robot file's)")
    parser.add_argument(
        "--twist",
        nargs=3,
        type=number(TWIST),
        default=[0.1, 0.0, 0.0],
        metavar=("VX", "VY", "WZ"),
        help="forward, left [m/s] and counter-clockwise [rad/s] (default: 0.1 0 0)",
    )
    add_number(parser, "--seconds", DURATION)
    add_number(parser, "--rate", RATE)
    parser.add_argument("--out", metavar="FILE", help="CSV file to write (default: standard output)")


def run(args: argparse.Namespace) -> int:
    """Writes the CSV file. Raises InputError for bad input, OSError if it cannot be written."""
    robot = load(args.robot).robot
    saved_capabilities.enable()
    try:
        planner, start = standing_start(robot)
    except ValueError as error:
        raise InputError(f"--robot: {error}") from None
    capabilities = Capabilities.of(robot)
    refused = planner.change_gait(args.gait) if args.gait else ""
    if refused:
        raise InputError(f"--gait: {refused}")
    twist = Twist(*args.twist)
    if excess := capabilities.excess(twist, capabilities.selection(args.gait)):
        print(f"hexapod: --twist: {excess}", file=sys.stderr)
    with ExitStack() as stack:
        try:
            out = stack.enter_context(open(args.out, "w", newline="")) if args.out else sys.stdout
        except OSError as error:
            raise InputError(f"--out: {error}") from None
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["t", *names.joint_names(robot.leg_names)])
        for time, joints in walk(planner, start, twist, args.seconds, args.rate):
            table.writerow([repr(value) for value in (time, *joints.ravel().tolist())])
    return DONE


def walk(planner: Planner, start: Array, twist: Twist, seconds: float, rate: float) -> Iterator[tuple[float, Array]]:
    """Yields (time [s], joint targets (n, 3) [rad]) of a walk that starts standing at `start`.

    At a low rate the planner takes several steps between two rows.
    """
    steps = math.ceil(1.0 / (rate * MAX_TICK_S))
    planner.command(twist)
    joints = start
    for index in range(math.floor(seconds * rate + 1e-9) + 1):
        yield index / rate, joints
        for _ in range(steps):
            plan = planner.step(1.0 / (rate * steps))
            joints = joints if plan.joint_angles is None else plan.joint_angles
