"""`hexapod keyboard`: drive a robot that runs already, from any terminal."""

from __future__ import annotations

import argparse
import os
import sys

from hexapod_control.cli import link
from hexapod_control.cli.errors import InputError
from hexapod_control.cli.keys import HELP
from hexapod_control.cli.supervisor import end_with_parent, stop_requests
from hexapod_control.cli.terminal import Gone, Terminal

POLL = 0.02  # [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    link.add_arguments(parser, "key_vel")


def run(args: argparse.Namespace) -> int:
    """Drive until Ctrl-C, SIGTERM or the end of the terminal: 0; 2 without a terminal."""
    if not sys.stdin.isatty():
        raise InputError("keyboard: standard input is no terminal; type into one")
    end_with_parent(os.getppid())  # a shell that is killed tells nobody
    from hexapod_control.cli.operator import Operator  # needs ROS
    from hexapod_control.cli.pilot import Pilot

    print(*HELP, sep="\n", file=sys.stderr)
    with stop_requests() as asked, Terminal() as terminal, Operator(link.link(args)) as operator:
        pilot = Pilot(operator, terminal)
        try:
            while not asked.is_set():
                pilot.look()
                operator.spin(POLL)
        except Gone:
            pass
    return 0
