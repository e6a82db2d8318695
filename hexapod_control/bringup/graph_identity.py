"""Which graph a process belongs to: processes that are started together share an id, passed on in the environment."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from functools import cache
from pathlib import Path

VARIABLE = "HEXAPOD_GRAPH"
SEPARATOR = "@"  # between the id and the steady time [s] of the start, which is the same for all processes of a host
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
IMPORTED_AT_S = time.monotonic()


def new_graph() -> str:
    """An id for processes that are about to be started together."""
    return f"{uuid.uuid4().hex[:12]}{SEPARATOR}{time.monotonic():.3f}"


def started_graph() -> str:
    """The id that this process was started with; empty if it was started by hand."""
    return os.environ.get(VARIABLE, "")


def started_at() -> float:
    """Steady time [s] at which this process's graph was started; for a node started by hand that of the process."""
    try:
        return float(started_graph().partition(SEPARATOR)[2])
    except ValueError:
        return IMPORTED_AT_S


@cache
def machine() -> str:
    """An id of this start of this machine; steady times of one machine can be compared."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return f"{uuid.getnode():x}"


def state_folder(graph_id: str) -> Path:
    """Where the nodes of a graph keep what they need after a restart."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), f"hexapod_{graph_id}")


def remove_state(graph_id: str) -> None:
    """Removes what the nodes of a graph have kept, at its end."""
    shutil.rmtree(state_folder(graph_id), ignore_errors=True)
