"""`hexapod keyboard`: drive a robot that runs already, from any terminal."""

from __future__ import annotations

import argparse
import os
import sys

from hexapod_control.cli.errors import InputError
from hexapod_control.cli.keys import HELP
from hexapod_control.cli.supervisor import end_with_parent, stop_requests
from hexapod_control.cli.terminal import Gone, Terminal
from hexapod_control.graph import stamped_by_default

POLL = 0.02  # [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--namespace", default="", help="namespace of the robot")
    parser.add_argument(
        "--cmd-vel", default="cmd_vel", metavar="TOPIC", help="topic of the velocity, key_vel with a twist_mux"
    )
    parser.add_argument(
        "--stamped",
        action=argparse.BooleanOptionalAction,
        default=stamped_by_default(),
        help="cmd_vel is TwistStamped, not Twist (default: as this ROS does)",
    )
    parser.add_argument("--sim-time", action="store_true", help="stamp with the time of /clock")


def run(args: argparse.Namespace) -> int:
    """Drive until Ctrl-C, SIGTERM or the end of the terminal: 0; 2 without a terminal."""
    if not sys.stdin.isatty():
        raise InputError("keyboard: standard input is no terminal; type into one")
    end_with_parent(os.getppid())  # a shell that is killed tells nobody
    from hexapod_control.cli.operator import Link, Operator  # needs ROS
    from hexapod_control.cli.pilot import Pilot

    print(*HELP, sep="\n", file=sys.stderr)
    link = Link(args.namespace, args.stamped, args.cmd_vel, args.sim_time)
    with stop_requests() as asked, Terminal() as terminal, Operator(link) as operator:
        pilot = Pilot(operator, terminal)
        try:
            while not asked.is_set():
                pilot.look()
                operator.spin(POLL)
        except Gone:
            pass
    return 0
