# SPDX-License-Identifier: Apache-2.0
"""`hexapod rc`: drives a running robot with an RC transmitter, whose receiver is on a serial port of this machine."""

from __future__ import annotations

import argparse

from hexapod_control.cli.drive.gamepad import add_graph_arguments, run

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand: those of the graph `rc`."""
    add_graph_arguments(parser, "rc")
