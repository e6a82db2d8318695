# SPDX-License-Identifier: Apache-2.0
"""Faults of servos: brown-outs, single lost servos, overloads, and the resulting requests to the planner."""

import math
import re
from itertools import pairwise

import numpy as np
import pytest
from support import scripted_bus
from support.phantomx import lying
from support.scripted_bus import ScriptedBus, ScriptedDriver

from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.bus.bus_interface import BusCounters, BusFeatures, BusTiming, ServoFault, ServoQuantity
from hexapod_control.servos.bus.model_numbers import KnownModel, ModelCheck
from hexapod_control.servos.driver.monitors import SIT_TIMEOUT_S, BatteryMonitor, LineHealth
from hexapod_control.servos.driver.servo_group import READ_TRIES
from hexapod_control.servos.driver.servo_health import ALL_SILENT_S, LEG_LOST_S
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.emulator.devices.feetech_device import ST_TABLE
from hexapod_control.servos.settings.servo_section import Battery, OnLost, OnSilence


@pytest.fixture
def rig():
    return ScriptedDriver().armed()


@pytest.mark.parametrize("policy", OnLost)
@pytest.mark.parametrize("count", [9, 18])
def test_silence_of_many_servos_however_long_is_no_reason_to_switch_any_torque_off(count, policy):
    """The return line of the bus may be dead, and the servos well."""
    rig = ScriptedDriver(on_lost=policy).armed()
    sent = len(rig.bus.sent)
    rig.bus.silent = set(rig.settings.ids[:count])
    rig.run(SIT_TIMEOUT_S + 3.0)
    assert rig.driver.armed
    assert rig.driver.snapshot.torque is TorqueState.UNKNOWN
    assert rig.driver.snapshot.planner_request is PlannerRequest.STOP
    assert "whether they have torque is unknown" in str(rig.driver.arm()) or count < 18
    rig.bus.silent = set()
    rig.run(1.5)
    assert rig.driver.snapshot.torque is TorqueState.ON
    assert {what for what, _ in rig.bus.sent[sent:]} <= {"goals"}
    assert not any("brown-out" in text for text in rig.texts())


def test_servos_that_fall_silent_one_after_the_other_are_no_brown_out(rig):
    """A bad line loses them in turn: the torque of the others keeps the robot up."""
    for servo in rig.settings.ids[:12]:
        rig.bus.silent.add(servo)
        rig.run(0.1)
    rig.run(3.0)
    assert rig.driver.armed
    assert not any("brown-out" in text for text in rig.texts())


@pytest.mark.parametrize("half", [False, True])
def test_the_robot_holds_while_its_servos_are_silent_and_goes_on_if_they_have_kept_their_torque(rig, half):
    rig.bus.silent = set(rig.settings.ids[: 9 if half else 18])
    rig.run(ALL_SILENT_S + 0.06)
    assert rig.driver.snapshot.planner_request is PlannerRequest.STOP
    assert rig.driver.snapshot.joints is None
    names = r"9 servos \(left_front_coxa_joint \(id 1\),.*\)" if half else "all servos"
    assert re.search(
        rf"{names} have been silent for 0.\d s: the robot holds, whether the servos have ", rig.texts()[-1]
    )
    sent = len(rig.bus.sent)
    rig.run(1.0)
    assert half or len(rig.bus.sent) == sent  # a goal would switch the torque of a restarted servo on
    rig.bus.silent = set()
    rig.run(1.5)
    assert rig.driver.armed
    assert rig.driver.snapshot.planner_request is PlannerRequest.NOTHING
    assert rig.driver.snapshot.joints == pytest.approx(lying(), abs=0.002)
    assert rig.bus.sent[-1][0] == "goals"


def test_servos_that_have_restarted_without_torque_are_a_brown_out_and_get_no_goal(rig):
    rig.bus.silent = set(rig.settings.ids)
    rig.run(0.3)
    sent = len(rig.bus.sent)
    rig.bus.restart()
    rig.run(1.5)
    assert not rig.driver.armed
    assert {what for what, _ in rig.bus.sent[sent:]} == {"relax"}
    assert any("the servos have restarted without torque, as in a brown-out" in text for text in rig.texts())
    rig.clock.tick = 1e-3
    assert rig.driver.arm() is None


