# SPDX-License-Identifier: Apache-2.0
"""`hexapod leg`: folds a lost leg of a running robot away, or unfolds it again."""

from __future__ import annotations

import argparse

from hexapod_control.config.errors import DONE

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
    """Waits until the leg is folded or unfolded. Returns 0. Raises RobotError."""
    from hexapod_control.clients.fault_clients import LegClient

    with LegClient(args.namespace) as client:
        client.request(args.what, args.leg)
    print(f"{args.leg}: {OUTCOMES[args.what]}")
    return DONE
