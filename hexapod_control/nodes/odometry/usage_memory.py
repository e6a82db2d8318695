"""Stores the usage counters of a robot across restarts and reboots: one small JSON file, written rarely."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import time
from functools import partial
from pathlib import Path
from typing import Any

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.core.sensing.usage import Usage
from hexapod_control.ros.writer_thread import WriterThread

PERIOD_S = 60.0  # between two writes, as flash memory wears out
MAX_WRITE_TIME_S = 1.0  # time limit for the last one
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
        """Writes the counters at most every PERIOD_S, in another thread."""
        now = time.monotonic()
        if now - self._written >= PERIOD_S:
            self._written = now
            self._writer.put(partial(self._write, usage))

    def close(self, usage: Usage) -> None:
        """Writes the counters a last time."""
        self._writer.put(partial(self._write, usage))
        self.wait()

    def wait(self) -> None:
        """Waits until the counters are written."""
        self._writer.wait(MAX_WRITE_TIME_S)

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
