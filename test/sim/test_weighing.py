# SPDX-License-Identifier: Apache-2.0
"""A robot in physics weighs what it carries, to the gram: the friction of its servos is all that hides a load."""

import numpy as np

from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.sensing.payload import weigh
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.world_settings import WorldSettings


def weighed(payload, name="phantomx"):
    file = load(name)
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
        assert abs(found.mass - mass) < 0.01
        assert np.hypot(*found.place) < 0.01


def test_the_lever_of_the_ball_under_the_foot_counts():
    for mass in (0.2, 1.5):
        found = weighed(mass, "freenove")
        assert abs(found.mass - mass) < 0.01
        assert np.hypot(*found.place) < 0.01
