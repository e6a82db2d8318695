"""Faults of servos: brown-outs, single lost servos, overloads, and the resulting requests to the planner."""

import re
from itertools import pairwise

import pytest
from support.phantomx import lying
from support.scripted_bus import ScriptedDriver

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.driver.health.escalation import SIT_TIMEOUT_S
from hexapod_control.servos.driver.health.servo_health import ALL_SILENT_S, LEG_LOST_S, SILENCE_LIMIT_S
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.settings.servo_section import Battery, OnLost, OnSilence


@pytest.fixture
def rig():
    return ScriptedDriver().armed()


@pytest.mark.parametrize(("count", "brown_out"), [(8, False), (9, True), (18, True)])
def test_half_of_the_servos_silent_at_once_are_a_brown_out_and_fewer_are_not(rig, count, brown_out):
    rig.bus.silent = set(rig.settings.ids[:count])
    rig.run(SILENCE_LIMIT_S - 0.1)
    assert rig.driver.armed
    rig.run(0.3)
    assert any("brown-out" in text for text in rig.texts()) == brown_out
    assert rig.driver.armed != brown_out


def test_servos_that_fall_silent_one_after_the_other_are_no_brown_out(rig):
    """A bad line loses them in turn: the torque of the others keeps the robot up."""
    for servo in rig.settings.ids[:12]:
        rig.bus.silent.add(servo)
        rig.run(0.1)
    rig.run(SILENCE_LIMIT_S)
    assert rig.driver.armed
    assert not any("brown-out" in text for text in rig.texts())


@pytest.mark.parametrize("half", [False, True])
def test_the_robot_holds_while_its_servos_are_silent_and_goes_on_if_they_have_kept_their_torque(rig, half):
    rig.bus.silent = set(rig.settings.ids[: 9 if half else 18])
    rig.run(ALL_SILENT_S + 0.06)
    assert rig.driver.snapshot.planner_request is PlannerRequest.STOP
    assert rig.driver.snapshot.joints is None
    names = r"9 servos \(left_front_coxa_joint \(id 1\),.*\)" if half else "all servos"
    assert re.search(rf"{names} have been silent for 0.\d s: the robot holds, after 3 s torque counts", rig.texts()[-1])
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
    assert rig.driver.arm() == ""


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
    rig.run(SILENCE_LIMIT_S + 0.5)
    assert rig.driver.snapshot.joints is None  # nothing is known of the pose
    rig.bus.silent = set(rig.settings.ids[:1])
    rig.run(1.5)
    assert rig.driver.snapshot.joints is None
    rig.bus.silent = set()
    rig.run(1.5)
    assert rig.driver.snapshot.joints is not None
    assert not rig.driver.snapshot.diagnoses
    assert rig.driver.snapshot.power is TorqueState.OFF


@pytest.mark.parametrize(
    ("policy", "request_", "armed"),
    [
        (OnLost.LEG, PlannerRequest.STOP, True),
        (OnLost.HOLD, PlannerRequest.STOP, True),
        (OnLost.SIT, PlannerRequest.SIT, True),
        (OnLost.OFF, PlannerRequest.NOTHING, False),
    ],
)
def test_a_lost_servo_leads_to_the_policy_of_the_robot_file(policy, request_, armed):
    rig = ScriptedDriver(on_lost=policy).armed()
    rig.bus.silent = {rig.settings.ids[4]}
    rig.run(rig.settings.lost_after - 0.1)
    assert rig.driver.snapshot.planner_request is PlannerRequest.NOTHING
    rig.run(0.3)
    assert rig.driver.snapshot.planner_request is request_
    assert rig.driver.armed == armed


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
        rig.driver.legs_folded(frozenset(range(leg + 1)))
        rig.run(0.3)
        found = rig.driver.snapshot
        assert (found.planner_request, found.lost_leg) == (PlannerRequest.NOTHING, None)
        assert any("the robot walks without its leg" in diagnosis.text for diagnosis in found.diagnoses)
    rig.bus.silent |= {legs[2]}  # one leg too many
    rig.run(LEG_LOST_S + 1.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.STOP
    assert rig.driver.armed


def test_an_overloaded_servo_is_restarted_where_it_is(rig):
    servo = rig.settings.ids[4]
    rig.bus.faults[servo] = ServoFault.OVERLOAD
    rig.run(8.0)
    assert ("recover", (servo,)) in rig.bus.sent
    assert rig.bus.sent.index(("on", (servo,))) > rig.bus.sent.index(("recover", (servo,)))
    assert rig.driver.armed


@pytest.mark.parametrize(("policy", "armed"), [(OnSilence.HOLD, True), (OnSilence.OFF, False)])
def test_missing_targets_switch_the_torque_off_only_with_that_policy(policy, armed):
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
    assert rig.driver.armed == armed


def test_a_hot_servo_slows_the_joints_and_at_its_limit_the_robot_sits(rig):
    rig.bus.temperature = 62.0
    rig.run(1.0)
    assert rig.driver.snapshot.speed_share == 0.7
    rig.bus.temperature = 71.0
    rig.run(1.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.SIT
    rig.driver.seated()
    rig.run(0.1)
    assert not rig.driver.armed
    assert "let it cool" in rig.driver.reset_fault()
    rig.bus.temperature = 40.0
    rig.run(8.0)
    assert rig.driver.reset_fault() == ""


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
    rig.driver.seated()
    rig.run(0.2)
    assert re.fullmatch(r"\S+ \(id \d+\) reached 71 degC, limit 70: let it cool, call .*, then arm", rig.driver.arm())
    assert "is at 35 degC now: let it cool, call reset_fault, then arm" in " ".join(rig.texts())


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
    assert rig.driver.reset_fault() == "the battery is still at 9.0 V: charge or replace it"
    rig.bus.volts = 11.5
    rig.run(3.0)
    assert "the battery is empty" in rig.driver.arm()
    assert rig.driver.reset_fault() == ""
    rig.clock.tick = 1e-3
    assert rig.driver.arm() == ""


def test_a_robot_that_sits_loses_its_torque_at_once_and_only_if_it_was_asked_to_sit():
    rig = ScriptedDriver(on_lost=OnLost.SIT).armed()
    rig.driver.seated()
    rig.bus.silent = {rig.settings.ids[4]}
    rig.run(1.0)
    assert rig.driver.snapshot.planner_request is PlannerRequest.SIT
    assert rig.driver.armed
    rig.driver.seated()
    rig.run(0.1)
    assert not rig.driver.armed
    assert any("(id 5) lost: check it, call reset_fault, then arm" in text for text in rig.texts())


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
    assert rig.driver.reset_fault() == ""
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
    assert rig.driver.arm() == ""
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
