# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the driver: the pose at the time of a cycle, the rate of cycles, and how often faults are renewed."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from support.phantomx import robot
from support.scripted_bus import ManualClock, ScriptedBus

from hexapod_control.servos.driver.presence import ServoClock
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_health import ServoHealth
from hexapod_control.servos.driver.snapshot_builder import CycleRate, SnapshotBuilder
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.settings.servo_section import standard

COUNT = 18


def test_the_rate_is_that_of_the_cycles_of_the_last_second():
    rate = CycleRate()
    for tick in range(101):
        rate.count(10.0 + 0.02 * tick)
        if tick < 49:
            assert rate.rate == 0.0
    assert rate.rate == pytest.approx(50.0, rel=0.03)
    for tick in range(21):
        rate.count(12.0 + 0.1 * tick)
    assert rate.rate == pytest.approx(10.0, rel=0.11)


def test_measured_angles_are_those_of_now_if_they_are_not_older_than_forty_milliseconds():
    settings, clock = standard(robot(), "feetech_st", "/dev/none"), ManualClock()
    bus = ScriptedBus(settings.ids, dict.fromkeys(settings.ids, 2048), clock)
    group = ServoGroup(bus, settings, clock, ServoClock(clock))
    group.read_all()
    connection = SimpleNamespace(group=group, reconnections=3, lost_reason="")
    builder = SnapshotBuilder(connection, ServoHealth(standard(robot(), "feetech_st", "/dev/none")))
    now = clock.now
    ages = 0.011 * np.arange(COUNT)
    group.readings.speeds[:], group.readings.times[:] = [0.5] * (COUNT - 1) + [math.nan], list(now - ages)
    found = builder.build(TorqueState.ON, None, now, 7)
    moved = np.where(ages < 0.04, 0.5 * ages, 0.0)
    assert found.joints == pytest.approx((group.readings.angles() + moved).reshape(6, 3))
    assert found.velocities == pytest.approx(np.reshape([0.5] * (COUNT - 1) + [0.0], (6, 3)))
    assert (found.torque, found.time, found.overruns, found.reconnections) == (TorqueState.ON, now, 7, 3)
    assert found.measured and found.times == pytest.approx(np.reshape(now - ages, (6, 3)))
    assert found.misses == found.clamps == (0,) * COUNT
    group.presence.missed(5)
    group.readings.positions[5] = math.nan
    found = builder.build(TorqueState.ON, None, now, 7)
    assert found.joints is None and found.velocities is None and found.misses[5] == 1


def test_older_angles_follow_the_command_for_half_a_second():
    settings, clock = standard(robot(), "feetech_st", "/dev/none"), ManualClock()
    group = ServoGroup(
        ScriptedBus(settings.ids, dict.fromkeys(settings.ids, 2048), clock), settings, clock, ServoClock(clock)
    )
    group.read_all()
    builder = SnapshotBuilder(SimpleNamespace(group=group, reconnections=0, lost_reason=""), ServoHealth(settings))
    begin = group.readings.angles().reshape(6, 3)
    for age in (0.0, 0.1, 0.3, 0.49, 0.6, 0.8):
        found = builder.build(TorqueState.ON, np.full(COUNT, age), clock.now + age, 0)
        assert found.joints == pytest.approx(begin + min(age, 0.49))
    group.readings.times[0] = clock.now + 0.8
    found = builder.build(TorqueState.ON, np.full(COUNT, 0.8), clock.now + 0.9, 0)
    assert found.joints[0, 0] == pytest.approx(begin[0, 0]) and found.joints[0, 1] == pytest.approx(begin[0, 1] + 0.49)


def test_diagnoses_are_renewed_ten_times_a_second_and_when_the_torque_changes():
    connection = SimpleNamespace(group=None, reconnections=0, lost_reason="")
    builder = SnapshotBuilder(connection, ServoHealth(standard(robot(), "feetech_st", "/dev/none")))
    texts = []
    for now, state in ((0.0, 0), (0.05, 0), (0.06, 1), (0.15, 1), (0.17, 1)):
        connection.lost_reason = f"reason at {now}"
        (found,) = builder.build((TorqueState.OFF, TorqueState.ON)[state], None, now, 0).diagnoses
        assert (found.kind, found.serious) == ("port", True)
        texts.append(found.text.partition(";")[0])
    assert texts == [f"reason at {now}" for now in (0.0, 0.0, 0.06, 0.06, 0.17)]


def test_a_request_to_stop_and_its_reason_are_in_the_same_snapshot():
    settings, clock = standard(robot(), "feetech_st", "/dev/none"), ManualClock()
    bus = ScriptedBus(settings.ids, dict.fromkeys(settings.ids, 2048), clock)
    connection = SimpleNamespace(
        group=ServoGroup(bus, settings, clock, ServoClock(clock)), reconnections=0, lost_reason=""
    )
    health = ServoHealth(settings)
    builder = SnapshotBuilder(connection, health)
    assert builder.build(TorqueState.ON, None, clock.now, 0).planner_request is PlannerRequest.NOTHING
    health.registers.found[5, "mode"] = [SimpleNamespace(change="the mode has changed to 3")]
    found = builder.build(TorqueState.ON, None, clock.now + 0.02, 0)
    assert found.planner_request is PlannerRequest.STOP
    assert [each.text for each in found.diagnoses if each.serious] == ["the mode has changed to 3"]
