# SPDX-License-Identifier: Apache-2.0
"""Extra joints in physics: they go where they are aimed, beside legs with and without errors, in every world."""

import math

import mujoco
import numpy as np
import pytest
from support.robots.head import gripper, head

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


@pytest.mark.parametrize("target", [0.005, 0.019])
def test_a_finger_slides_where_it_is_aimed_and_what_mimics_it_follows(target):
    """Metres of the finger are radians of its servo, also in the exported model."""
    file = gripper()
    wrist, finger = file.robot.extra_servos
    simulation = Simulation(file.robot, urdf(file), WorldSettings())
    aim = np.array([0.5, target / finger.ratio])
    simulation.aim_extra(aim)
    simulation.step(STANDING, 1.0)
    assert simulation.reading().extra.angles == pytest.approx(aim.tolist(), abs=0.05)
    moved = ("left_finger", "right_finger", "tip")
    at = {name: float(simulation.data.joint(f"{name}_joint").qpos[0]) for name in moved}
    assert at["left_finger"] == pytest.approx(target, abs=4e-4)
    assert at["right_finger"] == pytest.approx(-1.5 * at["left_finger"] - 0.001, abs=3e-4)
    assert at["tip"] == pytest.approx(20.0 * at["left_finger"] + math.radians(5.0), abs=0.02)
    simulation.reset(STANDING)
    assert simulation.reading().extra.angles == pytest.approx(aim.tolist(), abs=0.05)
    model = mujoco.MjModel.from_xml_string(mjcf(simulation, 0.02))
    assert (model.nu, model.neq) == (3 * len(file.robot.legs) + 2, 2)
    assert model.actuator("left_finger_joint").gear[0] == pytest.approx(1.0 / finger.ratio, rel=1e-9)
    assert model.equality(0).data[:2] == pytest.approx([-0.001, -1.5], rel=1e-9)
    assert wrist.ratio == 1.0


def test_the_exported_model_has_their_servos(simulation):
    model = mujoco.MjModel.from_xml_string(mjcf(simulation, 0.02))
    assert model.nu == 3 * len(FILE.robot.legs) + 2
    assert model.key_ctrl[0, -1] == pytest.approx(FILE.robot.extra_joints[1].rest)
