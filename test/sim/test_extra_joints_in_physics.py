# SPDX-License-Identifier: Apache-2.0
"""Extra joints in physics: they go where they are aimed, beside legs with and without errors, in every world."""

import mujoco
import numpy as np
import pytest
from support.robots.head import head

from hexapod_control.config.robots.urdf import urdf
from hexapod_control.sim.mjcf import mjcf
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import standing_pose
from hexapod_control.sim.world_settings import WorldSettings

FILE = head()
STANDING = standing_pose(FILE.robot)


@pytest.fixture(params=["ideal", "worn"])
def simulation(request):
    return Simulation(FILE.robot, urdf(FILE), WorldSettings(reality=request.param))


def test_they_reach_their_targets_hold_without_moving_the_legs_and_fall_without_torque(simulation):
    simulation.aim_extra(np.array([0.8, 0.9]))
    simulation.step(STANDING, 1.0)
    reading = simulation.reading()
    assert reading.extra.angles == pytest.approx((0.8, 0.9), abs=0.03)
    assert np.abs(simulation.servo_angles - [*simulation.joints.ravel(), *reading.extra.angles]).max() == 0.0
    assert np.abs(reading.joints - STANDING).max() < 0.2
    assert not simulation.unwanted_contacts()
    simulation.release()
    simulation.step(STANDING, 0.2)
    assert not np.any(simulation.reading().extra.torques)
    simulation.engage()
    simulation.step(STANDING, 1.0)
    assert simulation.reading().extra.angles == pytest.approx((0.8, 0.9), abs=0.03)


def test_a_reset_and_another_world_keep_their_angles(simulation):
    simulation.aim_extra(np.array([-0.6, 0.5]))
    simulation.step(STANDING, 1.0)
    before = simulation.reading().extra.angles
    simulation.reset(STANDING)
    assert simulation.reading().extra.angles == pytest.approx(before)
    other = simulation.changed(urdf(FILE), WorldSettings(friction=0.5))
    other.take_over(simulation)
    other.step(STANDING, 0.2)
    assert other.reading().extra.angles == pytest.approx(before, abs=0.01)


def test_the_exported_model_has_their_servos(simulation):
    model = mujoco.MjModel.from_xml_string(mjcf(simulation, 0.02))
    assert model.nu == 3 * len(FILE.robot.legs) + 2
    assert model.key_ctrl[0, -1] == pytest.approx(FILE.robot.extra_joints[1].rest)
