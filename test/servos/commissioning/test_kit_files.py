# SPDX-License-Identifier: Apache-2.0
"""Kits with files of the package: calibrated right they raise no alarm, and one wrong joint raises one."""

import math
import random
from dataclasses import replace

import pytest
from support.kits.calibrating_user import User
from support.kits.memory_wire import Kit

from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.calibration.calibration_state import REST_POSE, CalibrationState
from hexapod_control.servos.calibration.steps.horn_fit import TOOTH, fit_horns
from hexapod_control.servos.calibration.steps.rest_pose import horns_off
from hexapod_control.servos.protocol_registry import scale
from hexapod_control.servos.settings.servo_section import servo_settings

KITS = {"freenove": "pca9685", "big_hex": "lx16a", "chica": "pca9685"}


def kit_settings(name):
    """The robot and its servos; if the file has none, their middle is the rest pose."""
    file = load(name)
    settings = servo_settings(file, KITS[name], "/dev/hexapod")
    if file.servos is not None:
        return file.robot, settings
    per_rad = scale(settings.protocol).per_rad
    units = {"units_per_rad": per_rad, "units_per_rad_neg": per_rad}
    joints = [replace(j, q_center=REST_POSE[k % 3], **units) for k, j in enumerate(settings.joints)]
    return file.robot, replace(settings, joints=tuple(joints))


def shifted(joint, angle):
    """The calibration of a joint whose horn is turned by an angle [rad]."""
    return replace(joint, center=joint.center - joint.direction * angle * joint.units_per_rad)


@pytest.mark.parametrize("name", KITS)
def test_a_kit_that_is_calibrated_as_its_file_says_raises_no_alarm_and_a_wrong_joint_one(name):
    robot, settings = kit_settings(name)
    units = scale(settings.protocol, settings.options)
    draw = random.Random(1)
    fine = [shifted(joint, draw.uniform(-0.45, 0.45) * 0.8 * TOOTH) for joint in settings.joints]
    assert horns_off(robot, fine, settings.joints, units) == []
    for row in (1, 5, len(fine) - 1):
        wrong = [shifted(joint, math.radians(28.0)) if k == row else joint for k, joint in enumerate(fine)]
        assert [found for found, _ in horns_off(robot, wrong, settings.joints, units)] == [row]


@pytest.mark.parametrize("name", [name for name in KITS if load(name).servos is not None])
def test_the_limits_of_a_kit_file_leave_the_horns_their_half_tooth(name):
    robot, settings = kit_settings(name)
    user = User(Kit())
    for off in (-0.5, 0.5):
        joints = [shifted(joint, off * TOOTH) for joint in settings.joints]
        state = CalibrationState(robot, joints, Kit().jogger(Kit().bus()), user)
        fit_horns(state, lambda rows: None)
    assert not user.shown("narrow_reach")
