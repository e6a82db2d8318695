"""The section `odometry_scale` of a robot file: what a calibration found the feet to say too little or too much."""

from __future__ import annotations

import math

from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.robot_file import RobotFile

KEYS = ("distance", "turn")
LEAST, MOST = 0.5, 2.0


def odometry_scale(robot_file: RobotFile) -> tuple[float, float]:
    """(distance, turn): factors on what the feet say, 1 without the section. Raises RobotFileError."""
    section = robot_file.odometry_scale
    if section is None:
        return 1.0, 1.0
    if not isinstance(section, dict) or set(section) != set(KEYS):
        raise _error(robot_file, f"is {section!r}", f"must have the keys {' and '.join(KEYS)}")
    for key in KEYS:
        value = section[key]
        number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not LEAST <= value <= MOST:
            raise _error(robot_file, f"{key} is {value!r}", f"must be a number within {LEAST} and {MOST}")
    return float(section["distance"]), float(section["turn"])


def _error(robot_file: RobotFile, what: str, bound: str) -> RobotFileError:
    hint = "remove the section, or calibrate again"
    return RobotFileError(robot_file.path, None, "odometry_scale", what, bound, hint)
