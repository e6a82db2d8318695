# SPDX-License-Identifier: Apache-2.0
"""`hexapod estop`, `reset`, `arm`, `disarm`, `stand`, `sit`, `stop`, `recover`: one request to a running robot each."""

from __future__ import annotations

import argparse

from hexapod_control.config.errors import DONE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommands."""
    parser.add_argument("--namespace", default="", help="namespace of the robot")


def run(args: argparse.Namespace) -> int:
    """Makes the request that is named as the subcommand. Returns 0. Raises RobotError."""
    from hexapod_control.clients.fault_clients import RecoveryClient, RequestClient

    if args.command == "recover":
        with RecoveryClient(args.namespace) as client:
            print(client.recover())
    else:
        with RequestClient("request", args.namespace) as client:
            print(client.request(args.command))
    return DONE
