# SPDX-License-Identifier: Apache-2.0
"""Emulated servos: the motion of a first-order lag with a maximum speed, torque, faults, plugs and supply."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault
from hexapod_control.servos.emulator.servo_world import LagWorld

SCALE = RawScale("tick", 0, 4095, 2048, 650.0)
LAG_S, SPEED = 0.05, 4.0  # [s], [rad/s]
FASTEST = SPEED * SCALE.per_rad  # [raw/s]
BEND = FASTEST * LAG_S  # [raw] distance within which the lag rules, beyond it the speed limit
quick = settings(max_examples=40)


def moving(start, goal, duration=0.0):
    """One servo on its way from `start` to `goal` [raw], at time 0."""
    world = LagWorld(SCALE, 1, positions=[start], lag=LAG_S, speed=SPEED)
    world.step(0.0)
    world.torque(0, True)
    world.goal(0, goal, duration)
    return world


@quick
@given(st.floats(0, 4095), st.floats(0, 4095), st.lists(st.floats(1e-3, 0.3), min_size=2, max_size=6))
def test_the_motion_does_not_depend_on_the_steps_it_is_computed_in(start, goal, steps):
    fine, coarse = moving(start, goal), moving(start, goal)
    for now in np.cumsum(steps):
        fine.step(float(now))
    coarse.step(float(np.cumsum(steps)[-1]))
    assert fine.position(0) == pytest.approx(coarse.position(0), abs=1e-6)
    assert fine.speed(0) == pytest.approx(coarse.speed(0), abs=1e-4)


@quick
@given(st.floats(0, 4095), st.floats(0, 4095), st.floats(1e-3, 1.0))
def test_the_speed_is_the_rate_of_the_position_within_its_limit_and_leads_to_the_goal(start, goal, now):
    world, width = moving(start, goal), 1e-6
    world.step(now)
    before, speed = world.position(0), world.speed(0)
    world.step(now + width)
    assert (world.position(0) - before) / width == pytest.approx(speed, rel=1e-3, abs=0.02)
    assert abs(speed) <= FASTEST * (1.0 + 1e-9)
    assert abs(goal - before) <= abs(goal - start)
    assert (goal - before) * (goal - start) >= 0.0  # no overshoot


def test_a_far_goal_is_approached_at_full_speed_and_a_near_one_with_the_lag():
    far, near = moving(0.0, BEND + 500.0), moving(0.0, 0.5 * BEND)
    far.step(0.1)
    near.step(0.1)
    assert far.position(0) == pytest.approx(0.1 * FASTEST)
    assert near.position(0) == pytest.approx(0.5 * BEND * (1.0 - math.exp(-0.1 / LAG_S)))
    assert near.speed(0) == pytest.approx(0.5 * FASTEST * math.exp(-0.1 / LAG_S))


def test_a_duration_slows_a_servo_and_never_makes_it_faster():
    slow, hurried = moving(0.0, 1000.0, duration=2.0), moving(0.0, 1000.0, duration=1e-3)
    for world, speed in ((slow, 500.0), (hurried, FASTEST)):
        world.step(0.1)
        assert world.speed(0) == pytest.approx(speed)
    slow.goal(0, 1000.0, 0.0)
    slow.step(0.11)
    assert slow.speed(0) == pytest.approx(FASTEST * math.exp(0) if 1000 - slow.position(0) > BEND else 0.0)


def test_time_never_goes_back():
    world = moving(0.0, 4000.0)
    world.step(0.2)
    position = world.position(0)
    world.step(0.1)
    assert world.position(0) == position
    world.step(0.3)
    assert world.position(0) == pytest.approx(0.3 * FASTEST)


def test_new_servos_are_centered_cool_supplied_alone_and_without_torque_load_or_fault():
    world = LagWorld(SCALE)
    assert world.count == 18
    for index in range(world.count):
        assert world.position(index) == world.target(index) == SCALE.center
        assert (world.speed(index), world.load(index), world.answers(index)) == (0.0, 0.0, 1)
        assert (world.voltage(index), world.temperature(index)) == (11.1, 35.0)
        assert not world.has_torque(index)
        assert world.fault(index) is ServoFault.NONE
    assert world.current() == 0.0


def test_without_torque_nothing_moves_and_the_goal_is_kept():
    world = LagWorld(SCALE, 2, lag=LAG_S, speed=SPEED)
    world.step(0.0)
    world.goal(1, 3000.0, 0.0)
    world.step(5.0)
    assert world.position(1) == SCALE.center
    assert world.load(1) == 0.0
    world.torque(1, True)
    world.step(10.0)
    assert [world.position(0), world.position(1)] == [SCALE.center, pytest.approx(3000.0)]
    world.torque(1, False)
    world.goal(1, 1000.0, 0.0)
    world.step(20.0)
    assert world.position(1) == pytest.approx(3000.0)


@pytest.mark.parametrize(("away", "load"), [(0.01, 0.2), (-0.02, -0.4), (0.2, 1.0), (-0.2, -1.0)])
def test_the_load_is_the_share_of_a_twentieth_of_a_radian_off_the_goal_and_takes_current(away, load):
    world = LagWorld(SCALE, 2)
    world.torque(0, True)
    world.goal(0, SCALE.center + away * SCALE.per_rad, 0.0)
    assert world.load(0) == pytest.approx(load)
    assert world.current() == pytest.approx(0.05 + abs(load))
    world.loads[0] = -load
    assert world.load(0) == pytest.approx(0.0 if abs(load) < 1.0 else math.copysign(1.0, load))


@pytest.mark.parametrize("fault", [ServoFault.OVERLOAD, ServoFault.HEAT])
def test_an_overloaded_or_hot_servo_stays_off_until_it_is_rebooted(fault):
    world = LagWorld(SCALE, 2)
    world.torque(0, True)
    world.torque(1, True)
    world.latch(1, fault)
    world.torque(1, True)
    assert [world.has_torque(0), world.has_torque(1)] == [True, False]
    assert [world.fault(0), world.fault(1)] == [ServoFault.NONE, fault]
    world.reboot(1)
    world.reboot(0)
    assert world.fault(1) is ServoFault.NONE
    assert not world.has_torque(0) and not world.has_torque(1)
    world.torque(1, True)
    assert world.has_torque(1)


def test_a_voltage_fault_leaves_the_torque_on_and_faults_add_up():
    world = LagWorld(SCALE, 1)
    world.torque(0, True)
    world.latch(0, ServoFault.VOLTAGE)
    assert world.has_torque(0)
    world.latch(0, ServoFault.HEAT)
    assert world.fault(0) == ServoFault.VOLTAGE | ServoFault.HEAT


def test_an_unplugged_servo_takes_nothing_and_comes_back_without_torque_goal_and_fault():
    world = LagWorld(SCALE, 3)
    world.torque(1, True)
    world.latch(1, ServoFault.VOLTAGE)
    world.unplug(0, 1)
    assert [world.answers(i) for i in range(3)] == [0, 0, 1]
    world.goal(1, 100.0, 0.0)
    world.torque(1, True)
    world.reboot(1)
    assert not world.has_torque(1)
    assert world.target(1) == SCALE.center
    assert world.fault(1) == ServoFault.VOLTAGE
    world.goals[1] = 100.0
    world.plug(1)
    assert [world.answers(i) for i in range(3)] == [0, 1, 1]
    assert world.target(1) == world.position(1)
    assert world.fault(1) is ServoFault.NONE
    world.duplicate_id(2)
    assert world.answers(2) == 2


@pytest.mark.parametrize(("volts", "present"), [(5.9, 0), (6.0, 1), (11.1, 1)])
def test_servos_are_gone_below_six_volts_and_come_back_above(volts, present):
    world = LagWorld(SCALE, 2)
    world.duplicate_id(1)
    world.torque(0, True)
    world.power(volts)
    assert [world.voltage(0), world.voltage(1)] == [volts, volts]
    assert [world.answers(0), world.answers(1)] == [present, 2 * present]
    assert world.has_torque(0) == bool(present)
    world.power(12.0)
    assert [world.answers(0), world.answers(1)] == [1, 2 if present else 1]


def test_a_servo_without_a_goal_stays_where_it_is_when_its_torque_comes():
    world = LagWorld(SCALE, 1, positions=[1000.0])
    world.goals[0] = math.nan
    assert world.target(0) == 1000.0
    world.torque(0, True)
    world.step(0.0)
    world.step(1.0)
    assert world.position(0) == 1000.0
