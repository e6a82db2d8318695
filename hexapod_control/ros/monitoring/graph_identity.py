# SPDX-License-Identifier: Apache-2.0
"""Identity of a node graph: processes started together share an id in an environment variable."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import uuid
from enum import StrEnum
from functools import cache
from pathlib import Path

VARIABLE = "HEXAPOD_GRAPH"
SEPARATOR = "@"  # between the id and the steady time [s] of the start, which is the same clock in all processes
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
IMPORTED_AT_S = time.monotonic()


class Phase(StrEnum):
    """What a node does for its robot, as it announces it."""

    DRIVING = "driving"
    STOPPING = "stopping"  # makes way for another graph: until the feet are down, or until a requested motion has ended
    SILENT = "silent"  # the same at rest: neither publishes nor follows targets, so that the servos hold


def new_graph() -> str:
    """Returns a new id for processes to be started together."""
    return f"{uuid.uuid4().hex[:12]}{SEPARATOR}{time.monotonic():.3f}"


def started_graph() -> str:
    """Returns the graph id that this process was started with; empty if it was started alone."""
    return os.environ.get(VARIABLE, "")


def started_at() -> float:
    """Returns the steady time [s] at which the graph of this process was started, or a process started alone."""
    try:
        return float(started_graph().partition(SEPARATOR)[2])
    except ValueError:
        return IMPORTED_AT_S


@cache
def machine() -> str:
    """Returns the boot id of this computer; only steady times with the same boot id can be compared."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return f"{uuid.getnode():x}"


def state_folder(graph_id: str) -> Path:
    """Returns the folder for the state that the nodes of a graph need after a restart."""
    return Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir(), f"hexapod_{graph_id}")


def remove_state(graph_id: str) -> None:
    """Removes the state folder of a graph, at its end."""
    shutil.rmtree(state_folder(graph_id), ignore_errors=True)
