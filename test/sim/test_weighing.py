# SPDX-License-Identifier: Apache-2.0
"""A robot in physics weighs what it carries: within what the friction of its servos hides."""

import numpy as np

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.sensing.payload import weigh
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings


def weighed(payload):
    file = load("phantomx")
    simulation = Simulation(file.robot, urdf(file), WorldSettings(payload=payload))
    targets = np.array(standing_joints(file.robot))
    simulation.reset(targets)
    simulation.step(targets, 2.0)
    reading = simulation.reading()
    return weigh(file.robot, reading.joints, reading.joint_torque)


def test_a_load_is_felt_and_none_where_there_is_none():
    assert not weighed(0.0).is_significant
    for mass in (0.8, 1.5):
        found = weighed(mass)
        assert found.is_significant
        assert abs(found.mass - mass) < found.mass_deviation
        assert np.hypot(*found.place) < 0.01
