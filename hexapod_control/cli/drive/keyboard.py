# SPDX-License-Identifier: Apache-2.0
"""`hexapod keyboard`: drives a running robot from any terminal."""

from __future__ import annotations

import argparse
import os
import sys

from hexapod_control.bringup.process_supervisor import end_with_parent, stop_requests
from hexapod_control.cli.bounded_options import InputError
from hexapod_control.clients import connection_options
from hexapod_control.clients.terminal import Terminal, TerminalClosed
from hexapod_control.config.errors import DONE

POLL_S = 0.02


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    connection_options.add_arguments(parser, "key_vel")


def run(args: argparse.Namespace) -> int:
    """Drives until Ctrl-C, SIGTERM or the end of the terminal. Raises InputError without a terminal."""
    if not sys.stdin.isatty():
        raise InputError("keyboard: standard input is not a terminal; start it in one")
    end_with_parent(os.getppid())  # a killed shell sends no signal
    from hexapod_control.clients.keyboard_pilot import HELP, KeyboardPilot
    from hexapod_control.clients.robot_client import RobotClient

    print(*HELP, sep="\n", file=sys.stderr)
    with stop_requests() as stop, Terminal() as terminal, RobotClient(connection_options.connection(args)) as robot:
        pilot = KeyboardPilot(robot, terminal)
        try:
            while not stop.is_set():
                pilot.step()
                robot.spin(POLL_S)
        except TerminalClosed:
            pass
    return DONE
