# SPDX-License-Identifier: Apache-2.0
"""`hexapod record`: buffers the last minute of all topics of a robot and writes a bag on demand or on a fault."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hexapod_control.bringup.process_supervisor import end_with_parent
from hexapod_control.cli.bounded_options import add_number
from hexapod_control.config import ros_names
from hexapod_control.core.quantity import Quantity

SAVE_KEYS = "s \n\r"
KEY_PERIOD_S = 0.1  # between two reads of the keyboard


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_number(parser, "--seconds", Quantity("s", 1.0, 3600.0, "buffered time", 60.0))
    add_number(parser, "--megabytes", Quantity("MB", 1, 16384, "size limit", 256, whole=True))
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="folder of the bags (default: the current one)"
    )
    parser.add_argument("--namespace", default="", help="namespace of the robot (default: all topics)")


def run(args: argparse.Namespace) -> int:
    """Records until Ctrl-C, which writes the last bag. Returns 0, or 1 if that could not be written."""
    ros_names.namespace(args.namespace)
    ros_names.check_middleware()
    end_with_parent(os.getppid())
    import rclpy  # noqa: F401 - a missing library is reported here, before anything starts
    import rosbags  # noqa: F401

    return _record(args)


def _record(args: argparse.Namespace) -> int:
    from hexapod_control.clients.terminal import Terminal, TerminalClosed
    from hexapod_control.nodes.recorder.recorder import RecorderNode, RecorderSettings
    from hexapod_control.ros import node_process

    recorders: list[RecorderNode] = []
    settings = RecorderSettings(args.seconds, args.out, args.megabytes * 1024 * 1024)

    def create() -> RecorderNode:
        node = RecorderNode(settings, lambda text: print(text, flush=True), namespace=args.namespace)
        recorders.append(node)
        return node

    if not sys.stdin.isatty():
        code = node_process.run(create, args=[])
        return code or int(recorders[0].failed_last)
    with Terminal() as terminal:

        def create_with_keys() -> RecorderNode:
            node = create()

            def read_keys() -> None:
                try:
                    if set(terminal.read()) & set(SAVE_KEYS):
                        node.save("requested by key")
                    ring = node.ring
                    terminal.status(f"{ring.seconds:4.0f} s, {ring.size / 1e6:.0f} MB   s: save   Ctrl-C: save and end")
                except TerminalClosed:
                    timer.cancel()

            timer = node.create_timer(KEY_PERIOD_S, read_keys, clock=node.steady)
            return node

        code = node_process.run(create_with_keys, args=[])
    return code or int(recorders[0].failed_last)
