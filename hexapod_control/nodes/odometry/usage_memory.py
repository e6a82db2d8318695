"""Stores the usage counters of a robot across restarts and reboots: one small JSON file, written rarely."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import time
from pathlib import Path
from typing import Any

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.core.sensing.usage import Usage

PERIOD_S = 60.0  # between two writes, as flash memory wears out
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
        self._written = time.monotonic()

    def recall(self) -> Usage:
        """Returns the counters in the file; all zero if the file is missing or cannot be used."""
        try:
            return _usage(json.loads(self.path.read_text()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return Usage()

    def keep(self, usage: Usage, *, at_once: bool = False) -> str:
        """Writes the counters, at most every PERIOD_S unless `at_once`. Returns why this failed, or an empty text."""
        now = time.monotonic()
        if not at_once and now - self._written < PERIOD_S:
            return ""
        self._written = now
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self.path, json.dumps(dataclasses.asdict(usage)))
        except OSError as error:
            return f"{self.path}: hours and distance are not kept: {error.strerror or error}; make it writable"
        return ""


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
