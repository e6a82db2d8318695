"""`hexapod record`: the last minute of all topics of a robot, written as a bag on demand or on a fault."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hexapod_control.bringup.process_supervisor import end_with_parent
from hexapod_control.cli.errors import InputError

SECONDS = (1.0, 3600.0)
MEGABYTES = (1, 16384)
SAVE = "s \n\r"
KEYS = 0.1  # [s] between two looks at the keyboard


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument(
        "--seconds", type=float, default=60.0, metavar="S", help="how much is kept [s] (default: %(default)s)"
    )
    parser.add_argument("--megabytes", type=int, default=256, metavar="MB", help="at most so much (%(default)s)")
    parser.add_argument(
        "--out", type=Path, default=Path(), metavar="DIR", help="folder of the bags (default: this one)"
    )
    parser.add_argument("--namespace", default="", help="namespace of the robot (default: all topics)")


def run(args: argparse.Namespace) -> int:
    """Record until Ctrl-C, which writes the last bag: 0, or 1 if that could not be written."""
    for option, value, (least, most) in (
        ("--seconds", args.seconds, SECONDS),
        ("--megabytes", args.megabytes, MEGABYTES),
    ):
        if not least <= value <= most:
            raise InputError(f"{option}: must be in [{least:g}, {most:g}], is {value:g}")
    end_with_parent(os.getppid())
    import rclpy  # noqa: F401 - both are missed here, before anything starts
    import rosbags  # noqa: F401

    return _record(args)


def _record(args: argparse.Namespace) -> int:
    from hexapod_control.clients.terminal import Terminal, TerminalClosed
    from hexapod_control.nodes.recorder.recorder import RecorderNode, RecorderSettings
    from hexapod_control.ros import node_process

    made: list[RecorderNode] = []
    settings = RecorderSettings(args.seconds, args.out, args.megabytes * 1024 * 1024)

    def make() -> RecorderNode:
        node = RecorderNode(settings, lambda text: print(text, flush=True), namespace=args.namespace)
        made.append(node)
        return node

    if not sys.stdin.isatty():
        code = node_process.run(make, args=[])
        return code or int(made[0].failed_last)
    with Terminal() as terminal:

        def keyed() -> RecorderNode:
            node = make()

            def look() -> None:
                try:
                    if set(terminal.read()) & set(SAVE):
                        node.save("asked for by key")
                    ring = node.ring
                    terminal.status(f"{ring.seconds:4.0f} s, {ring.size / 1e6:.0f} MB   s: save   Ctrl-C: save and end")
                except TerminalClosed:
                    timer.cancel()

            timer = node.create_timer(KEYS, look, clock=node.steady)
            return node

        code = node_process.run(keyed, args=[])
    return code or int(made[0].failed_last)
