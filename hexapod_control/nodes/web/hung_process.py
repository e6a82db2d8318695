"""Ends a hung process, so that the program that started it, a launch file or `hexapod robot`, starts it again."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from hexapod_control.nodes.announcements import local_announcement
from hexapod_control.ros.monitoring.graph_identity import started_graph


def process_of(node: str) -> int | None:
    """The process id of a node by its full name; None unless the program that started this process restarts it."""
    namespace = node.rpartition("/")[0]
    for found in local_announcement.running(namespace) if started_graph() else ():
        if (found.node, found.graph) == (node, started_graph()) and _is_sibling(found.process):
            return found.process
    return None


def end(process: int) -> None:
    """Ends a process at once: a stopped one takes no other signal."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _is_sibling(process: int) -> bool:
    """Whether a process is another one and has the same parent, whatever has announced it."""
    with suppress(OSError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return process != os.getpid() and int(fields[1]) == os.getppid()
    return False
