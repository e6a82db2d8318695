# SPDX-License-Identifier: Apache-2.0
"""`hexapod gamepad`: drives a running robot with a gamepad of this machine, without ROS's joy package."""

from __future__ import annotations

import argparse

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.launch_arguments import TRUTH
from hexapod_control.bringup.process_supervisor import run as supervise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand: those of the graph `gamepad`."""
    for argument in node_graph.arguments("gamepad"):
        parser.add_argument(
            f"--{argument.name.replace('_', '-')}",
            default=argument.default or None,
            metavar={TRUTH: "true|false"}.get(argument.kind, argument.kind.upper()),
            help=argument.description,
        )


def run(args: argparse.Namespace) -> int:
    """Runs both nodes. Returns 0 after Ctrl-C or SIGTERM, 1 if a node died."""
    given = {argument.name: getattr(args, argument.name) for argument in node_graph.arguments("gamepad")}
    return supervise(node_graph.specs("gamepad", given))
