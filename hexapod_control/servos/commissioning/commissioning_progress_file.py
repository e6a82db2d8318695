# SPDX-License-Identifier: Apache-2.0
"""The progress file of a commissioning, next to the robot file."""

from __future__ import annotations

import json
from pathlib import Path

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.commissioning.stages import BY_KEY, CommissioningProgress

SUFFIX = ".first.json"  # after the name of the robot file


class CommissioningProgressFile:
    """The file of one robot. Life cycle: `read` at the start, `write` after every change."""

    def __init__(self, robot_file: Path) -> None:
        self.path = robot_file.with_name(robot_file.name + SUFFIX)

    def read(self) -> CommissioningProgress:
        """The progress; a new one if there is no usable file."""
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
            done = {str(k): Sentence.from_json(v) for k, v in document["done"].items() if k in BY_KEY}
            wire = {str(k): str(v) for k, v in document["wire"].items()}
            return CommissioningProgress(done, wire, float(document["voltage"]))
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return CommissioningProgress()

    def write(self, progress: CommissioningProgress) -> None:
        """Replaces the file."""
        done = {key: result.as_json() for key, result in progress.done.items()}
        document = {"done": done, "wire": progress.wire, "voltage": progress.voltage}
        replace_file(self.path, json.dumps(document, indent=1))
