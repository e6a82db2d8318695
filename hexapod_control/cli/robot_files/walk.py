"""`hexapod walk`: walk without ROS and without physics, as a table of joint targets."""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from hexapod_control.cli.errors import InputError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core import names
from hexapod_control.core.kinematics.arrays import Array, read_only
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.planner.planner import MAX_STEP, Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.core.robot import Robot

SETTLED = 5.0  # [s] of planner time within which a standing robot knows that it stands
LONGEST = 3600.0  # [s] of one table
LOWEST_RATE, HIGHEST_RATE = 0.1, 10_000.0  # [Hz]
FASTEST = 100.0  # [m/s, rad/s] accepted; the planner scales to what the robot can do


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE", help="robot (default: %(default)s)")
    parser.add_argument("--gait", default="", help="gait (default: the robot file's)")
    parser.add_argument(
        "--twist",
        nargs=3,
        default=["0.1", "0", "0"],
        metavar=("VX", "VY", "WZ"),
        help="forward, left [m/s] and counter-clockwise [rad/s] (default: 0.1 0 0)",
    )
    parser.add_argument("--seconds", default="5", metavar="S", help="length of the walk [s] (default: %(default)s)")
    parser.add_argument("--rate", default="50", metavar="HZ", help="rows per second [Hz] (default: %(default)s)")
    parser.add_argument("--out", metavar="FILE", help="CSV file to write (default: standard output)")


def _number(option: str, text: str, lower: float, upper: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not lower <= value <= upper:
        raise InputError(f"{option}: must be a number in [{lower:g}, {upper:g}], is {text!r}")
    return value


def run(args: argparse.Namespace) -> int:
    """Write the table; 2 with one line on stderr if the input is bad, 1 if it cannot be written."""
    twist = Twist(*(_number("--twist", text, -FASTEST, FASTEST) for text in args.twist))
    seconds = _number("--seconds", args.seconds, 0.0, LONGEST)
    rate = _number("--rate", args.rate, LOWEST_RATE, HIGHEST_RATE)
    robot = load(args.robot).robot
    try:
        planner, start = standing(robot)
    except ValueError as error:
        raise InputError(f"--robot: {error}") from None
    refused = planner.gait(args.gait) if args.gait else ""
    if refused:
        raise InputError(f"--gait: {refused}")
    with ExitStack() as stack:
        try:
            out = stack.enter_context(open(args.out, "w", newline="")) if args.out else sys.stdout
        except OSError as error:
            raise InputError(f"--out: {error}") from None
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["t", *names.joint_names(robot.leg_names)])
        for time, joints in walk(planner, start, twist, seconds, rate):
            table.writerow([repr(value) for value in (time, *joints.ravel().tolist())])
    return 0


def standing(robot: Robot) -> tuple[Planner, Array]:
    """A planner whose robot stands in its neutral stance, and the joints (n, 3) [rad] there.

    Raises ValueError for a robot that cannot.
    """
    planner = Planner(robot)
    row = joints_at_offset(robot, planner.capabilities.stances.at(robot.walk.height).footholds, 0.0)
    assert row is not None  # checked by the planner
    planner.measured(read_only(row))
    for _ in range(round(SETTLED / MAX_STEP)):
        plan = planner.step(MAX_STEP)
        if planner.state is RobotState.STANDING and plan.row is not None:
            return planner, plan.row
    raise ValueError("the robot does not come to stand in its neutral stance")


def walk(planner: Planner, start: Array, twist: Twist, seconds: float, rate: float) -> Iterator[tuple[float, Array]]:
    """Rows (time [s], joints (n, 3) [rad]) of a walk that begins standing at `start` and ramps to the twist.

    Where the rows are far apart the planner takes several steps from one to the next.
    """
    steps = math.ceil(1.0 / (rate * MAX_STEP))
    planner.command(twist)
    row = start
    for index in range(math.floor(seconds * rate + 1e-9) + 1):
        yield index / rate, row
        for _ in range(steps):
            plan = planner.step(1.0 / (rate * steps))
            row = row if plan.row is None else plan.row
