# SPDX-License-Identifier: Apache-2.0
"""Deadlines of a board's replies, late replies, and the state of servos without feedback. Times are steady [s]."""

from types import SimpleNamespace

import pytest
from support.scripted_bus import TimedLine

from hexapod_control.servos.bus import pulse_board
from hexapod_control.servos.bus.bus_interface import NoAnswerError
from hexapod_control.servos.bus.pulse_board import (
    DRAIN_TIME_S,
    LATE_WINDOW_S,
    REPLY_TIMEOUT_S,
    WireTiming,
    checked_channels,
    runs,
)
from hexapod_control.servos.bus.transaction import LATE_MEMORY_S

BEGIN_S, BYTE_TIME_S = 100.0, 0.001  # when the line begins, and of a byte at 10000 baud


@pytest.fixture
def line(monkeypatch):
    made = TimedLine(10_000)
    monkeypatch.setattr(pulse_board, "time", SimpleNamespace(monotonic=lambda: made.now))
    return made


def test_a_reply_is_due_when_all_bytes_have_been_on_the_line_and_a_timeout_later(line):
    wire = WireTiming(line)
    wire.send(b"goals")
    assert wire.ask(b"ab", 3) == b""
    assert line.reads == [(3, pytest.approx(BEGIN_S + 10 * BYTE_TIME_S + REPLY_TIMEOUT_S))]
    line.now = BEGIN_S + 5.0  # nothing is on the line any more
    line.send_later(b"xyz", *[BEGIN_S + 5.01] * 3)
    assert wire.ask(b"ab", 3, 0.25) == b"xyz"
    assert line.reads[-1] == (3, pytest.approx(BEGIN_S + 5.0 + 5 * BYTE_TIME_S + 0.25))
    assert line.written == [b"goals", b"ab", b"ab"]
    assert wire.counters.sent == 3
    assert wire.more(2) == b""
    assert line.reads[-1] == (2, pytest.approx(BEGIN_S + 5.01 + REPLY_TIMEOUT_S))


def test_waiting_for_a_reply_counts_until_it_is_due_and_delays_of_the_computer_do_not(line):
    wire = WireTiming(line)
    line.send_later(b"x", BEGIN_S + 0.02)
    wire.ask(b"a", 1)
    assert wire.counters.waited == pytest.approx(0.02)
    line.delay = 1.0
    wire.ask(b"a", 1)
    assert wire.counters.waited == pytest.approx(0.02 + 2 * BYTE_TIME_S + REPLY_TIMEOUT_S)


def test_a_late_reply_is_taken_from_the_line_before_the_next_request(line):
    wire = WireTiming(line)
    line.send_later(b"xyz", BEGIN_S + 0.01, BEGIN_S + 0.1, BEGIN_S + 0.2)
    assert wire.ask(b"ab", 3) == b"x"
    due = BEGIN_S + 5 * BYTE_TIME_S + REPLY_TIMEOUT_S
    settled = []
    for line.now in (BEGIN_S + 0.08, BEGIN_S + 0.12, BEGIN_S + 0.18, BEGIN_S + 0.22):
        settled.append(wire.settled())
    assert settled == [False, False, False, True]
    assert (wire.counters.received, wire.counters.late, wire.counters.timeouts) == (1, 1, 0)
    assert wire.counters.lateness == pytest.approx(BEGIN_S + 0.18 - due + REPLY_TIMEOUT_S)  # until when it had not come
    line.now += LATE_MEMORY_S - 0.1
    wire.ask(b"a", 0)
    assert wire.counters.lateness > 0.0
    line.now += 0.2
    wire.ask(b"a", 0)
    assert wire.counters.lateness == 0.0


def test_a_reply_is_missing_when_nothing_has_come_for_the_time_in_which_it_may_be_late(line):
    wire = WireTiming(line)
    wire.ask(b"ab", 3)
    due = line.now
    line.send_later(b"x", due + 0.2)
    settled = []
    for line.now in (due + 0.19, due + 0.21, due + 0.2 + LATE_WINDOW_S, due + 0.22 + LATE_WINDOW_S):
        settled.append(wire.settled())
    assert settled == [False, False, False, True]
    assert (wire.counters.received, wire.counters.late, wire.counters.timeouts) == (0, 0, 1)
    assert wire.settled()
    assert wire.counters.timeouts == 1


def test_the_longest_lateness_counts(line):
    wire, found = WireTiming(line), []
    for late in (0.1, 0.05):
        wire.ask(b"a", 1)
        line.send_later(b"x", line.now + late)
        line.now += late - 0.01
        assert not wire.settled()
        line.now += 0.02
        assert wire.settled()
        found.append(wire.counters.lateness)
    assert found == pytest.approx([0.09 + REPLY_TIMEOUT_S] * 2)


def test_nothing_is_asked_while_something_is_urgent(line):
    wire = WireTiming(line)
    assert wire.settled()
    wire.urgent.set()
    assert not wire.settled()
    wire.urgent.clear()
    assert wire.settled()


def test_a_silent_board_is_listened_to_for_a_time_and_the_rest_of_a_reply_drained(line):
    wire = WireTiming(line)
    wire.listen(5.0)
    assert line.reads == [(1, BEGIN_S + 5.0)]
    wire.drain()
    assert line.reads[-1][1] == pytest.approx(BEGIN_S + 5.0 + DRAIN_TIME_S)
    begin = line.now
    assert isinstance(wire.refusal(b"ab", [b"ab", b"abab"], "no board"), NoAnswerError)
    assert line.reads[-1] == (4, pytest.approx(begin + DRAIN_TIME_S + 6 * BYTE_TIME_S + REPLY_TIMEOUT_S))
    assert wire.counters.echoes == 0
    line.send_later(b"ab", *[line.now + DRAIN_TIME_S + 0.5 * BYTE_TIME_S] * 2)
    assert "the line echoes what is sent at 10000 baud" in str(wire.refusal(b"ab", [b"ab", b"abab"], "no board"))
    assert wire.counters.echoes == 1


def test_readings_of_servos_are_good_or_missing_together():
    wire = WireTiming(TimedLine(10_000))
    for pulses, good, misses in (
        ([500, 2500], True, 0),
        ([0, 1500], True, 0),
        ([499, 1500], False, 1),
        ([1500, 2501], False, 2),
        ([1500], False, 3),
        ([1500, 1500], True, 0),
    ):
        assert wire.accepts((3, 4), pulses) is good
        assert wire.counters.misses == {3: misses, 4: misses}
    assert (wire.counters.received, wire.counters.bad) == (3, 2)


def test_channels_are_unique_and_on_the_board():
    assert checked_channels([3, 0, 5], 5, "board") == (3, 0, 5)
    for wrong, named in (([0, 6, -1], r"\[-1, 6\]"), ([2, 3, 2], r"\[2\]"), ([], "missing")):
        with pytest.raises(ValueError, match=f"servo ids {named}: a board takes different channels from 0 to 5"):
            checked_channels(wrong, 5, "board")


def test_neighbouring_channels_form_runs():
    assert runs({}) == []
    assert runs({5: 50, 0: 1, 2: 20, 1: 10, 4: 40}) == [(0, [1, 10, 20]), (4, [40, 50])]
