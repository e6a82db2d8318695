# SPDX-License-Identifier: Apache-2.0
"""The entry point of the command hexapod: Ctrl-C ends it at once while its modules are imported for a second."""

from __future__ import annotations

import os
import signal
from types import FrameType

INTERRUPTED = 128 + signal.SIGINT  # exit code; config.errors, which has it too, is not imported yet


def main() -> int:
    """Runs the command. Returns its exit code."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.SIG_IGN:  # as in the background of a shell
        signal.signal(signal.SIGINT, _end)
    from hexapod_control.cli.main import main as run

    signal.signal(signal.SIGINT, before)
    return run()


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
