# SPDX-License-Identifier: Apache-2.0
"""Usage of a robot: hours and distance add up, joint cycles are counted, energy yields the cost of transport."""

import numpy as np
import pytest
from support.drives import robot

from hexapod_control.core.names import joint_names
from hexapod_control.core.sensing.usage import Usage, UsageMeter

ROBOT = robot("phantomx")
DT, SHAPE = 0.1, (6, 3)


def run(meter, angles, moved=0.01, power=None, torques=None):
    for angle in angles:
        meter.step(DT, np.full(SHAPE, angle), moved, power, torques)
    return meter.usage


def test_a_walk_adds_time_distance_and_energy_and_yields_the_cost_of_transport():
    usage = run(UsageMeter(ROBOT), [0.0] * 101, power=20.0)
    assert (usage.on_time, usage.walking_time) == pytest.approx((10.0, 10.0))
    assert (usage.distance, usage.energy) == pytest.approx((1.0, 200.0))
    assert usage.cost_of_transport(2.0) == pytest.approx(100.0)


def test_a_robot_that_stands_or_whose_odometry_is_reset_does_not_walk():
    for moved in (0.0, 0.0003, 5.0):
        usage = run(UsageMeter(ROBOT), [0.0] * 11, moved, power=20.0)
        assert usage.on_time == pytest.approx(1.0)
        assert usage.walking_time == usage.distance == usage.energy == 0.0
        assert usage.cost_of_transport(2.0) is None


def test_every_swing_there_and_back_is_one_cycle_and_noise_is_none():
    swings = 0.3 * np.sin(2.0 * np.pi * np.arange(201) / 20.0)
    usage = run(UsageMeter(ROBOT), swings)
    assert usage.cycles == pytest.approx([9.5] * 18, abs=0.5)
    noise = np.random.default_rng(1).uniform(-0.02, 0.02, 500)
    assert run(UsageMeter(ROBOT), noise).cycles == (0.0,) * 18


def test_without_a_measured_current_the_work_of_the_servos_counts():
    work = run(UsageMeter(ROBOT), [0.0, 0.1, 0.0, 0.1], torques=np.ones(SHAPE)).energy
    assert work == pytest.approx(18 * (0.1 + 0.1)), "a joint that is moved back by its load does no work"
    assert run(UsageMeter(ROBOT), [0.0, 0.1], power=5.0, torques=np.ones(SHAPE)).energy == pytest.approx(0.5)


def test_counts_continue_from_stored_ones_unless_the_joints_differ():
    before = Usage(100.0, 50.0, 3.0, 10.0, 1.0, 10.5, (7.0,) * 18)
    usage = run(UsageMeter(ROBOT, before), [0.0, 0.0])
    assert usage.distance == pytest.approx(3.01) and usage.cycles == before.cycles
    other = Usage(100.0, 50.0, 3.0, 10.0, 1.0, 10.5, (7.0,) * 12)
    assert UsageMeter(ROBOT, other).usage.cycles == (0.0,) * 18


def test_the_lowest_voltage_is_kept():
    meter = UsageMeter(ROBOT)
    for volts in (11.5, 10.9, 11.8):
        meter.voltage(volts)
    assert meter.usage.lowest_voltage == 10.9


@pytest.mark.parametrize(("dt", "counts"), [(0.0, False), (-0.1, False), (0.49, True), (0.5, False), (10.0, False)])
def test_a_gap_of_half_a_second_between_two_samples_does_not_count(dt, counts):
    meter = UsageMeter(ROBOT)
    for _ in range(3):
        meter.step(dt, np.zeros(SHAPE), 0.1)
    assert meter.usage.on_time == meter.usage.walking_time == pytest.approx(2 * dt * counts)
    assert meter.usage.distance == pytest.approx(0.2 * counts) and meter.usage.energy == 0.0


@pytest.mark.parametrize(("speed", "walks"), [(0.0049, False), (0.0051, True), (1.99, True), (2.01, False)])
def test_a_robot_walks_between_5_mm_and_2_m_per_second(speed, walks):
    usage = run(UsageMeter(ROBOT), [0.0] * 11, DT * speed, power=20.0)
    assert usage.walking_time == pytest.approx(1.0 * walks) and usage.distance == pytest.approx(speed * walks)
    assert usage.energy == pytest.approx(20.0 * walks) and usage.energy_distance == usage.distance


def test_distance_without_known_power_does_not_count_for_the_cost_of_transport():
    usage = run(UsageMeter(ROBOT), [0.0] * 11)
    assert (usage.distance, usage.energy_distance, usage.energy) == (pytest.approx(0.1), 0.0, 0.0)


@pytest.mark.parametrize(("size", "cycles"), [(0.049, 0.0), (0.051, 1.5)])
def test_each_half_cycle_of_a_joint_of_more_than_0_05_rad_after_the_first_counts(size, cycles):
    meter, angles = UsageMeter(ROBOT), np.zeros(SHAPE)
    for angle in (0.0, 0.0, size, 0.4 * size, size, 0.0, 0.0, size, 0.0):
        angles[2, 1] = 1.0 + angle
        meter.step(DT, angles.copy(), 0.0)
    assert meter.usage.cycles == tuple(cycles * (row == 7) for row in range(18))


def test_the_status_names_every_figure_and_says_what_is_unknown():
    names = joint_names(ROBOT.leg_names)
    new = Usage().status(2.0, names)
    assert (new["most cycles"], new["cycles"]) == ("0 none", "none")
    assert new["lowest voltage [V]"] == new["cost of transport [J/(kg m)]"] == "unknown"
    usage = Usage(7200.0, 3600.0, 12.34, 100.0, 10.0, 10.5, (1.0, 9.0, 2.0))
    assert usage.status(2.0, names) == {
        "hours on": "2.00",
        "hours walking": "1.00",
        "distance [m]": "12.3",
        "most cycles": "9 left_front_femur_joint",
        "cycles": "1 9 2",
        "lowest voltage [V]": "10.50",
        "cost of transport [J/(kg m)]": "5.0",
    }
