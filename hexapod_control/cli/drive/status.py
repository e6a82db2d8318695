# SPDX-License-Identifier: Apache-2.0
"""`hexapod status`: prints the state and the health of a running robot, from /diagnostics."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from hexapod_control.config import ros_names
from hexapod_control.config.errors import DONE, FAILED, RobotError

LISTENING_S = 2.5  # every node reports once a second
LEVELS = ("ok", "warning", "ERROR", "stale")
HEALTH = (  # keys shown in addition to the level of every node, in this order
    "state",
    "payload",
    "voltage [V]",
    "current [A]",
    "temperatures [degC]",
    "hours on",
    "hours walking",
    "distance [m]",
    "most cycles",
    "lowest voltage [V]",
    "cost of transport [J/(kg m)]",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--namespace", default="", help="namespace of the robot")
    parser.add_argument("--json", action="store_true", help="print every value of every node as JSON")


def run(args: argparse.Namespace) -> int:
    """Listens for a moment and prints. Returns 0; 1 if a node reports an error. Raises RobotError."""
    nodes = _received(args.namespace)
    if not nodes:
        from hexapod_control.clients.robot_search import why_no_robot

        reason = why_no_robot(ros_names.namespace(args.namespace))
        raise RobotError(f"no node reports on /diagnostics: {reason}")
    if args.json:
        print(json.dumps(nodes, indent=2))
    else:
        print("\n".join(lines(nodes)))
    return FAILED if any(node["level"] >= LEVELS.index("ERROR") for node in nodes.values()) else DONE


def lines(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns the table of the nodes, and below it the values of HEALTH that a node reports."""
    width = max(map(len, nodes))
    table = [f"{name:{width}s}  {LEVELS[node['level']]:8s} {node['message']}" for name, node in sorted(nodes.items())]
    values = {key: value for node in nodes.values() for key, value in node["values"].items()}
    return [*table, "", *(f"{key:28s} {values[key]}" for key in HEALTH if key in values)]


def _received(namespace: str) -> dict[str, dict[str, Any]]:
    """Returns level, message and values of every node of a robot that reports in LISTENING_S."""
    from hexapod_control.clients.fault_clients import DiagnosticsListener

    with DiagnosticsListener(namespace) as listener:
        return listener.listen(LISTENING_S)
