"""Limits of the tilt of the body: for standing, and for folding the legs to stand up after a fall."""

from __future__ import annotations

import math

from hexapod_control.core.robot import Robot
from hexapod_control.core.statics.static_stability import static_margin
from hexapod_control.core.workspace.robot_gaits import neutral_center

MAX_STANDING_TILT_RAD = math.radians(45.0)  # on steeper ground the feet slide
UPSIDE_DOWN_RAD = math.radians(100.0)  # with a greater tilt the robot does not roll back onto its belly


def tilt_angle(roll: float, pitch: float) -> float:
    """Returns the angle [rad] between the body's z axis and the vertical."""
    return math.acos(max(-1.0, min(1.0, math.cos(roll) * math.cos(pitch))))


def standing_limit(robot: Robot) -> float:
    """Returns the tilt [rad] beyond which the robot cannot stand: it tips over its nearest edge, or slides."""
    margin = static_margin(robot.footholds, neutral_center(robot))
    return min(math.atan2(margin, robot.walk.height), MAX_STANDING_TILT_RAD)
