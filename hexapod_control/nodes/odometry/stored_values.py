# SPDX-License-Identifier: Apache-2.0
"""What odometry stores in files: the last pose, and the usage counters.

A node that is restarted after a crash continues from the pose. Only nodes that were started as part of a graph store
it: the file belongs to the graph and is removed with it. The counters outlive restarts and reboots.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import re
import time
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.sensing.usage import Usage
from hexapod_control.ros.monitoring.graph_identity import started_graph, state_folder
from hexapod_control.ros.writer_thread import WriterThread

POSE_PERIOD_S = 0.1  # between two writes
MAX_POSE_WRITE_S = 0.5  # time limit for the last one
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
        """Stores a pose, at most every POSE_PERIOD_S, in another thread; a file that cannot be written is ignored."""
        now = time.monotonic()
        if self._path is None or now - self._written < POSE_PERIOD_S:
            return
        self._written = now
        text = json.dumps({"pose": list(pose), "covariance": np.ravel(covariance).tolist(), "time": now})
        self._writer.put(partial(_write, self._path, text.ljust(LENGTH)))

    def close(self) -> None:
        """Completes the file."""
        self._writer.wait(MAX_POSE_WRITE_S)


def _write(path: Path, text: str) -> None:
    """Makes one write of the same length over the last one, so that a crash leaves no half-written file."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(text)


USAGE_PERIOD_S = 60.0  # between two writes, as flash memory wears out
MAX_USAGE_WRITE_S = 1.0  # time limit for the last one
NUMBERS = ("on_time", "walking_time", "distance", "energy", "energy_distance")


def usage_folder() -> Path:
    """Returns the folder for state that outlives a reboot, by the XDG base directory rules of freedesktop.org."""
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state", "hexapod_control")


class UsageMemory:
    """The file of one robot: call `recall` once at the start, then `keep` regularly."""

    def __init__(self, name: str) -> None:
        """`name` identifies the robot on this computer."""
        word = re.sub(r"[^\w-]+", "-", name.strip("/"))
        self.path = usage_folder() / f"usage_{word}.json"
        self.failure = ""  # why the last write failed
        self._written = time.monotonic()
        self._writer = WriterThread("usage", 1)

    def recall(self) -> Usage:
        """Returns the counters in the file; all zero if the file is missing or cannot be used."""
        try:
            return _usage(json.loads(self.path.read_text()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Usage()

    def keep(self, usage: Usage) -> None:
        """Writes the counters at most every USAGE_PERIOD_S, in another thread."""
        now = time.monotonic()
        if now - self._written >= USAGE_PERIOD_S:
            self._written = now
            self._writer.put(partial(self._write, usage))

    def close(self, usage: Usage) -> None:
        """Writes the counters a last time."""
        self._writer.put(partial(self._write, usage))
        self.wait()

    def wait(self) -> None:
        """Waits until the counters are written."""
        self._writer.wait(MAX_USAGE_WRITE_S)

    def _write(self, usage: Usage) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, json.dumps(dataclasses.asdict(usage)))
        except OSError as error:
            reason = error.strerror or error
            self.failure = f"{self.path}: hours and distance are not kept: {reason}; make it writable"
        else:
            self.failure = ""


def _usage(values: dict[str, Any]) -> Usage:
    volts = values["lowest_voltage"]
    usage = Usage(
        **{name: float(values[name]) for name in NUMBERS},
        lowest_voltage=None if volts is None else float(volts),
        cycles=tuple(float(count) for count in values["cycles"]),
    )
    numbers = (*(getattr(usage, name) for name in NUMBERS), usage.lowest_voltage or 0.0, *usage.cycles)
    if not all(math.isfinite(number) and number >= 0.0 for number in numbers):
        raise ValueError("a count is negative or not finite")
    return usage
