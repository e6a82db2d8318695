# SPDX-License-Identifier: Apache-2.0
"""When a sensor is valid, and what its samples mean."""

import math

import pytest
from support.drives import robot

from hexapod_control.core.sensing.sensor_inputs import (
    Adaptation,
    Contacts,
    ImuSource,
    SensorFault,
    SensorInputs,
    SensorSource,
)

MACHINE = robot("phantomx")
DT = 0.01  # [s]
EVEN = MACHINE.mass * 9.81 / len(MACHINE.legs)  # [N]


def aged(source, seconds, *, moving):
    for _ in range(round(seconds / DT)):
        source.step(DT, moving)
    return source


def sampled(*values):
    source = SensorSource()
    source.take(values)
    return source


def test_a_source_is_silent_before_its_first_sample_and_once_the_last_one_is_too_old():
    assert SensorSource().fault is SensorFault.SILENT and SensorSource().sample is None
    assert aged(sampled(1.0), 0.14, moving=False).fault is None
    assert aged(sampled(1.0), 0.16, moving=False).fault is SensorFault.SILENT
    source = aged(sampled(1.0), 1.0, moving=False)
    source.take((1.0,))
    assert source.fault is None


@pytest.mark.parametrize(
    ("moving", "changing", "frozen"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_a_source_is_frozen_if_it_repeats_its_sample_while_the_joints_move(moving, changing, frozen):
    source, ticks = SensorSource(), 15  # 0.15 s
    for k in range(ticks):
        source.take((float(k) if changing else 1.0, 2.0))
        assert source.fault is None
        source.step(DT, moving)
    source.step(DT, moving)
    assert (source.fault is SensorFault.FROZEN) == frozen
    source.take((-1.0, 2.0))
    assert source.fault is None and source.sample == (-1.0, 2.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_sample_that_is_not_finite_is_ignored(bad):
    source = aged(sampled(1.0, 2.0), 1.0, moving=False)
    source.take((3.0, bad))
    assert source.sample == (1.0, 2.0) and source.fault is SensorFault.SILENT


def test_a_sample_is_new_until_the_next_step():
    source = SensorSource()
    assert source.stepped
    source.take((1.0,))
    assert not source.stepped
    source.step(DT, moving=False)
    assert source.stepped


def test_an_imu_gives_roll_and_pitch_and_the_rate_about_z():
    imu = ImuSource()
    assert imu.tilt is None and imu.yaw_rate is None
    imu.take_reading((0.1, -0.2), (1.0, 2.0, 3.0), (4.0, 5.0, 9.0))
    assert (imu.tilt, imu.yaw_rate) == ((0.1, -0.2), 3.0)
    aged(imu, 1.0, moving=False)
    assert imu.tilt is None and imu.yaw_rate is None
    imu.take((0.1, -0.2, 1.0, 2.0))  # without a rate about z
    assert imu.tilt == (0.1, -0.2) and imu.yaw_rate is None


def test_a_foot_touches_above_a_share_of_its_even_load_and_leaves_the_ground_below_half_of_that():
    contacts, count = Contacts(MACHINE), len(MACHINE.legs)
    assert contacts.feet == (False,) * count
    for share, touches in ((0.119, False), (0.121, True), (0.061, True), (0.059, False), (0.119, False)):
        contacts.take([share * EVEN] + [0.0] * (count - 1))
        assert contacts.feet == (touches,) + (False,) * (count - 1)


def test_loads_are_known_unless_silent_or_repeated_with_a_foot_on_the_ground():
    count = len(MACHINE.legs)
    for load in (0.0, EVEN):
        inputs, feet = SensorInputs(MACHINE), (load > 0.0,) * count
        assert inputs.loaded is None
        inputs.contacts.take([load] * count)
        assert inputs.loaded == feet
        for _ in range(20):
            inputs.contacts.take([load] * count)
            inputs.step(DT, moving=True)
        assert inputs.loaded == (None if load else feet)  # in the air, a load of zero is no fault
        for _ in range(20):
            inputs.step(DT, moving=False)
        assert inputs.loaded is None


def test_the_walk_uses_contacts_and_tilt_only_where_they_are_selected_and_valid():
    inputs = SensorInputs(MACHINE)
    inputs.contacts.take([EVEN] * len(MACHINE.legs))
    inputs.imu.take_reading((0.1, 0.2), (0.0,) * 3, (0.0, 0.0, 9.8))
    assert inputs.touching is None and inputs.body_tilt is None
    inputs.adaptation = Adaptation(touch_down=True)
    assert inputs.touching == (True,) * len(MACHINE.legs) and inputs.body_tilt is None
    inputs.adaptation = Adaptation(levelling=True)
    assert inputs.touching is None and inputs.body_tilt == (0.1, 0.2)
    inputs.adaptation = Adaptation(touch_down=True, levelling=True)
    inputs.joints.take((0.0,) * 18)
    for _ in range(20):
        inputs.step(DT, moving=False)
    assert inputs.touching is None and inputs.body_tilt is None and inputs.joints.fault is SensorFault.SILENT
