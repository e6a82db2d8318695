"""Severity of a measured value over time, retries, presence of servos, pauses between attempts to open the port."""

from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.servos.driver.bus_connection import BackOff
from hexapod_control.servos.driver.group.presence import Presence
from hexapod_control.servos.driver.health.escalation import EscalationLadder, RetryBudget, Severity


def test_a_ladder_warns_sits_once_and_ends_off():
    ladder = EscalationLadder(warn=60.0, limit=70.0, delay_s=0.0, back=5.0, sitting=10.0)
    values = [(0, 50), (1, 61), (2, 57), (3, 54), (4, 65), (5, 70), (6, 50), (14.9, 50), (15, 50), (99, 20)]
    severities = [ladder.update(value, now).name for now, value in values]
    assert severities == ["OK", "WARN", "WARN", "OK", "WARN", "SIT", "SIT", "SIT", "OFF", "OFF"]


def test_a_sag_shorter_than_the_delay_is_ignored():
    ladder = EscalationLadder(warn=-10.5, limit=-9.9, delay_s=2.0, back=0.3)
    for sag in range(20):  # 0.4 s of every second
        assert ladder.update(-9.0, sag) is Severity.OK
        assert ladder.update(-9.0, sag + 0.4) is Severity.OK
        assert ladder.update(-11.0, sag + 0.45) is Severity.OK


def test_a_robot_that_sits_already_is_switched_off_at_once():
    ladder = EscalationLadder(warn=60.0, limit=70.0, delay_s=0.0, back=5.0)
    ladder.update(80.0, 0.0)
    ladder.seated()
    assert ladder.severity is Severity.OFF
    assert not ladder.reset(80.0)
    assert ladder.severity is Severity.OFF
    assert ladder.reset(40.0)
    assert ladder.severity is Severity.OK


@given(st.lists(st.tuples(st.floats(0.01, 3.0), st.floats(0.0, 100.0)), max_size=60))
def test_no_sequence_of_values_returns_from_sit(values):
    ladder, now, worst = EscalationLadder(60.0, 70.0, 1.0, 5.0), 0.0, Severity.OK
    for dt, value in values:
        now += dt
        severity = ladder.update(value, now)
        assert worst < Severity.SIT or severity >= worst
        worst = max(worst, severity)


def test_an_overload_is_recovered_three_times_in_five_minutes():
    allowance = RetryBudget()
    assert [allowance.take(now) for now in (0, 10, 20, 30, 299, 300.1, 301)] == [True] * 3 + [False] * 2 + [True, False]


def test_three_misses_quarantine_and_only_a_ping_a_second_is_left():
    presence = Presence(3, 0.5, 0.0)
    assert [presence.missed(1) for _ in range(3)] == [False, False, True]
    assert [presence.quarantined(i) for i in range(3)] == [False, True, False]
    assert not presence.lost(1, 0.4)
    assert presence.lost(1, 0.5)
    assert [presence.due_ping(now) for now in (0.1, 0.2, 1.0, 1.1, 2.0)] == [1, None, None, 1, None]
    assert presence.answered(1, 2.1)
    assert presence.due_ping(9.0) is None


def test_the_port_is_tried_soon_and_then_less_often():
    back_off = BackOff()
    assert [back_off.failed(0.0) for _ in range(8)] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.0]
    back_off.reset()
    assert back_off.failed(5.0) == 5.02