@pytest.mark.parametrize(("count", "brown_out"), [(1, False), (8, False), (9, True)])
def test_a_few_servos_that_have_restarted_get_their_torque_again_where_they_are(rig, count, brown_out):
    """While the line was silent: a few have lost a plug, half of all the supply."""
    ids = rig.settings.ids
    rig.bus.silent = set(ids)
    rig.run(0.3)
    sent = len(rig.bus.sent)
    rig.bus.restart(ids[:count])
    rig.run(1.5)
    assert rig.driver.armed is not brown_out
    assert any("restarted without torque" in text for text in rig.texts()) is brown_out
    assert (
        any("had lost the torque: it is switched on again; check cables and plugs" in t for t in rig.texts())
        is not brown_out
    )
    energised = [servos for what, servos in rig.bus.sent[sent:] if what == "on"]
    assert sorted(energised) == ([] if brown_out else [(servo,) for servo in ids[:count]])
    assert not brown_out or {what for what, _ in rig.bus.sent[sent:]} == {"relax"}


@pytest.mark.parametrize("outage", [0.3, 1.5])
@pytest.mark.parametrize("cycles", [1, 3])
@pytest.mark.parametrize("kept", [0, 1])
def test_servos_that_come_back_without_torque_one_after_the_other_are_a_brown_out(rig, outage, cycles, kept):
    """Also if the first one has kept its torque: of nine that have reported, eight are without."""
    rig.bus.silent = set(rig.settings.ids)
    rig.run(outage)
    rig.bus.restart(rig.settings.ids[kept:])
    rig.bus.silent = set(rig.settings.ids)
    sent = len(rig.bus.sent)
    for servo in rig.settings.ids:
        rig.bus.silent.discard(servo)
        rig.run(0.02 * cycles)
    rig.run(1.5)
    assert not rig.driver.armed
    assert any("as in a brown-out" in text for text in rig.texts())
    assert {what for what, _ in rig.bus.sent[sent:]} == {"relax"}


def test_a_servo_that_has_lost_its_torque_gets_it_only_where_its_position_is_known(rig):
    """It sinks, and does not answer the reads before its torque would come on: it waits for its next ping."""
    servo = rig.settings.ids[4]
    rig.bus.silent = set(rig.settings.ids)
    rig.run(0.3)
    rig.bus.restart([servo])
    torques, before = rig.bus.torques, len(rig.bus.energised)

    def sinks_afterwards(ids):
        rig.bus.unread = {servo: READ_TRIES}
        rig.bus.move(servo, 200)
        return torques(ids)

    rig.bus.torques = sinks_afterwards
    rig.run(2.5)
    ((energised, goal, position),) = rig.bus.energised[before:]
    assert (energised, goal) == (servo, pytest.approx(position, abs=1.0))
    assert rig.driver.armed


@pytest.mark.parametrize("count", [1, 18])
def test_a_servo_is_not_silent_while_the_computer_does_not_run_the_driver(rig, count):
    rig.bus.silent = set(rig.settings.ids[:count])
    rig.run(0.08)
    rig.clock.now += 30.0
    rig.run(0.04)
    assert rig.driver.armed
    assert not any(found.serious for found in rig.driver.snapshot.diagnoses)
    rig.bus.silent = set()
    rig.run(1.6)
    assert rig.driver.armed
    assert [found.text for found in rig.driver.snapshot.diagnoses] == [
        "the computer did not run the driver for 30.0 s, the servos held: end other programs"
    ]
    rig.run(5.0)
    assert not rig.driver.snapshot.diagnoses


def test_a_brown_out_is_over_when_no_servo_is_silent_any_more(rig):
    rig.bus.silent = set(rig.settings.ids)
    rig.run(3.5)
    assert rig.driver.snapshot.joints is None  # nothing is known of the pose
    rig.bus.restart()
    rig.bus.silent = set(rig.settings.ids[:1])
    rig.run(1.5)
    assert rig.driver.snapshot.joints is None
    rig.bus.silent = set()
    rig.run(1.5)
    assert rig.driver.snapshot.joints is not None
    assert not rig.driver.snapshot.diagnoses
    assert rig.driver.snapshot.torque is TorqueState.OFF


