# SPDX-License-Identifier: Apache-2.0
"""The entry point of every node. The name of the program, or with `python -m` its first argument, selects the node.

While the modules of the node are imported, which takes a second, a signal to end does so at once: nothing runs yet.
scripts/node.sh starts Python with SIGINT blocked, as it could not handle it before.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from types import FrameType


def main() -> int:
    """Runs the node. Returns its exit code."""
    end_signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in end_signals:
        signal.signal(number, _end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, end_signals)
    from hexapod_control.bringup.shared_process import module_of

    return int(import_module(module_of(os.path.basename(sys.argv[0]))).main())


def _end(number: int, frame: FrameType | None) -> None:
    os._exit(0)


if __name__ == "__main__":
    del sys.argv[0]
    sys.exit(main())
