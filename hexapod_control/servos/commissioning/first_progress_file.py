"""The progress file of the first evening, next to the robot file; every change is written at once."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.servos.commissioning.stages import BY_KEY, FirstProgress

SUFFIX = ".first.json"  # after the name of the robot file


class FirstProgressFile:
    """The file of one robot."""

    def __init__(self, robot_file: Path) -> None:
        self.path = robot_file.with_name(robot_file.name + SUFFIX)

    def read(self) -> FirstProgress:
        """The progress; a new one without a usable file."""
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            done = {str(k): str(v) for k, v in document["done"].items() if k in BY_KEY}
            wire = {str(k): str(v) for k, v in document["wire"].items()}
            return FirstProgress(done, wire, float(document["voltage"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return FirstProgress()

    def write(self, progress: FirstProgress) -> None:
        """Replaces the file, also on the disk."""
        replace_file(self.path, json.dumps(dataclasses.asdict(progress), indent=1))
