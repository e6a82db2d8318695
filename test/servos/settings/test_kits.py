# SPDX-License-Identifier: Apache-2.0
"""The robot file of a kit: valid, and with the channels and pulses of the kit's own program."""

import math

import numpy as np
import pytest
from support.paths import ROOT

from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.servos.settings.io_section import io_settings
from hexapod_control.servos.settings.servo_section import servo_settings

FREENOVE = load("freenove")
CHANNELS = {  # leg -> coxa, femur, tibia, as in Control.py of the kit
    "right_front": (15, 14, 13),
    "right_middle": (12, 11, 10),
    "right_rear": (9, 8, 31),
    "left_rear": (22, 23, 27),
    "left_middle": (19, 20, 21),
    "left_front": (16, 17, 18),
}


def test_the_file_of_the_kit_is_valid_and_on_the_page():
    assert servo_settings(FREENOVE).protocol == "pca9685"
    assert io_settings(FREENOVE).imu is not None
    assert "`config/robots/freenove.yaml`" in (ROOT / "docs" / "kits.md").read_text()


def pulses_of_the_kit(point, left):
    """Pulses [us] of coxa, femur and tibia for a foot [mm] in the frame of its leg, x outwards, z up (Control.py)."""
    x, y, z = point
    coxa = math.pi / 2.0 - math.atan2(y, x)
    reach = math.hypot(-z, x - 33.0 * math.sin(coxa), y - 33.0 * math.cos(coxa))
    femur = math.asin(-z / reach) - math.acos((90.0**2 + reach**2 - 110.0**2) / (2.0 * 90.0 * reach))
    tibia = math.pi - math.acos((90.0**2 + 110.0**2 - reach**2) / (2.0 * 90.0 * 110.0))
    a, b, c = map(math.degrees, (coxa, femur, tibia))
    angles = (a, 90.0 + b, 180.0 - c) if left else (a, 90.0 - b, c)
    return [10.0 * angle + 850.0 for angle in angles]


def test_the_pulses_of_a_freenove_are_those_of_its_own_program():
    robot, joints = FREENOVE.robot, servo_settings(FREENOVE).joints
    rng = np.random.default_rng(1)
    for _ in range(50):
        angles = rng.uniform((-0.6, -0.6, -1.6), (0.6, 0.6, -0.6), (6, 3))  # feet outside of the femur axis
        feet = forward(robot, angles)
        for row, leg in enumerate(robot.legs):
            ids = tuple(joint.id for joint in joints[3 * row : 3 * row + 3])
            assert ids == CHANNELS[leg.name]
            offset = 1000.0 * (feet[row] - np.array(leg.hip))
            cos, sin = math.cos(leg.hip_yaw), math.sin(leg.hip_yaw)
            out, across = cos * offset[0] + sin * offset[1], cos * offset[1] - sin * offset[0]
            # The kit's 110 mm end at the tip of the foot, here the tibia ends at the center of its ball.
            tip = 0.006 * 1000.0
            pitch = angles[row, 1] + angles[row, 2]
            out += tip * math.cos(pitch) * math.cos(angles[row, 0])
            across += tip * math.cos(pitch) * math.sin(angles[row, 0])
            point = (out, across, offset[2] + tip * math.sin(pitch))
            own = [joints[3 * row + k].raw(angles[row, k]) for k in range(3)]
            assert own == pytest.approx(pulses_of_the_kit(point, leg.name.startswith("left")), abs=1.5)
