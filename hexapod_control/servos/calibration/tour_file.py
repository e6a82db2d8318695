# SPDX-License-Identifier: Apache-2.0
"""Keeps the finished tours of a self-calibration next to the robot file, until it ends: after Ctrl-C they count."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from hexapod_control.config.bounded_yaml import read_text
from hexapod_control.config.file_replacement import replace_file
from hexapod_control.config.robots.robot_file import RobotFile
from hexapod_control.core.calibration.closed_chains import StandingPose

SUFFIX = ".tours"  # after the name of the robot file


class TourFile:
    """The tours of one robot with one protocol. Write failures are ignored, so that the self-calibration continues."""

    def __init__(self, file: RobotFile, protocol: str) -> None:
        self._path = file.path.with_name(file.path.name + SUFFIX)
        self._measured_for = {"robot": read_text(file.path, newline=""), "protocol": protocol}
        self._legs = len(file.robot.legs)

    def write(self, poses: Sequence[StandingPose]) -> None:
        """Keeps these poses."""
        rows = [(pose.joints.tolist(), pose.tilt, pose.loads, pose.stance) for pose in poses]
        with suppress(OSError):
            replace_file(self._path, json.dumps({**self._measured_for, "poses": rows}))

    def read(self) -> list[StandingPose]:
        """The poses, none if the robot file has changed since."""
        try:
            document = json.loads(self._path.read_text(encoding="utf-8"))
            rows = document.pop("poses")
            return [self._pose(*row) for row in rows] if document == self._measured_for else []
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return []

    def remove(self) -> None:
        """Forgets the poses."""
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _pose(
        self, joints: list[list[float]], tilt: list[float] | None, loads: list[float], stance: int
    ) -> StandingPose:
        angles = np.array(joints, dtype=float).reshape(self._legs, 3)
        pose = StandingPose(angles, (tilt[0], tilt[1]) if tilt else None, tuple(loads), int(stance))
        if len(loads) != self._legs or not all(map(math.isfinite, (*angles.ravel(), *loads, *(pose.tilt or ())))):
            raise ValueError("not a pose of this robot")
        return pose
