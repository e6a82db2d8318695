# SPDX-License-Identifier: Apache-2.0
"""Stores the results of an unfinished calibration in a file next to the robot file."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from pathlib import Path

from hexapod_control.config.file_replacement import replace_file
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings

SUFFIX = ".calibration"  # after the name of the robot file


@dataclasses.dataclass(frozen=True, slots=True)
class CalibrationProgress:
    """Progress of an unfinished calibration."""

    steps: tuple[str, ...]  # all chosen ones
    step: str  # the present one
    done: int  # finished servos or legs of the present step
    joints: tuple[JointCalibration, ...]  # results so far, in row order


class ProgressFile:
    """The progress file of one robot. Write failures are ignored, so that the calibration continues."""

    def __init__(self, robot_file: Path, settings: ServoSettings) -> None:
        self.path = robot_file.with_name(robot_file.name + SUFFIX)
        self._settings = settings
        self._limits = [[joint.joint, joint.lower, joint.upper] for joint in settings.joints]  # [rad] of the robot file
        self._ids = sorted(settings.ids)

    def write(self, progress: CalibrationProgress) -> None:
        """Replaces the file."""
        known = {"protocol": self._settings.protocol, "limits": self._limits, "ids": self._ids}
        document = {**known, **dataclasses.asdict(progress)}
        with contextlib.suppress(OSError):
            replace_file(self.path, json.dumps(document, indent=1))

    def read(self) -> CalibrationProgress | None:
        """The progress, None if there is none for this protocol, these joints and these servos."""
        try:
            document = json.loads(self.path.read_text())
            known = [document.pop(key) for key in ("protocol", "limits", "ids")]
            if known != [self._settings.protocol, self._limits, self._ids]:
                return None
            joints = tuple(JointCalibration(**row) for row in document.pop("joints"))
            progress = CalibrationProgress(tuple(document["steps"]), document["step"], int(document["done"]), joints)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None
        same = [joint.joint for joint in joints] == [name for name, _, _ in self._limits]
        return progress if same else None

    def delete(self) -> None:
        """Deletes the file, if there is one."""
        self.path.unlink(missing_ok=True)
