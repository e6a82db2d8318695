"""Ends a hung process, so that the program that started it, a launch file or `hexapod robot`, starts it again."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from hexapod_control.nodes.announcements import local_announcement
from hexapod_control.ros.monitoring.graph_identity import started_graph
from hexapod_control.web.robot_condition import RESTARTABLE_NODES


class HungProcesses:
    """The processes of the nodes beside this one."""

    def __init__(self, namespace: str) -> None:
        """`namespace` is that of this node."""
        self._namespace = namespace.rstrip("/")

    def can_restart(self, node: str) -> bool:
        """True if the program that started this process would start a node again, given by its short name."""
        return self._process(node) is not None

    def restart(self, node: str) -> str:
        """Ends the process of a silent node, empty if there is none. Returns why not; empty if it was ended."""
        process = self._process(node)
        if process is None:
            return f"{node} cannot be restarted from here" if node else "no node is silent any more"
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)  # a stopped process takes no other signal
        return ""

    def _process(self, node: str) -> int | None:
        if node not in RESTARTABLE_NODES or not started_graph():
            return None
        name = f"{self._namespace}/{node}"
        found = (each for each in local_announcement.running(self._namespace) if each.node == name)
        mine = (each.process for each in found if each.graph == started_graph())
        return next(filter(_is_sibling, mine), None)


def _is_sibling(process: int) -> bool:
    """Whether a process is another one and has the same parent, whatever has announced it."""
    with suppress(OSError, ValueError):
        fields = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return process != os.getpid() and int(fields[1]) == os.getppid()
    return False
