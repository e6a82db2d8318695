# SPDX-License-Identifier: Apache-2.0
"""Emulated servos that the commands of this folder find behind a link."""

import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.emulated_robot.robot_emulator import emulate
from hexapod_control.servos.settings.servo_section import servo_settings


@pytest.fixture
def wire(tmp_path):
    """Emulates the servos of a robot with a protocol."""
    made = []

    def make(protocol="feetech_st"):
        file, link = load("phantomx"), tmp_path / "bus"
        made.append(emulate(file.robot, servo_settings(file, protocol, str(link)), link))
        return made[-1]

    yield make
    for each in made:
        each.pty.close()
