# SPDX-License-Identifier: Apache-2.0
"""`hexapod recover`: makes a robot that has fallen fold its legs and stand up again."""

from __future__ import annotations

import argparse
import sys

from hexapod_control.config.errors import DONE, FAILED


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--namespace", default="", help="namespace of the robot")


def run(args: argparse.Namespace) -> int:
    """Calls the service `recover`. Returns 0 once the robot stands; 1 if it refuses or does not stand up."""
    from hexapod_control.clients.bounded_wait import RobotError
    from hexapod_control.clients.fault_clients import RecoveryClient

    with RecoveryClient(args.namespace) as client:
        try:
            print(client.recover())
        except RobotError as error:
            print(f"hexapod: recover: {error}", file=sys.stderr)
            return FAILED
    return DONE
