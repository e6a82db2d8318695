# SPDX-License-Identifier: Apache-2.0
"""`hexapod mcp`: a server of the Model Context Protocol, by which an assistant drives a robot.

It talks over stdin and stdout to the client that has started it, or over HTTP to clients on this computer.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from types import FrameType

from hexapod_control.cli.bounded_options import InputError, add_number
from hexapod_control.clients.assistant import Assistant, AssistantLimits, Permission
from hexapod_control.clients.connection_options import add_arguments as add_connection
from hexapod_control.clients.connection_options import connection
from hexapod_control.config.errors import DONE
from hexapod_control.core.quantity import Quantity, quantities

PORT = Quantity("", 1024, 65_535, "port of this computer to serve HTTP on, in place of stdin and stdout", whole=True)
LOCAL = "127.0.0.1"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_connection(parser, "mcp_vel")
    parser.add_argument(
        "--allow",
        choices=[permission.value for permission in Permission],
        default=Permission.READ.value,
        help="read: state and stop only; ask: also motions within the bounds, each permitted by a person on the page; "
        "move: also motions, without asking (default: %(default)s)",
    )
    add_number(parser, "--http", PORT, metavar="PORT")
    for name, quantity in quantities(AssistantLimits):
        add_number(parser, f"--{name}", quantity)


def run(args: argparse.Namespace) -> int:
    """Serves until the client closes stdin, with HTTP until Ctrl-C. Returns 0. Raises InputError."""
    from hexapod_control.cli.drive.assistant_tools import server

    limits = AssistantLimits(**{name: getattr(args, name) for name, _ in quantities(AssistantLimits)})
    permission = Permission(args.allow)
    if args.http is not None:
        port = int(args.http)
        _check_free(port)
        with Assistant(connection(args), limits, permission) as assistant:
            _end_by_signals(assistant)
            print(f"http://{LOCAL}:{port}/mcp", file=sys.stderr, flush=True)
            server(assistant).run("streamable-http", host=LOCAL, port=port)
        return DONE
    try:
        with Assistant(connection(args), limits, permission) as assistant:
            _end_by_signals(assistant)
            server(assistant, os.getppid()).run("stdio")
    except* BrokenPipeError:
        pass  # the client has ended while a tool answered
    return DONE


def _end_by_signals(assistant: Assistant) -> None:
    """Ends the motion, then this program, on SIGTERM and SIGHUP: what serves does not return from the first."""

    def end(number: int, frame: FrameType | None) -> None:
        assistant.__exit__(None, None, None)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)


def _check_free(port: int) -> None:
    """Raises InputError if another program has the port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOCAL, port))
        except OSError as error:
            raise InputError(f"--http: port {port} cannot be used: {error.strerror}; choose another one") from None
