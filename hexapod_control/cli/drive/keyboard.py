"""`hexapod keyboard`: drive a robot that runs already, from any terminal."""

from __future__ import annotations

import argparse
import os
import sys

from hexapod_control.bringup.process_supervisor import end_with_parent, stop_requests
from hexapod_control.cli.errors import InputError
from hexapod_control.clients import connection_options
from hexapod_control.clients.keyboard_map import HELP
from hexapod_control.clients.terminal import Terminal, TerminalClosed

POLL = 0.02  # [s]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    connection_options.add_arguments(parser, "key_vel")


def run(args: argparse.Namespace) -> int:
    """Drive until Ctrl-C, SIGTERM or the end of the terminal: 0; 2 without a terminal."""
    if not sys.stdin.isatty():
        raise InputError("keyboard: standard input is no terminal; type into one")
    end_with_parent(os.getppid())  # a shell that is killed tells nobody
    from hexapod_control.clients.keyboard_pilot import KeyboardPilot
    from hexapod_control.clients.robot_client import RobotClient

    print(*HELP, sep="\n", file=sys.stderr)
    with stop_requests() as asked, Terminal() as terminal, RobotClient(connection_options.link(args)) as operator:
        pilot = KeyboardPilot(operator, terminal)
        try:
            while not asked.is_set():
                pilot.look()
                operator.spin(POLL)
        except TerminalClosed:
            pass
    return 0
