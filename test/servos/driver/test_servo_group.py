# SPDX-License-Identifier: Apache-2.0
"""The read schedule, known values of servos, and the servos of a robot as a group."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.phantomx import lying, robot
from support.scripted_bus import ManualClock, ScriptedBus

from hexapod_control.servos.bus.bus_interface import (
    BusCounters,
    BusError,
    BusFeatures,
    BusTiming,
    ServoFault,
    ServoQuantity,
    ServoReading,
)
from hexapod_control.servos.bus.bus_timing import TURNAROUND_S, BusBudget
from hexapod_control.servos.driver.presence import FIRST_PING_S, PING_PERIOD_S, Presence, ServoClock, check_presence
from hexapod_control.servos.driver.servo_group import ServoGroup
from hexapod_control.servos.driver.servo_readings import SUPPLY_PERIOD_S, ReadSchedule, ServoReadings, as_known_rows
from hexapod_control.servos.driver.watches import TorqueWatch
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import standard

COUNT = 18
HEALTH_READ_S = 0.002  # of one servo on the line
JOINTS = tuple(
    JointCalibration(f"joint_{k}", k + 1, 2048.0, (-1) ** k, 600.0, 700.0, 0.1, 0.0, 100, 4000, -2, 2) for k in range(6)
)
quick = settings(max_examples=40)


class Line:
    """A bus whose every request takes a set time; it reads all servos at once, or one by one."""

    can_read = ~ServoQuantity.NONE

    def __init__(self, one_by_one):
        self.one_by_one = one_by_one

    def timing(self, count, quantities):
        if quantities & ServoQuantity.TEMPERATURE:
            return BusTiming(0.0, HEALTH_READ_S, 2)
        return BusTiming(0.0, 0.001 * count, count if self.one_by_one else 1)


def schedule(reads, one_by_one=False, count=COUNT):
    presence = Presence(count, 0.5, 0.0)
    return ReadSchedule(Line(one_by_one), count, BusBudget(50.0, reads, ""), presence), presence


def away(presence, *indices):
    for index in indices:
        while not presence.quarantined(index):
            presence.missed(index)


# --- motion -------------------------------------------------------------------------------------------------


@quick
@given(st.integers(1, COUNT), st.booleans(), st.sets(st.integers(0, COUNT - 1), max_size=COUNT - 1))
def test_every_servo_that_answers_is_read_in_turn_and_none_twice_before_the_others(reads, one_by_one, gone):
    turns, presence = schedule(reads, one_by_one)
    away(presence, *gone)
    there = [index for index in range(COUNT) if index not in gone]
    read = []
    while len(read) < 2 * len(there):
        chosen = turns.motion()
        assert all(len(each) == 1 for each in chosen) if one_by_one else len(chosen) == 1
        flat = [index for each in chosen for index in each]
        assert len(flat) == min(reads, len(there))
        turns.was_read(flat[-1])
        read += flat
    expected = there * (1 + len(read) // len(there))
    assert read == expected[: len(read)]


def test_a_servo_that_has_just_missed_is_read_first():
    turns, presence = schedule(4)
    presence.missed(11)
    presence.missed(2)
    assert turns.motion() == [[2, 11, 0, 1]]
    turns.was_read(1)
    presence.answered(2, 1.0)
    assert turns.motion() == [[11, 2, 3, 4]]


def test_nothing_is_read_where_no_servo_answers():
    turns, presence = schedule(4)
    away(presence, *range(COUNT))
    assert turns.motion() == []


# --- the start ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answers", [[range(1, 7)], [range(1, 6), [6]]], ids=["all at once", "one later"])
def test_all_are_identified_again_if_a_servo_has_not_answered(answers):
    """One corrupt reply does not mean a missing servo."""
    rest = iter([dict.fromkeys(ids, "model") for ids in answers])
    bus = ScriptedBus(range(1, 7), {}, ManualClock())
    bus.identify = lambda: next(rest)
    assert check_presence(bus, JOINTS) == dict.fromkeys(range(1, 7), "model")
    assert list(rest) == []


def test_servos_that_do_not_answer_at_all_are_named_with_those_that_do():
    bus = ScriptedBus(range(1, 7), {}, ManualClock())
    bus.identify = lambda: dict.fromkeys((1, 2, 3, 5), "model")
    with pytest.raises(BusError) as error:
        check_presence(bus, JOINTS)
    assert str(error.value) == (
        "no answer from 2 of 6 servos: joint_3 (id 4), joint_5 (id 6); ids found: 1, 2, 3, 5; "
        "check cables, power and the ids in servos.joints"
    )


# --- pings --------------------------------------------------------------------------------------------------


def pinged_servos(turns, now):
    """The servos that are pinged; their replies are in time, or missing."""
    chosen = turns.pings(now)
    turns.was_pinged()
    return chosen


def test_one_silent_servo_a_second_is_pinged_while_fewer_than_half_are_silent():
    turns, presence = schedule(4)
    away(presence, 3, 7)
    assert [pinged_servos(turns, now) for now in (0.0, 0.1, 0.2, 1.0, 1.1)] == [[3], [7], [], [3], [7]]


def test_all_silent_servos_are_pinged_in_every_cycle_if_they_are_half_of_all():
    """The line may be bad, and then no servo may be given up because of its turn."""
    at_once, presence = schedule(4)
    away(presence, *range(9))
    assert [pinged_servos(at_once, 0.0), pinged_servos(at_once, 0.01)] == [list(range(9))] * 2
    singly, presence = schedule(4, one_by_one=True)
    away(presence, *range(9))
    pings = [pinged_servos(singly, 0.0) for _ in range(18)]
    assert all(len(each) == 1 for each in pings)
    assert sorted(index for each in pings for index in each) == sorted(2 * list(range(9)))


@pytest.mark.parametrize("silent", [(3, 7), tuple(range(9))])
def test_a_servo_whose_reply_is_late_is_pinged_until_it_has_come(silent):
    turns, presence = schedule(4, one_by_one=True)
    away(presence, *silent)
    first = turns.pings(0.0)
    assert len(first) == 1
    assert turns.pings(0.5) == turns.pings(0.9) == first
    turns.was_pinged()
    assert turns.pings(0.9) not in ([], first)


def test_a_servo_that_restarts_is_pinged_a_fifth_of_a_second_later_and_then_once_a_second():
    presence = Presence(3, 0.5, 0.0)
    presence.quarantine(1, 10.0)
    assert [presence.quarantined(index) for index in range(3)] == [False, True, False]
    assert presence.due_ping(10.0 + 0.9 * FIRST_PING_S) is None
    assert presence.due_ping(10.0 + 1.01 * FIRST_PING_S) == 1
    assert presence.due_ping(10.0 + 0.99 * PING_PERIOD_S) is None
    assert presence.due_ping(10.0 + 1.01 * (FIRST_PING_S + PING_PERIOD_S)) == 1
    assert FIRST_PING_S == 0.2


def test_misses_count_until_an_answer_and_in_total():
    presence = Presence(2, 0.5, 0.0)
    for _ in range(4):
        presence.missed(0)
    presence.quarantine(0, 1.0)
    assert presence.misses == [4, 0]  # not fewer
    presence.answered(0, 2.0)
    assert not presence.quarantined(0)
    presence.answered(0, 3.0)
    assert (presence.misses, presence.total, presence.last_answer) == ([0, 0], [4, 0], [3.0, 0.0])
    presence.missed(0)
    assert not presence.lost(0, 99.0)  # counts as present


# --- health and supply --------------------------------------------------------------------------------------


def test_health_goes_round_at_a_small_share_of_the_line_and_at_most_three_times_a_second():
    for count, period in ((COUNT, (HEALTH_READ_S + 2 * TURNAROUND_S) / 0.08), (1, 1.0 / 3.0)):
        turns, presence = schedule(4, count=count)
        assert turns.health(0.0) == 1 % count
        assert turns.health(0.99 * period) is None
        assert turns.health(1.01 * period) == 2 % count
    turns, presence = schedule(4)
    away(presence, 2)
    assert [turns.health(float(second)) for second in range(1, 20)] == [1, None, *range(3, COUNT), 0, 1]


def test_the_supply_is_read_first_at_once_and_then_every_0_4_seconds():
    turns, _ = schedule(4)
    assert [turns.supply_due(now) for now in (-5.0, -4.7, -4.59, -4.3, -4.1)] == [True, False, True, False, True]
    assert SUPPLY_PERIOD_S == 0.4


# --- readings -----------------------------------------------------------------------------------------------


def test_readings_are_in_units_and_signs_of_the_joints():
    readings = ServoReadings(JOINTS)
    assert readings.angles() is None
    for index, joint in enumerate(JOINTS):
        assert as_known_rows(readings.speeds) is None or index > 0
        readings.take_motion(
            index, ServoReading(position=1500 + 200 * index, speed=70.0, load=0.25), 1500 + 200 * index, 2.0
        )
        raw = 1500 + 200 * index
        assert readings.angle(index) == joint.angle(raw)
        assert readings.speeds[index] == pytest.approx((joint.angle(raw + 70.0) - joint.angle(raw)), rel=0.2)
        assert readings.speeds[index] == joint.rate(raw, 70.0)
        assert readings.loads[index] == 0.25 * joint.direction
    assert readings.angles().shape == (6,)
    assert readings.times == [2.0] * 6


def test_a_servo_without_a_speed_register_gets_the_mean_speed_between_its_positions():
    readings = ServoReadings(JOINTS)
    readings.take_motion(1, ServoReading(position=2000), 2000, 1.0)
    assert math.isnan(readings.speeds[1])
    readings.take_motion(1, ServoReading(position=1860), 1860, 1.5)
    assert readings.speeds[1] == pytest.approx(2.0 * (JOINTS[1].angle(1860) - JOINTS[1].angle(2000)))
    before = readings.speeds[1]
    readings.take_motion(1, ServoReading(position=1000), 1000, 1.5)  # at the same time
    assert readings.speeds[1] == before
    assert math.isnan(readings.loads[1])
    assert readings.angles() is None


def test_faults_add_up_until_a_reading_of_health_replaces_them():
    readings = ServoReadings(JOINTS)
    readings.take_motion(0, ServoReading(position=1, fault=ServoFault.HEAT), 1, 0.0)
    readings.take_motion(0, ServoReading(position=1, fault=ServoFault.VOLTAGE), 1, 0.0)
    assert readings.faults[0] == ServoFault.HEAT | ServoFault.VOLTAGE
    readings.take_health(0, ServoReading(voltage=7.0, fault=ServoFault.OVERLOAD))
    assert readings.faults[0] == ServoFault.OVERLOAD
    readings.take_health(0, ServoReading(temperature=40.0))
    assert (readings.voltages[0], readings.temperatures[0], readings.faults[0]) == (7.0, 40.0, ServoFault.NONE)


def test_goals_in_place_stay_within_the_raw_limits():
    readings = ServoReadings(JOINTS)
    readings.positions[:3] = 50.0, 2000.4, 4050.0
    assert readings.goals_in_place([0, 1, 2]) == {1: 100, 2: 2000, 3: 4000}


def test_rows_are_unknown_only_if_no_value_is_known():
    assert as_known_rows([math.nan] * 6) is None
    assert np.array_equal(
        as_known_rows([1.0, *[math.nan] * 5]), [[1.0, math.nan, math.nan], [math.nan] * 3], equal_nan=True
    )


def test_a_servo_clock_leaves_out_pauses_beyond_two_cycles_but_not_waits_for_replies():
    now, counters = [0.0], BusCounters()
    clock = ServoClock(lambda: now[0])
    clock.follow(counters, 0.02)
    passed = 0.0
    for pause, waited in ((0.03, 0.0), (0.5, 0.47), (0.04, 0.0), (0.6, 0.4), (0.02, 0.01)):
        now[0] += pause
        counters.waited += waited
        passed += min(pause, waited + 0.04)
        assert clock() == pytest.approx(passed)


# --- the whole group ----------------------------------------------------------------------------------------


class SlowBus(ScriptedBus):
    """A line with time for a few servos per cycle that records the ids read; no motion is read if `unresponsive`."""

    def __init__(self, ids, positions, clock):
        super().__init__(ids, positions, clock)
        self.read_ids, self.unresponsive = [], False

    def timing(self, count, quantities=ServoQuantity.POSITION):
        return BusTiming(0.001, 0.003 * count, 1)

    def read(self, ids, quantities):
        if quantities & ServoQuantity.POSITION:
            self.read_ids += ids
            return {} if self.unresponsive else super().read(ids, quantities)
        return super().read(ids, quantities)


def group_on(bus_of=ScriptedBus):
    settings, clock = standard(robot(), "feetech_st", "/dev/none"), ManualClock()
    bus = bus_of(settings.ids, dict.fromkeys(settings.ids, 2048), clock)
    return ServoGroup(bus, settings, clock, ServoClock(clock)), bus, clock


def slow_group():
    group, bus, clock = group_on(SlowBus)

    def cycle():
        clock.now += 0.02
        group.poll(clock.now + 0.02)

    return group, bus, cycle


def test_where_time_is_short_the_servos_take_turns_over_the_cycles():
    group, bus, cycle = slow_group()
    reads = group.budget.reads
    assert 1 < reads < len(group.ids)
    for _ in range(len(group.ids)):
        cycle()
    assert bus.read_ids == [*group.ids] * reads
    turn = len(group.ids) / reads / group.budget.rate
    assert group.silence_window == pytest.approx(1.5 * turn + 0.02)


def test_a_servo_that_reports_its_health_is_not_silent():
    group, bus, cycle = slow_group()
    bus.unresponsive = True
    for index in range(len(group.ids)):
        group.presence.missed(index)
    cycle()  # reads the supply
    cycle()
    (heard,) = np.flatnonzero(np.isfinite(group.readings.temperatures))
    assert [index for index, misses in enumerate(group.presence.misses) if not misses] == [heard]


def test_staged_goals_are_sent_without_a_duration_and_goals_of_a_cycle_with_theirs():
    group, bus, _ = group_on()
    bus.duration = 9.0
    group.stage({1: 2000})
    assert (bus.goals, bus.duration) == ({1: 2000}, 0.0)
    group.send(lying(), np.zeros_like(lying()), 0.02)
    assert (len(bus.goals), bus.duration) == (len(group.ids), 0.02)


def test_servos_with_a_new_calibration_keep_bus_and_rated_voltage_and_are_read_again():
    group, bus, _ = group_on()
    group.rated_voltage = 7.4
    settings = standard(robot(), "feetech_st", "/dev/none")
    joints = tuple(replace(joint, center=joint.center + 100.0) for joint in settings.joints)
    new = group.recalibrated(replace(settings, joints=joints))
    assert (new.rated_voltage, new.ids) == (7.4, group.ids)
    expected = [joint.angle(2048) for joint in joints]
    assert new.readings.angles() == pytest.approx(expected)
    new.stage({2: 1000})
    assert bus.goals[2] == 1000


class MotionMissingBus(ScriptedBus):
    """A bus on which the motion of one servo is missing in the first `misses` readings."""

    misses = 0

    def read(self, ids, quantities):
        found = super().read(ids, quantities)
        if ids and self.misses and 5 in found:
            self.misses -= 1
            del found[5]
        return found


@pytest.mark.parametrize(("misses", "missing"), [(0, []), (1, []), (2, []), (3, [4])])
def test_a_servo_that_is_missed_is_read_again_twice(misses, missing):
    group, bus, _ = group_on(MotionMissingBus)
    bus.misses = misses
    assert group.read_all() == missing
    assert bus.misses == 0
    assert (group.readings.angles() is None) == bool(missing)


class PulsesBus(ScriptedBus):
    """A board that knows which servos it drives."""

    can_read = ServoQuantity.NONE
    features = BusFeatures(board=True)


@pytest.mark.parametrize(("bus_of", "torque", "restarts"), [(ScriptedBus, True, True), (PulsesBus, False, True)])
def test_pulses_of_a_board_reveal_a_restart_but_are_no_report_of_torque(bus_of, torque, restarts):
    group, _, _ = group_on(bus_of)
    assert (group.reports_torque, group.reveals_restarts) == (torque, restarts)


@pytest.mark.parametrize(("bus_of", "evenly"), [(ScriptedBus, True), (SlowBus, False)])
def test_servos_move_evenly_if_all_are_read_in_every_cycle(bus_of, evenly):
    assert group_on(bus_of)[0].moves_evenly is evenly


def test_a_servo_with_torque_among_the_limp_is_found_once_in_as_many_cycles_as_there_are_servos():
    group, bus, _ = group_on()
    watch, count = TorqueWatch(), len(group.ids)
    bus.torque([group.ids[6]], True)
    for _ in range(2):
        assert [found for found in (watch.check(group) for _ in range(count)) if found is not None] == [6]
    away(group.presence, 6)
    assert [watch.check(group) for _ in range(count)] == [None] * count
