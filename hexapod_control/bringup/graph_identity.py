"""Which graph a process belongs to: processes that are started together share an id, passed on in the environment."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import uuid
from pathlib import Path

VARIABLE = "HEXAPOD_GRAPH"


def new_graph() -> str:
    """An id for processes that are about to be started together."""
    return uuid.uuid4().hex[:12]


def started_graph() -> str:
    """The id that this process was started with; empty if it was started by hand."""
    return os.environ.get(VARIABLE, "")


def graph() -> str:
    """The id of this process's graph; nodes started by hand in one terminal belong together."""
    return started_graph() or f"{socket.gethostname()}:{os.getsid(0)}"


def state_folder(graph_id: str) -> Path:
    """Where the nodes of a graph keep what they need after a restart."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), f"hexapod_{graph_id}")


def remove_state(graph_id: str) -> None:
    """Removes what the nodes of a graph have kept, at its end."""
    shutil.rmtree(state_folder(graph_id), ignore_errors=True)
