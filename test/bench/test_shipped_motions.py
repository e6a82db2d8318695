# SPDX-License-Identifier: Apache-2.0
"""The shipped motions in physics: player and MuJoCo in lock step."""

import pytest
import shipped_motions as figures
from support.drives import ROBOTS
from support.suite.soak import SOAK

from hexapod_control.config.motion_file import known_motions
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

FILES = {name: load(name) for name in ROBOTS}
LONG = () if SOAK else ("bow", "dance", "sit_and_look_around", "stretch", "twist")  # rehearsed by test_motion_files.py
NAMES = [name for name in (*(posture.name for posture in figures.POSTURES), *known_motions()) if name not in LONG]


@pytest.mark.parametrize("robot", FILES if SOAK else ("phantomx",))
@pytest.mark.parametrize("name", NAMES)
def test_soak_of_motions_every_one_keeps_its_limits_in_physics(name, robot):
    file = FILES[robot]
    (motion,) = (motion for motion in figures.motions(file.robot) if motion.name == name)
    found = figures.perform(file.robot, urdf(file), motion)
    assert not found.broken(figures.limits(motion)), figures.line(motion, found)
    assert found.time == pytest.approx(found.rehearsed, abs=0.5)


def test_servos_that_cannot_carry_the_robot_break_the_limits():
    file = FILES["phantomx"]
    (motion,) = (motion for motion in figures.motions(file.robot) if motion.name == "stand_up")
    found = figures.perform(file.robot, urdf(file), motion, settings=WorldSettings(servo_model="mg90s"))
    assert {"saturation", "tilt"} & set(found.broken(figures.MOTION)), figures.line(motion, found)
