# SPDX-License-Identifier: Apache-2.0
"""`hexapod estop`, `reset`, `arm`, `disarm`, `stand`, `sit` and `stop`: one request to a running robot each."""

from __future__ import annotations

import argparse
import sys

from hexapod_control.config.errors import DONE, FAILED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommands."""
    parser.add_argument("--namespace", default="", help="namespace of the robot")


def run(args: argparse.Namespace) -> int:
    """Makes the request that is named as the subcommand. Returns 0, or 1 if the robot refuses or is not there."""
    from hexapod_control.clients.bounded_wait import RobotError
    from hexapod_control.clients.fault_clients import RequestClient

    with RequestClient("request", args.namespace) as client:
        try:
            print(client.request(args.command))
        except RobotError as error:
            print(f"hexapod: {args.command}: {error}", file=sys.stderr)
            return FAILED
    return DONE
