"""The entry point of every node. The name of the program, or with `python -m` its first argument, selects the node.

SIGINT is blocked while the modules of the node are imported, which takes a second: node_process.py then handles it.
Otherwise Ctrl-C in that second would end the node with a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module


def main() -> int:
    """Runs the node. Returns its exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    from hexapod_control.bringup.command_line import module_of

    return int(import_module(module_of(os.path.basename(sys.argv[0]))).main())


if __name__ == "__main__":
    del sys.argv[0]
    sys.exit(main())
