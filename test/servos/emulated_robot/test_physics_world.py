# SPDX-License-Identifier: Apache-2.0
"""Servos that are the joints of a simulated robot: raw units and signs, and the profile to a goal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault
from hexapod_control.servos.emulated_robot.physics_world import PhysicsWorld
from hexapod_control.servos.settings.joint_calibration import JointCalibration

SCALE = RawScale("tick", 0, 4095, 2048, 650.0)
JOINTS = tuple(
    JointCalibration(
        f"joint_{k}", k + 1, 2000.0 + 10 * k, (-1) ** k, 600.0 + k, 700.0 + k, 0.1 * k, 0.02, 0, 4095, -2, 2
    )
    for k in range(6)
)
quick = settings(max_examples=40)


class Body:
    """A robot of two legs whose joints stand still where the test puts them."""

    def __init__(self):
        self.servo_angles = np.array([0.1, -0.2, 0.3, 0.4, 0.5, -0.6])
        self.servo_speeds = np.array([1.0, -2.0, 0.5, 0.0, 3.0, -1.0])
        self.servo_efforts = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])
        self.supply_share = 0.9
        self.temperature_rise = np.array([[0.0, 5.0, 0.0], [0.0, 0.0, 0.0]])
        self.held = None

    def hold(self, on):
        self.held = np.array(on)


@pytest.fixture
def body():
    return Body()


@pytest.fixture
def world(body):
    return PhysicsWorld(JOINTS, SCALE, lambda: body, lambda now: None)


def all_of(world, read):
    return np.array([read(index) for index in range(world.count)])


def test_position_speed_and_load_are_those_of_the_joints_in_the_units_and_signs_of_the_servos(world, body):
    angles = body.servo_angles
    assert all_of(world, world.position) == pytest.approx([j.raw(q) for j, q in zip(JOINTS, angles, strict=True)])
    width = 1e-6  # [s]
    later = angles + width * body.servo_speeds
    rates = [(j.raw(q1) - j.raw(q0)) / width for j, q0, q1 in zip(JOINTS, angles, later, strict=True)]
    assert all_of(world, world.speed) == pytest.approx(rates, rel=1e-5)
    signs = [joint.direction for joint in JOINTS]
    assert all_of(world, world.load) == pytest.approx(signs * body.servo_efforts)


def test_the_speed_at_the_center_has_the_units_above_it(world, body):
    for k, joint in enumerate(JOINTS):
        body.servo_angles.flat[k] = joint.q_center + joint.trim
    body.servo_speeds[:] = 1.0
    world.step(0.0)
    assert all_of(world, world.speed) == pytest.approx([j.direction * j.units_per_rad for j in JOINTS])


def test_the_state_is_sampled_once_per_step(world, body):
    before = all_of(world, world.position)
    body.servo_angles += 0.1
    assert np.array_equal(all_of(world, world.position), before)
    world.step(1.0)
    assert not np.isclose(all_of(world, world.position), before).any()


def test_a_step_lets_the_physics_come_to_its_time(body):
    times = []
    PhysicsWorld(JOINTS, SCALE, lambda: body, times.append).step(3.5)
    assert times == [3.5]


def test_quantities_without_a_model_in_physics_are_constant(world):
    assert world.count == 6
    assert set(all_of(world, world.answers)) == {1}
    assert all_of(world, world.voltage) == pytest.approx([0.9 * 11.1] * 6)
    assert all_of(world, world.temperature) == pytest.approx([35.0, 40.0, 35.0, 35.0, 35.0, 35.0])
    assert set(all_of(world, world.fault)) == {ServoFault.NONE}
    assert set(all_of(world, world.power_cycles)) == {0}


def test_each_servo_with_torque_takes_a_current_that_grows_with_its_load(world, body):
    assert world.current() == 0.0
    world.torque(1, True)
    world.torque(5, True)
    assert world.current() == pytest.approx(0.05 + 0.2 + 0.05 + 0.6)


def test_torque_is_switched_per_servo_of_the_body_and_a_reboot_takes_it(world, body):
    world.torque(4, True)
    world.torque(2, True)
    assert body.held.tolist() == [False, False, True, False, True, False]
    world.reboot(4)
    assert body.held.tolist() == [False, False, True, False, False, False]
    assert [world.has_torque(index) for index in range(6)] == [False, False, True, False, False, False]
    body.held = None
    world.torque(2, True)  # nothing to switch
    assert body.held is None
    world.engage()
    assert body.held.tolist() == [False, False, True, False, False, False]


@quick
@given(st.floats(0.0, 1.0), st.lists(st.floats(0.001, 0.2), min_size=1, max_size=8))
def test_a_reference_goes_evenly_to_its_goal_in_the_duration_and_stays_there(duration, steps):
    body = Body()
    world = PhysicsWorld(JOINTS, SCALE, lambda: body, lambda now: None)
    for index in (0, 3):
        world.torque(index, True)
        world.goal(index, JOINTS[index].raw(1.2), duration)
        assert world.target(index) == pytest.approx(JOINTS[index].raw(1.2))
    start, passed = np.array(body.servo_angles), 0.0
    for dt in steps:
        passed += dt
        share = 1.0 if passed >= duration else passed / duration
        expected = np.array(start)
        expected[::3] += share * (1.2 - start[::3])
        assert world.reference(dt) == pytest.approx(expected, abs=1e-9)
        assert np.array_equal(world.references, world.reference(0.0))


def test_references_without_torque_follow_the_joints_and_start_there_when_it_comes(world, body):
    world.goal(1, JOINTS[1].raw(1.0), 0.5)
    body.servo_angles += 0.05
    assert np.array_equal(world.reference(0.1), body.servo_angles)
    body.servo_angles += 0.05
    world.torque(1, True)
    assert world.references[1] == body.servo_angles[1]
    assert world.references[0] == pytest.approx(body.servo_angles[0] - 0.05)


def test_references_that_are_handed_out_are_copies(world):
    world.references[:] = 9.0
    assert np.abs(world.references).max() < 1.0
