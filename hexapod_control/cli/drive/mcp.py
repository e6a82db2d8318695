# SPDX-License-Identifier: Apache-2.0
"""`hexapod mcp`: a server of the Model Context Protocol on stdin and stdout, by which an assistant drives a robot."""

from __future__ import annotations

import argparse

from hexapod_control.cli.bounded_options import add_number
from hexapod_control.clients.assistant import Assistant, AssistantLimits
from hexapod_control.clients.connection_options import add_arguments as add_connection
from hexapod_control.clients.connection_options import connection
from hexapod_control.config.errors import DONE
from hexapod_control.core.quantity import quantities

READ = "read"
MOVE = "move"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_connection(parser, "mcp_vel")
    parser.add_argument(
        "--allow",
        choices=(READ, MOVE),
        default=READ,
        help=f"{READ}: state and stop only; {MOVE}: motions within the bounds, too (default: %(default)s)",
    )
    for name, quantity in quantities(AssistantLimits):
        add_number(parser, f"--{name}", quantity)


def run(args: argparse.Namespace) -> int:
    """Serves until the client closes stdin. Returns 0."""
    from hexapod_control.cli.drive.assistant_tools import server

    limits = AssistantLimits(**{name: getattr(args, name) for name, _ in quantities(AssistantLimits)})
    try:
        with Assistant(connection(args), limits) as assistant:
            server(assistant, moves=args.allow == MOVE).run("stdio")
    except* BrokenPipeError:
        pass  # the client has ended while a tool answered
    return DONE
