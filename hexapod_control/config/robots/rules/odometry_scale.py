"""The section `odometry_scale` of a robot file: calibrated factors on distance and heading change."""

from __future__ import annotations

from hexapod_control.config.document import DocumentEntry
from hexapod_control.config.robots.robot_keys import ODOMETRY_SCALE
from hexapod_control.config.schema import refuse_unknown


def odometry_scale(file: DocumentEntry) -> tuple[float, float]:
    """Factors on (distance, heading change) of the feet; 1 without the section. Raises RobotFileError."""
    section = file.children.get("odometry_scale")
    if section is None:
        return 1.0, 1.0
    refuse_unknown(section, dict.fromkeys(row.key for row in ODOMETRY_SCALE))
    distance, turn = (row.number(section) for row in ODOMETRY_SCALE)
    return distance, turn
