# SPDX-License-Identifier: Apache-2.0
"""`hexapod leg`: folds a lost leg of a running robot away, or unfolds it again."""

from __future__ import annotations

import argparse
import sys

from hexapod_control.config.errors import DONE, FAILED

OUTCOMES = {"lost": "folded away", "back": "unfolded"}  # by request


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument(
        "what",
        choices=tuple(OUTCOMES),
        help="lost: fold the leg away and walk on the others; back: unfold it and walk on it again",
    )
    parser.add_argument("leg", metavar="LEG", help="name of the leg, e.g. left_front")
    parser.add_argument("--namespace", default="", help="namespace of the robot")


def run(args: argparse.Namespace) -> int:
    """Waits until the leg is folded or unfolded. Returns 0; 1 if the robot refused or did not do it."""
    from hexapod_control.clients.bounded_wait import RobotError
    from hexapod_control.clients.fault_clients import LegClient

    with LegClient(args.namespace) as client:
        try:
            client.request(args.what, args.leg)
        except RobotError as error:
            print(f"hexapod: leg: {error}", file=sys.stderr)
            return FAILED
    print(f"{args.leg}: {OUTCOMES[args.what]}")
    return DONE
