"""Faults of servos: brown-out or single servos lost, overload, and what the planner is asked to do."""

import pytest
from support.phantomx import lying
from support.scripted_bus import ScriptedDriver

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.driver.health.servo_health import BROWN_OUT_SILENCE_S
from hexapod_control.servos.driver.telemetry import PlannerRequest, TorqueState
from hexapod_control.servos.settings.servo_section import OnLost, OnSilence


@pytest.fixture
def rig():
    return ScriptedDriver().armed()


@pytest.mark.parametrize(("count", "brown_out"), [(8, False), (9, True), (18, True)])
def test_half_of_the_servos_silent_at_once_are_a_brown_out_and_fewer_are_not(rig, count, brown_out):
    rig.bus.silent = set(rig.settings.ids[:count])
    rig.run(BROWN_OUT_SILENCE_S + 0.1)
    assert any("brown-out" in text for text in rig.texts()) == brown_out
    assert rig.driver.armed != brown_out


def test_servos_that_fall_silent_one_after_the_other_are_no_brown_out(rig):
    """A bad line loses them in turn: the torque of the others keeps the robot up."""
    for servo in rig.settings.ids[:12]:
        rig.bus.silent.add(servo)
        rig.run(0.1)
    assert rig.driver.armed
    assert not any("brown-out" in text for text in rig.texts())


def test_a_silence_shorter_than_a_brown_out_changes_nothing(rig):
    rig.bus.silent = set(rig.settings.ids)
    rig.run(BROWN_OUT_SILENCE_S - 0.04)
    rig.bus.silent = set()
    rig.run(0.5)
    assert rig.driver.armed


def test_a_brown_out_is_over_when_no_servo_is_silent_any_more(rig):
    rig.bus.silent = set(rig.settings.ids)
    rig.run(0.5)
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
        (OnLost.HOLD, PlannerRequest.STOP, True),
        (OnLost.SIT, PlannerRequest.SIT, True),
        (OnLost.OFF, PlannerRequest.NOTHING, False),
    ],
)
def test_a_lost_servo_leads_to_what_the_robot_file_says(policy, request_, armed):
    rig = ScriptedDriver(on_lost=policy).armed()
    rig.bus.silent = {rig.settings.ids[4]}
    rig.run(rig.settings.lost_after - 0.1)
    assert rig.driver.snapshot.planner_request is PlannerRequest.NOTHING
    rig.run(0.3)
    assert rig.driver.snapshot.planner_request is request_
    assert rig.driver.armed == armed


def test_an_overloaded_servo_is_restarted_where_it_is(rig):
    servo = rig.settings.ids[4]
    rig.bus.faults[servo] = ServoFault.OVERLOAD
    rig.run(8.0)
    assert ("recover", (servo,)) in rig.bus.sent
    assert rig.bus.sent.index(("on", (servo,))) > rig.bus.sent.index(("recover", (servo,)))
    assert rig.driver.armed


@pytest.mark.parametrize(("policy", "armed"), [(OnSilence.HOLD, True), (OnSilence.OFF, False)])
def test_targets_that_stay_away_switch_the_torque_off_only_if_the_robot_file_says_so(policy, armed):
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
