# SPDX-License-Identifier: Apache-2.0
"""What the commands that measure a robot share: their options, the way back, and an end that writes nothing."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from pathlib import Path

from hexapod_control.cli.bounded_options import CommandFailedError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.bus_access import Interrupted, interruptions
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.section_writer import own_file
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.calibration.self_calibration import undo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of a command that measures a robot."""
    parser.add_argument("robot", metavar="FILE", help="your robot file")
    bus_access.add_bus_arguments(parser)
    parser.add_argument("--undo", action="store_true", help="put the robot file back to before the last measurement")


def run(
    args: argparse.Namespace, measure: Callable[[Path, TerminalDialog], Sentence], failures: tuple[type[Exception], ...]
) -> int:
    """Measures, or takes the last measurement back, and prints the result; after a failure nothing is written.

    Returns 0 if written or undone, 1 if not, 128 + number of the signal that ended it. Raises CommandFailedError.
    """
    path = own_file(args.robot)
    dialog = TerminalDialog()
    try:
        with interruptions():
            print(undo(path, dialog) if args.undo else measure(path, dialog), flush=True)
    except failures as error:
        raise CommandFailedError(f"{Sentence.of(error)} ({Sentence('self_nothing_written')})") from None
    except (Abandoned, Interrupted) as end:
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(f"\n{Sentence('self_nothing_written')}", flush=True)
        return end.exit_code if isinstance(end, Interrupted) else FAILED
    return DONE
