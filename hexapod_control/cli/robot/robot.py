# SPDX-License-Identifier: Apache-2.0
"""`hexapod robot`: the nodes of a real robot in one process, with the arguments of bringup.launch.py."""

from __future__ import annotations

import argparse
import os
import sys

from hexapod_control.bringup import node_graph, shared_process
from hexapod_control.bringup.node_graph import unused_arguments
from hexapod_control.bringup.shared_process import ros_arguments
from hexapod_control.cli.bounded_options import InputError
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.ros.monitoring.graph_identity import VARIABLE, new_graph, remove_state

GRAPH = "bringup"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="NAME|FILE", help="a robot that comes with the package, or a robot file")
    text = "argument of bringup.launch.py, e.g. web:=true namespace:=left"
    parser.add_argument("given", nargs="*", metavar="NAME:=VALUE", help=text)


def run(args: argparse.Namespace) -> int:
    """Runs the nodes. Returns 0 after Ctrl-C, 1 if they failed, 2 if they refused to start. Raises InputError."""
    given = {"robot": args.robot}
    for word in args.given:
        name, separator, value = word.partition(":=")
        if not separator:
            raise InputError(f"{word!r} must be NAME:=VALUE, e.g. web:=true")
        given[name] = value
    specs = node_graph.specs(GRAPH, given)
    for text in unused_arguments(specs, given):
        print(f"hexapod: {text}", file=sys.stderr, flush=True)
    use_venv_prefix()
    os.environ[VARIABLE] = graph = new_graph()
    from hexapod_control.cli.robot.one_process import run as run_nodes

    try:
        return run_nodes(specs, ros_arguments(shared_process.merged(specs)))
    finally:
        remove_state(graph)
