# SPDX-License-Identifier: Apache-2.0
"""Severity of a measured value over time, retries, presence of servos, cycles and attempts to open the port."""

import math
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.core.refusal import Refusal
from hexapod_control.servos.driver.bus_connection import BackOff
from hexapod_control.servos.driver.bus_thread import BusRequest, BusThread
from hexapod_control.servos.driver.monitors import EscalationLadder, LowPass, RetryBudget, Severity
from hexapod_control.servos.driver.presence import Presence


def test_a_ladder_warns_sits_once_and_ends_off():
    ladder = EscalationLadder(warn=60.0, limit=70.0, delay_s=0.0, hysteresis=5.0, sit_timeout_s=10.0)
    values = [(0, 50), (1, 61), (2, 57), (3, 54), (4, 65), (5, 70), (6, 50), (14.9, 50), (15, 50), (99, 20)]
    severities = [ladder.update(value, now).name for now, value in values]
    assert severities == ["OK", "WARN", "WARN", "OK", "WARN", "SIT", "SIT", "SIT", "OFF", "OFF"]


def test_a_sag_shorter_than_the_delay_is_ignored():
    ladder = EscalationLadder(warn=-10.5, limit=-9.9, delay_s=2.0, hysteresis=0.3)
    for sag in range(20):  # 0.4 s of every second
        assert ladder.update(-9.0, sag) is Severity.OK
        assert ladder.update(-9.0, sag + 0.4) is Severity.OK
        assert ladder.update(-11.0, sag + 0.45) is Severity.OK


def test_a_robot_that_sits_already_is_switched_off_at_once():
    ladder = EscalationLadder(warn=60.0, limit=70.0, delay_s=0.0, hysteresis=5.0)
    ladder.update(80.0, 0.0)
    ladder.note_seated()
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
    for away in (False, False, True):
        presence.missed(1)
        assert [presence.quarantined(i) for i in range(3)] == [False, away, False]
    assert not presence.lost(1, 0.4)
    assert presence.lost(1, 0.5)
    assert [presence.due_ping(now) for now in (0.1, 0.2, 1.0, 1.1, 2.0)] == [1, None, None, 1, None]
    presence.answered(1, 2.1)
    assert not presence.quarantined(1)
    assert presence.due_ping(9.0) is None


def test_the_port_is_tried_soon_and_then_less_often():
    back_off = BackOff()
    assert [back_off.failed(0.0) for _ in range(8)] == [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.0]
    back_off.reset()
    assert back_off.failed(5.0) == 5.02


class Cycles:
    """A thread whose cycles take these times [periods of 0.02 s]; a request that is never served ends its pauses."""

    def __init__(self, *times, after_cycle=lambda: None):
        self.left, self.now, self.notes, self.finished = list(times), 50.0, [], threading.Event()
        self.thread = BusThread(self.cycle, lambda: 0.02, lambda: self.now, self.note, lambda: None)
        self.thread.post(lambda: None)
        self.thread.after_cycle = after_cycle
        self.thread.start()
        assert self.finished.wait(5.0)
        self.thread.stop()

    def note(self, kind, text):
        self.notes.append((kind, text))

    def cycle(self):
        if self.left:
            self.now += 0.02 * self.left.pop(0)
        else:
            self.finished.set()


@pytest.mark.parametrize(
    ("times", "overruns"),
    [
        ((0.9, 0.9, 0.9), 0),
        ((1.4,), 0),
        ((1.6,), 1),
        ((1.3, 1.3), 1),  # late together
        ((1.3, 0.6, 1.3), 0),
        ((2.6, 1.4), 1),  # an overrun is not made up for
        ((0.1, 0.1, 2.4), 0),
        ((0.1, 0.1, 2.6), 1),  # cycles between the periodic ones give the next ones no more time
    ],
)
def test_a_cycle_that_ends_half_a_period_late_is_an_overrun(times, overruns):
    assert Cycles(*times).thread.overruns == overruns


def test_a_callback_that_fails_is_reported_and_not_called_again():
    calls = []

    def fail():
        calls.append(1)
        raise RuntimeError("no snapshot")

    ((kind, text),) = Cycles(0.1, 0.1, 0.1, after_cycle=fail).notes
    assert len(calls) == 1
    assert kind == "wake" and "RuntimeError: no snapshot" in text


def test_requests_are_served_in_turn_or_first_and_only_urgent_ones_end_the_waits_of_a_cycle():
    served, hurried = [], []

    def request(name, *, urgent=False):
        return BusRequest(lambda asked: served.append(name) or Refusal(name, name), urgent=urgent)

    thread = BusThread(
        lambda: thread.requests.popleft().serve(), lambda: 0.02, lambda: 0.0, print, lambda: hurried.append(len(served))
    )
    withdrawn = request("withdrawn")
    thread.requests.append(request("posted"))
    thread.requests.append(withdrawn)
    for _ in range(2):
        thread.withdraw(withdrawn)
    asked = request("asked")
    assert thread.ask(asked, 0.0) and asked.refusal == Refusal("asked", "asked")
    assert served == ["posted", "asked"] and hurried == []
    thread.requests.append(request("posted"))
    assert thread.ask(request("first", urgent=True), 0.0, first=True)
    assert served == ["posted", "asked", "first"] and hurried == [3]


@given(st.lists(st.floats(0.001, 1.0), min_size=1, max_size=6), st.floats(-20.0, 20.0))
def test_a_low_pass_approaches_a_step_exponentially_whatever_the_intervals(intervals, step):
    passed, now = LowPass(0.25), 3.0
    assert passed.value is None
    assert passed.update(5.0, now) == 5.0
    for dt in intervals:
        now += dt
        found = passed.update(5.0 + step, now)
    assert found == passed.value == pytest.approx(5.0 + step * (1.0 - math.exp(-sum(intervals) / 0.25)), abs=1e-9)
    assert passed.update(99.0, now - 1.0) == found  # time never goes back