@pytest.mark.parametrize(
    ("policy", "request_", "on", "reaction"),
    [
        (OnLost.LEG, PlannerRequest.STOP, True, "the robot stops, and folds its leg away after 3 s: check"),
        (OnLost.HOLD, PlannerRequest.STOP, True, "the robot stops: check"),
        (OnLost.SIT, PlannerRequest.SIT, True, "the robot sits: check"),
        (OnLost.OFF, PlannerRequest.NOTHING, False, "torque off: check"),
    ],
)
def test_a_lost_servo_leads_to_the_policy_of_the_robot_file(policy, request_, on, reaction):
    rig = ScriptedDriver(on_lost=policy).armed()
    rig.bus.silent = {rig.settings.ids[4]}
    rig.run(rig.settings.lost_after - 0.1)
    assert rig.driver.snapshot.planner_request is PlannerRequest.NOTHING
    rig.run(0.3)
    assert rig.driver.snapshot.planner_request is request_
    assert rig.driver.armed == on
    assert any(f" s, {reaction}" in text for text in rig.texts())
    assert any("torque is off: left_middle_femur_joint (id 5) lost" in text for text in rig.texts()) is not on


def test_the_leg_of_a_servo_that_stays_away_is_lost_and_not_missed_once_the_robot_walks_without_it():
    rig = ScriptedDriver(on_lost=OnLost.LEG).armed()
    legs = [rig.settings.ids[3 * leg + 1] for leg in range(3)]
    for leg, servo in enumerate(legs[:2]):
        rig.bus.silent |= {servo}
        rig.run(LEG_LOST_S - 0.5)
        assert rig.driver.snapshot.planner_request is PlannerRequest.STOP
        rig.run(1.0)
        found = rig.driver.snapshot
        assert (found.planner_request, found.lost_leg) == (PlannerRequest.LOSE_LEG, leg)
        rig.driver.note_legs_folded(frozenset(range(leg + 1)))
        rig.run(0.3)
        found = rig.driver.snapshot
        assert (found.planner_request, found.lost_leg) == (PlannerRequest.NOTHING, None)
        assert any("the robot walks without its leg" in diagnosis.text for diagnosis in found.diagnoses)
    rig.bus.silent |= {legs[2]}  # one leg too many
    rig.run(LEG_LOST_S + 1.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.STOP
    assert rig.driver.armed
    assert any("(id 8) has been silent" in text and "s, the robot stops: check" in text for text in rig.texts())


@pytest.mark.parametrize(("name", "spare"), [("quadruped", 0), ("phantomx", 2), ("octopod", 4)])
def test_as_many_legs_may_be_lost_as_are_more_than_four(name, spare):
    machine = load(name).robot
    rig = ScriptedDriver(np.zeros((len(machine.legs), 3)), machine, on_lost=OnLost.LEG).armed()
    rig.bus.silent = {rig.settings.ids[3 * leg] for leg in range(spare)}
    rig.run(LEG_LOST_S + 0.5)
    assert rig.driver.snapshot.lost_leg == (0 if spare else None)
    rig.bus.silent |= {rig.settings.ids[3 * spare]}
    rig.run(LEG_LOST_S + 0.5)
    assert (rig.driver.snapshot.planner_request, rig.driver.snapshot.lost_leg) == (PlannerRequest.STOP, None)


@pytest.mark.parametrize(("policy", "on"), [(OnSilence.HOLD, True), (OnSilence.OFF, False)])
def test_missing_targets_switch_the_torque_off_only_with_that_policy(policy, on):
    rig = ScriptedDriver(on_silence=policy, silence_time=0.5).armed()
    for tick in range(10):
        rig.driver.take(lying() - 0.01 * tick, None, rig.clock())
        rig.driver.take(lying() - 0.01 * tick, 0.5 + 0.0 * lying(), rig.clock())
        rig.run(0.02)
    rig.run(0.3)
    assert rig.driver.holding
    rig.run(0.3)
    assert rig.driver.armed  # half a second after the watchdog, not before
    rig.run(0.3)
    assert rig.driver.armed == on
    events = [(event.kind, event.text) for event in rig.driver.events if event.kind == "silence"]
    assert len(events) == (1 if on else 2)
    assert on or events[1] == ("silence", "no joint_targets for 0.5 s: torque off; run hexapod arm")


def test_a_hot_servo_slows_the_joints_and_at_its_limit_the_robot_sits(rig):
    rig.bus.temperature = 62.0
    rig.run(1.0)
    assert rig.driver.snapshot.speed_share == 0.7
    rig.bus.temperature = 71.0
    rig.run(1.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.SIT
    rig.driver.note_seated()
    rig.run(0.1)
    assert not rig.driver.armed
    assert "let it cool" in str(rig.driver.reset_fault())
    rig.bus.temperature = 40.0
    rig.run(8.0)
    assert rig.driver.reset_fault() is None


def test_a_servo_that_was_too_hot_and_has_cooled_down_is_reported_with_both_values(rig):
    rig.bus.temperature = 71.0
    rig.run(1.0)
    rig.bus.temperature = 35.0
    rig.run(8.0)
    (found,) = rig.driver.snapshot.diagnoses
    assert re.fullmatch(
        r"\S+ \(id \d+\) reached 71 degC, limit 70, is at 35 degC now: the robot sits, then torque off; let it rest",
        found.text,
    )
    rig.driver.note_seated()
    rig.run(0.2)
    assert re.fullmatch(
        r"\S+ \(id \d+\) reached 71 degC, limit 70: let it cool, run .*, then hexapod arm", str(rig.driver.arm())
    )
    assert "is at 35 degC now: let it cool, run hexapod reset, then hexapod arm" in " ".join(rig.texts())


def test_a_servo_that_no_longer_reports_overheating_is_reported_with_its_temperature(rig):
    servo = rig.settings.ids[4]
    rig.bus.faults[servo] = ServoFault.HEAT
    rig.run(1.0)
    assert any("(id 5) reports overheating: the robot sits" in text for text in rig.texts())
    del rig.bus.faults[servo]
    rig.run(1.0)
    assert any("(id 5) reported overheating, is at 30 degC now: the robot sits" in text for text in rig.texts())


@pytest.mark.parametrize(
    ("model", "limit", "volts", "text"),
    [
        ("AX-12A", None, 9.0, "9.0 V, warning at 10.5 V, critical at 8.76 V (defaults for servos of 12 V, set "),
        ("STS3215", 14.0, 9.0, "9.0 V, warning at 10.5 V"),
        ("STS3215", 8.0, 9.0, ""),
        ("STS3215", 8.0, 6.0, "6.0 V, warning at 6.48 V"),
        ("XM430-W350", None, 11.1, ""),
        ("XH430-V350", None, 12.0, "12.0 V, warning at 21 V, critical at 17.5 V"),
        ("LX-16A or similar", None, 11.1, ""),
        ("model 9999", None, 3.0, ""),
    ],
)
def test_without_limits_in_the_robot_file_those_of_the_servos_rated_voltage_apply(model, limit, volts, text):
    rig = ScriptedDriver()
    rig.model, rig.max_voltage, rig.volts = model, limit, volts
    rig.armed().run(3.0)
    (warning,) = [found for found in rig.driver.snapshot.diagnoses if found.kind == "battery"] or [None]
    assert (warning.text if warning else "").startswith(f"the battery is at {text}" if text else "")
    assert (warning is None) == (text == "")


VOLTS = Battery(warn=10.5, critical=9.9, time=1.0)


def test_an_empty_battery_warns_then_sits_and_ends_without_torque_until_it_is_charged():
    rig = ScriptedDriver(battery=VOLTS).armed()
    rig.run(2.0)
    assert not rig.driver.snapshot.diagnoses
    assert rig.driver.snapshot.voltage == pytest.approx(11.1)
    rig.bus.volts = 10.2
    rig.run(3.0)
    assert [found.serious for found in rig.driver.snapshot.diagnoses] == [False]
    assert rig.driver.snapshot.planner_request is PlannerRequest.NOTHING
    rig.bus.volts = 9.0
    rig.run(0.9)
    assert rig.driver.snapshot.planner_request is PlannerRequest.NOTHING  # a sag, so far
    rig.run(2.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.SIT
    rig.run(SIT_TIMEOUT_S - 3.0)
    assert rig.driver.armed
    rig.run(3.0)
    assert not rig.driver.armed
    assert any("the battery is empty (9.0 V)" in text for text in rig.texts())
    assert str(rig.driver.reset_fault()) == "the battery is still at 9.0 V: charge or replace it"
    rig.bus.volts = 11.5
    rig.run(3.0)
    assert "the battery is empty" in str(rig.driver.arm())
    assert rig.driver.reset_fault() is None
    rig.clock.tick = 1e-3
    assert rig.driver.arm() is None


class Supply:
    """Servos that report one voltage."""

    rated_voltage, volts = None, 0.0

    def voltage(self):
        return self.volts


def test_a_warning_of_the_battery_comes_after_half_a_second_and_ends_0_3_volts_above_its_limit():
    monitor, group, now = BatteryMonitor(VOLTS), Supply(), 100.0
    assert (monitor.voltage, monitor.limits) == (None, (10.5, 9.9))
    for volts, kinds in ((10.6, []), (10.4, ["battery"]), (10.78, ["battery"]), (10.82, [])):
        group.volts = volts
        for _ in range(60):
            now += 0.1
            monitor.update(group, now)
        assert monitor.voltage == pytest.approx(volts, abs=1e-6)
        assert [found.kind for found in monitor.diagnoses()] == kinds
    monitor = BatteryMonitor(VOLTS)
    group.volts = 10.0
    for later, kinds in ((0.0, []), (0.45, []), (0.55, ["battery"])):
        monitor.update(group, now + later)
        assert [found.kind for found in monitor.diagnoses()] == kinds
    assert "critical at 9.9 V: charge it soon" in monitor.diagnoses()[0].text
    group.volts = 0.0
    monitor.update(group, now + 0.55 + 0.25)  # the time constant
    assert monitor.voltage == pytest.approx(10.0 / math.e)


def test_a_robot_that_sits_loses_its_torque_at_once_and_only_if_it_was_asked_to_sit():
    rig = ScriptedDriver(on_lost=OnLost.SIT).armed()
    rig.driver.note_seated()
    rig.bus.silent = {rig.settings.ids[4]}
    rig.run(1.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.SIT
    assert rig.driver.armed
    rig.driver.note_seated()
    rig.run(0.1)
    assert not rig.driver.armed
    assert any("(id 5) lost: check it, run hexapod reset, then hexapod arm" in text for text in rig.texts())


def test_a_lost_servo_gives_the_robot_ten_seconds_to_sit():
    rig = ScriptedDriver(on_lost=OnLost.SIT).armed()
    rig.bus.silent = {rig.settings.ids[4]}
    rig.run(SIT_TIMEOUT_S - 0.5)
    assert rig.driver.armed
    rig.run(1.5)
    assert not rig.driver.armed
    assert SIT_TIMEOUT_S == 10.0


def test_a_servo_that_is_overloaded_again_and_again_is_given_up(rig):
    servo = rig.settings.ids[4]
    for restarts in (1, 2, 3):
        rig.bus.faults[servo] = ServoFault.OVERLOAD
        rig.run(1.5)
        assert rig.bus.sent.count(("recover", (servo,))) == restarts
        assert not rig.driver.snapshot.diagnoses
    rig.bus.faults[servo] = ServoFault.OVERLOAD
    rig.run(1.5)
    assert rig.bus.sent.count(("recover", (servo,))) == 3
    assert [found.kind for found in rig.driver.snapshot.diagnoses] == ["overload 4"]
    assert rig.driver.snapshot.diagnoses[0].serious
    assert rig.driver.snapshot.planner_request is PlannerRequest.STOP
    del rig.bus.faults[servo]
    rig.run(1.5)
    assert rig.driver.reset_fault() is None
    rig.run(0.2)
    assert not rig.driver.snapshot.diagnoses


@pytest.mark.parametrize(("count", "kinds"), [(1, ["silent 1"]), (3, 3 * ["one"]), (4, ["silent"])])
def test_few_silent_servos_are_reported_one_by_one_and_many_together(rig, count, kinds):
    rig.bus.silent = set(rig.settings.ids[:count])
    rig.run(0.3)
    found = rig.driver.snapshot.diagnoses
    assert len(found) == len(kinds)
    assert not any(diagnosis.serious for diagnosis in found)
    rig.run(0.6)
    found = rig.driver.snapshot.diagnoses
    assert len(found) == len(kinds)
    assert all(diagnosis.serious for diagnosis in found)
    assert all(f"(id {servo})" in " ".join(d.text for d in found) for servo in rig.settings.ids[:count])


def test_a_hot_servo_is_named_and_slows_the_joints_until_it_has_cooled_well_below(rig):
    for temperature, share, serious in ((59.0, 1.0, []), (60.0, 0.7, [False]), (56.0, 0.7, [False]), (54.0, 1.0, [])):
        rig.bus.temperature = temperature
        rig.run(1.5)
        assert rig.driver.snapshot.speed_share == share, temperature
        assert [found.serious for found in rig.driver.snapshot.diagnoses] == serious
    rig.bus.temperature = 70.0
    rig.run(1.5)
    (found,) = rig.driver.snapshot.diagnoses
    assert found.kind == "heat" and found.serious
    assert "is at 70 degC, limit 70: the robot sits, then torque off" in found.text


def test_clamped_and_missing_targets_are_reported(rig):
    rig.driver.take(lying() + 9.0, None, rig.clock())
    rig.run(0.02)
    assert [event.kind for event in rig.driver.events] == ["targets"]
    rig.run(0.3)
    assert [event.kind for event in rig.driver.events] == ["targets", "silence"]


def test_targets_received_before_arming_are_discarded(rig):
    rig.driver.disarm()
    rig.driver.take(lying() - 0.2, None, rig.clock())
    rig.clock.tick = 1e-3
    assert rig.driver.arm() is None
    rig.clock.tick = 1e-5
    rig.run(2.0)
    assert abs(rig.driver.snapshot.joints - lying()).max() < 0.002


def test_a_joint_that_is_back_from_a_dropout_fades_to_its_targets(rig):
    servo = rig.settings.ids[4]
    rig.bus.silent = {servo}
    target = lying() - 0.3
    for _ in range(40):
        rig.driver.take(target, None, rig.clock())
        rig.run(0.02)
    goals = len(rig.bus.sent)
    assert all(servo not in ids for what, ids in rig.bus.sent[goals - 20 :])
    rig.bus.silent = set()
    found = []
    for _ in range(120):
        rig.driver.take(target, None, rig.clock())
        rig.run(0.02)
        found.append(rig.driver.snapshot.joints[1, 1] - lying()[1, 1])
    assert rig.driver.armed
    assert ("on", (servo,)) in rig.bus.sent[goals:]
    assert max(abs(a - b) for a, b in pairwise(found)) < 0.02  # [rad] no jump of 0.3 rad
    assert found[-1] == pytest.approx(-0.3, abs=0.002)


@pytest.mark.parametrize(("pings", "twins"), [(2, False), (3, True)])
def test_a_servo_that_answers_three_pings_garbled_likely_has_the_id_of_another(rig, pings, twins):
    servo = rig.settings.ids[4]
    rig.bus.silent = {servo}
    rig.run(0.2)
    rig.bus.garbled = {servo}
    rig.run(pings + 0.3)
    texts = " ".join(rig.texts())
    assert ("gives corrupt replies, probably two servos have this id" in texts) == twins
    assert ("left_middle_femur_joint (id 5) has been silent for 2." in texts) != twins


# --- the line -----------------------------------------------------------------------------------------------


class Windows:
    """A line whose counters grow from one window of 0.3 s to the next."""

    def __init__(self):
        self.line, self.counters, self.now, self.excluded = LineHealth(), BusCounters(), 7.0, 0.0
        self.line.update(self.counters, self.excluded, self.now)

    def pass_window(self, received=0, late=0, bad=0, paused=0.0):
        self.counters.received += received
        self.counters.late += late
        self.counters.bad += bad
        self.excluded += paused
        self.line.update(self.counters, self.excluded, self.now + 0.29)
        self.now += 0.301
        self.line.update(self.counters, self.excluded, self.now)
        return self

    def texts(self):
        return [(found.kind, found.serious, found.text) for found in self.line.diagnoses(self.now)]


def test_the_robot_stops_when_half_of_the_replies_are_late_and_walks_after_three_windows_without_any():
    line = Windows()
    line.counters.lateness = 0.06
    assert not line.pass_window(10, late=4).line.stops
    assert line.pass_window(10, late=5).line.stops
    ((kind, serious, text),) = line.texts()
    assert (kind, serious) == ("late", True) and text.startswith("replies are 60 ms late: computer or adapter too slow")
    line.counters.lateness = 0.0
    assert [line.pass_window(received).line.stops for received in (10, 0, 10)] == [True, True, False]
    assert line.texts() == []
    line.pass_window(10, late=10).pass_window(10).pass_window(10, late=10)
    assert [line.pass_window(10).line.late for _ in range(3)] == [True, True, False]


@pytest.mark.parametrize(
    ("windows", "noise", "stops"),
    [
        ([(99, 1)], 0.0, False),  # one alone may be chance
        ([(99, 1), (99, 1)], 0.01, False),
        ([(99, 1), (99, 1), (100, 0)], 0.0, False),  # only the last two windows count
        ([(150, 1), (148, 1)], 0.0, False),  # 2 of 300
        ([(81, 9), (100, 10)], 0.095, False),
        ([(90, 10), (90, 10)], 0.1, True),
        ([(0, 3)], 1.0, True),
    ],
)
def test_corrupt_replies_are_noise_from_one_percent_on_and_stop_the_robot_from_ten(windows, noise, stops):
    line = Windows()
    line.counters.wrong_goals = 3
    for received, bad in windows:
        line.pass_window(received, bad=bad)
    assert line.line.noise == pytest.approx(noise)
    assert line.line.stops == stops
    doing = ", the robot stops" if stops else ""
    text = f"{100 * noise:.0f} % of the replies are corrupt{doing}: goals are read back, 3 were wrong"
    assert [found[:2] for found in line.texts()] == ([("noise", stops)] if noise else [])
    assert not noise or line.texts()[0][2].startswith(text)


def test_a_pause_of_the_computer_is_reported_from_a_fifth_of_a_second_on_for_five_seconds():
    line = Windows()
    line.pass_window(10, paused=0.19)
    assert line.texts() == []
    line.pass_window(10, paused=0.2)
    ((kind, serious, text),) = line.texts()
    assert (kind, serious) == ("pause", False) and "did not run the driver for 0.2 s" in text
    line.now += 4.9
    assert len(line.texts()) == 1
    line.now += 0.2
    assert line.texts() == []


def test_the_counters_of_a_new_bus_begin_a_new_window():
    line = Windows()
    line.pass_window(100)
    line.counters = BusCounters(received=3, bad=1, late=3)
    line.now += 0.2
    line.line.update(line.counters, 0.0, line.now)
    line.line.update(line.counters, 0.0, line.now + 0.2)
    assert not line.line.stops
    line.pass_window(97, bad=1)
    assert line.line.noise == 0.0


# --- servos on boards ---------------------------------------------------------------------------------------


class BoardBus(ScriptedBus):
    """Hobby servos on two boards, each of which may be lost."""

    can_read = ServoQuantity.NONE
    features = BusFeatures(torque=True, board=True, single_boards=True)

    def __init__(self, ids, positions, clock):
        super().__init__(ids, positions, clock)
        self.lost = {}

    def lost_boards(self):
        return self.lost

    def answers(self):
        self.counters.received += 1
        return True


@pytest.fixture
def boards(monkeypatch):
    monkeypatch.setattr(scripted_bus, "ScriptedBus", BoardBus)
    return ScriptedDriver().armed()


def test_the_pose_of_servos_without_feedback_is_the_command_and_its_speed(boards):
    boards.run(1.1)
    for tick in range(20):
        boards.driver.take(lying() - 0.01 * tick, None, boards.clock())
        before = boards.driver.snapshot
        boards.run(0.02)
    found = boards.driver.snapshot
    assert not found.measured
    assert found.joints == pytest.approx(lying() - 0.19, abs=1e-9)
    expected = (found.joints - before.joints) / (found.time - before.time)
    assert found.velocities == pytest.approx(expected)
    assert found.velocities.max() < -0.4
    boards.driver.disarm()
    boards.run(0.02)
    assert boards.driver.snapshot.joints is None and boards.driver.snapshot.velocities is None


def test_a_lost_board_is_named_with_its_servos_and_stops_the_robot_when_they_are_lost(boards):
    boards.bus.lost = {"second board": boards.settings.ids[9:]}
    boards.run(0.3)
    (found,) = boards.driver.snapshot.diagnoses
    names = "right_front_coxa_joint (id 10), right_front_femur_joint (id 11)"
    words = ": check its power and its cable; on it: "
    assert (found.kind, found.serious) == ("board second board", False)
    assert found.text.startswith(f"the second board does not answer{words}{names}")
    boards.run(0.4)
    (found,) = boards.driver.snapshot.diagnoses
    assert found.serious
    assert found.text.startswith(f"the second board does not answer, the robot stops{words}{names}")
    assert boards.driver.snapshot.planner_request is PlannerRequest.STOP
    boards.run(3.0)
    assert boards.driver.armed  # the other board holds its servos
    boards.bus.lost = {}
    boards.run(1.0)
    assert boards.driver.snapshot.diagnoses == ()
    assert boards.driver.snapshot.planner_request is PlannerRequest.NOTHING


class OneByOneBus(ScriptedBus):
    """A line that reads each servo on its own, in 4 ms."""

    def __init__(self, ids, positions, clock):
        super().__init__(ids, positions, clock)
        self.clock, self.motions = clock, 0

    def timing(self, count, quantities=ServoQuantity.POSITION):
        return BusTiming(0.001, 0.0001 * count, count)

    def read(self, ids, quantities):
        if quantities & ServoQuantity.POSITION:
            self.clock.now += 0.004
            self.motions += 1
        return super().read(ids, quantities)


def test_no_servo_is_read_after_four_fifths_of_a_cycle(monkeypatch):
    monkeypatch.setattr(scripted_bus, "ScriptedBus", OneByOneBus)
    rig = ScriptedDriver()
    rig.driver.connect()
    for _ in range(3):
        rig.bus.motions = 0
        rig.run(0.02)
        assert rig.bus.motions == 4  # the fifth would begin after 16 of 20 ms


class RegisterBus(ScriptedBus):
    """New STS3215 servos that reply late, used in spite of their model."""

    features = BusFeatures(torque=True, registers=ST_TABLE.table)
    model_warning = ""

    def __init__(self, ids, positions, clock):
        super().__init__(ids, positions, clock)
        self.memory = ST_TABLE.defaults()
        self.memory[7] = 10  # return delay
        models = ModelCheck("dynamixel1", True)
        models.note(1, KnownModel("STS3215", "feetech_st", "Feetech"))
        models.check([1])
        self.model_warning = models.warning

    def registers(self, servo, address, length):
        return bytes(self.memory[address : address + length])


def test_unusual_registers_and_forced_models_are_reported_while_the_servos_work(monkeypatch):
    monkeypatch.setattr(scripted_bus, "ScriptedBus", RegisterBus)
    rig = ScriptedDriver().armed()
    rig.run(0.2)
    found = {diagnosis.kind: diagnosis for diagnosis in rig.driver.snapshot.diagnoses}
    assert set(found) == {"preflight", "model"}
    assert "and 15 other joints: return delay is 10: its replies are late" in found["preflight"].text
    assert found["model"].text == "used although servo 1 answers like a Feetech STS3215: use protocol feetech_st"
    assert not any(diagnosis.serious for diagnosis in found.values())
    assert rig.driver.armed
    rig.driver.disarm()
    rig.bus.memory[33] = 1
    assert "and 15 other joints: mode is 1: wheel mode, the servo turns without end" in str(rig.driver.arm())
    assert not rig.driver.armed


def test_a_line_that_echoes_is_reported_and_used(rig):
    rig.bus.counters.echoes = 1
    rig.run(0.2)
    (found,) = rig.driver.snapshot.diagnoses
    assert (found.kind, found.serious) == ("echo", False)
    assert found.text.startswith("the line echoes what is sent, which takes time: ")
