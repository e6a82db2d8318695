# SPDX-License-Identifier: Apache-2.0
"""The robot in tests of servos and nodes: its joint angles when it stands and when it lies, and its joint limits.

Joint angles have shape (legs, 3) and unit rad: legs in the order of the robot file; columns coxa, femur, tibia.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np

from hexapod_control.config.robots.robot_file import load, resolve
from hexapod_control.core.kinematics.whole_body import joints_at_offset
from hexapod_control.core.posture import stand_up
from hexapod_control.core.robot import Robot

HOBBY_SERVO_LIMITS_DEG = (("coxa", -60, 60), ("femur", -70, 80), ("tibia", -150, -5))


@cache
def robot() -> Robot:
    return load("phantomx").robot


LEGS = robot().leg_names
LIMITS = np.array([[(j.lower, j.upper, j.no_load_speed) for j in leg.joints] for leg in robot().legs])
"""Lower and upper limit [rad] and no-load speed [rad/s] of every joint (legs, 3, 3)."""


def standing_joints() -> np.ndarray:
    """Joint angles of the neutral stance."""
    return _at_offset(0.0).copy()


def lying() -> np.ndarray:
    """Joint angles with the feet on their neutral footholds and the belly on the ground."""
    return _at_offset(_lying_offset()).copy()


@cache
def _lying_offset() -> float:
    return stand_up.lying_offset(robot(), [leg.foothold for leg in robot().legs])


@cache
def _at_offset(offset: float) -> np.ndarray:
    """Joint angles with the feet on their neutral footholds and the body so much [m] above its walk height."""
    return np.array(joints_at_offset(robot(), [leg.foothold for leg in robot().legs], offset))


def narrow_file(path: Path) -> Path:
    """Writes a copy of the robot file with joint limits that a hobby servo reaches wherever its horn is mounted."""
    text = resolve("phantomx").read_text()
    for joint, lower, upper in HOBBY_SERVO_LIMITS_DEG:
        text, count = re.subn(
            rf"{joint}: {{lower_deg: [-\d.]+, upper_deg: [-\d.]+}}",
            f"{joint}: {{lower_deg: {lower}.0, upper_deg: {upper}.0}}",
            text,
        )
        assert count == 1
    path.write_text(text)
    return path


def mistaken_file(path: Path) -> Path:
    """Writes a copy of the robot file whose stall torque is in kg cm."""
    path.write_text(resolve("phantomx").read_text().replace("stall_torque: 1.5 ", "stall_torque: 15.3 "))
    return path
