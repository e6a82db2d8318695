"""Stores the last pose of odometry in a file, so that a node that is restarted after a crash continues from it.

Only nodes that were started as part of a graph store it: the file belongs to the graph and is removed with it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.ros.monitoring.graph_identity import started_graph, state_folder
from hexapod_control.ros.writer_thread import WriterThread

PERIOD_S = 0.1  # between two writes
MAX_WRITE_TIME_S = 0.5  # time limit for the last one
LENGTH = 512  # characters in the file; the text is padded with spaces
UNSEEN_SPEED = (0.3, 0.3, 1.0)  # [m/s, m/s, rad/s] assumed speed of the robot while the node was not running


class RememberedPose(NamedTuple):
    """A stored pose; its covariance includes the possible motion since then."""

    pose: Pose
    covariance: Array  # (3, 3) [m^2, rad^2]
    age: float  # [s]


class PoseMemory:
    """The file of one node: call `recall` once at the start, then `keep` with every new pose."""

    def __init__(self, node_name: str) -> None:
        """`node_name` is fully qualified."""
        graph = started_graph()
        self._path = Path(state_folder(graph), f"{node_name.strip('/').replace('/', '-')}.json") if graph else None
        self._written = 0.0  # [s] steady time
        self._writer = WriterThread("pose", 1)

    def recall(self) -> RememberedPose | None:
        """Returns the pose that was stored before a crash; None at the first start."""
        if self._path is None:
            return None
        try:
            stored = json.loads(self._path.read_text())
            pose = Pose(*map(float, stored["pose"]))
            covariance = np.array(stored["covariance"], dtype=float).reshape(3, 3)
            age = time.monotonic() - float(stored["time"])  # the steady clock is the same for all processes
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return RememberedPose(pose, covariance + np.diag((np.array(UNSEEN_SPEED) * age) ** 2), age)

    def keep(self, pose: Pose, covariance: Array) -> None:
        """Stores a pose, at most every PERIOD_S, in another thread; a file that cannot be written is ignored."""
        now = time.monotonic()
        if self._path is None or now - self._written < PERIOD_S:
            return
        self._written = now
        text = json.dumps({"pose": list(pose), "covariance": np.ravel(covariance).tolist(), "time": now})
        self._writer.put(partial(_write, self._path, text.ljust(LENGTH)))

    def close(self) -> None:
        """Completes the file."""
        self._writer.wait(MAX_WRITE_TIME_S)


def _write(path: Path, text: str) -> None:
    """Makes one write of the same length over the last one, so that a crash leaves no half-written file."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(text)
