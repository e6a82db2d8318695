# SPDX-License-Identifier: Apache-2.0
"""`hexapod gamepad` and `hexapod rc`: drive a running robot with a gamepad or an RC receiver of this machine."""

from __future__ import annotations

import argparse

from hexapod_control.bringup import node_graph
from hexapod_control.bringup.launch_arguments import TRUTH
from hexapod_control.bringup.process_supervisor import run as supervise


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand: those of the graph with its name."""
    _, graph = parser.prog.split()
    for argument in node_graph.arguments(graph):
        parser.add_argument(
            f"--{argument.name.replace('_', '-')}",
            default=argument.default or None,
            metavar={TRUTH: "true|false"}.get(argument.kind, argument.kind.upper()),
            help=argument.description,
        )


def run(args: argparse.Namespace) -> int:
    """Runs the nodes of the graph with the name of the subcommand. Returns 0 after Ctrl-C or SIGTERM, 1 if one died."""
    given = {argument.name: getattr(args, argument.name) for argument in node_graph.arguments(args.command)}
    return supervise(node_graph.specs(args.command, given))
