# SPDX-License-Identifier: Apache-2.0
"""Requests whose replies are in time, late, or missing, on a line in scripted time [s]."""

from dataclasses import fields
from types import SimpleNamespace

import pytest
from support.scripted_bus import TimedLine

from hexapod_control.servos.bus import transaction
from hexapod_control.servos.bus.ff_frames import HEADER, FFDecoder, build, sync_read_request
from hexapod_control.servos.bus.transaction import LATE_PROBE_WAIT_S, MAX_WAIT_S, ReplyTiming, Transaction

IDS, BYTE, SIZE = (1, 2, 3), 1e-5, 8  # time of a byte at 1 Mbit/s; bytes of a reply
TIMING = ReplyTiming(return_delay=0.0001, turnaround=0.001, margin=0.004)
POSITIONS, GOALS = 56, 42  # addresses


def approx(seconds):
    return pytest.approx(seconds, abs=1e-6, rel=0.0)


class Servos(TimedLine):
    """Servos that answer with address and id, `late` [s] after their usual time; `silent` ones do not."""

    def __init__(self):
        super().__init__(1_000_000)
        self.late, self.silent = 0.0, set()

    def write(self, data):
        super().write(data)
        if not data.startswith(HEADER):
            return
        when = self.now + len(data) * BYTE + self.late
        for servo in data[7:-1]:
            reply = build(servo, 0, bytes((data[5], servo)))
            when += len(reply) * BYTE
            if servo not in self.silent:
                self.send_later(reply, *[when] * len(reply))


class Rig:
    def __init__(self, line):
        self.line, self.exchange = line, Transaction(line, TIMING)
        self.counters = self.exchange.counters

    def ask(self, address=POSITIONS, ids=IDS, blocking=False):
        """The ids that have answered."""
        frame = sync_read_request(address, 2, ids)
        ask = self.exchange.ask_blocking if blocking else self.exchange.ask
        packets = ask(frame, ids, SIZE, FFDecoder(ids, 2, echo=frame))
        assert all(packet.data == bytes((address, servo)) for servo, packet in packets.items())
        return list(packets)

    def due(self, address=POSITIONS, ids=IDS):
        """When replies to a request that is sent now are due."""
        frame = len(sync_read_request(address, 2, ids))
        return self.line.now + (frame + SIZE * len(ids)) * BYTE + 0.001 + 0.0001 * len(ids) + 0.004


@pytest.fixture
def rig(monkeypatch):
    line = Servos()
    monkeypatch.setattr(transaction, "time", SimpleNamespace(monotonic=lambda: line.now))
    return Rig(line)


def learn_gap(rig, *gaps):
    """Delays replies by these times [s] in turn, so that the wait for the next ones is twice as long."""
    usual = 0.001 + 0.0001 * len(IDS) + 0.004 - 1e-9
    for gap in gaps:
        rig.line.late = usual + gap
        assert set(rig.ask()) | set(rig.ask()) == set(IDS)


def test_a_new_bus_has_counted_nothing(rig):
    assert not any(getattr(rig.counters, item.name) for item in fields(rig.counters))
    assert rig.exchange.received_bytes == 0


def test_replies_are_read_in_one_piece_until_their_bytes_delays_turnaround_and_margin_are_over(rig):
    due = rig.due()
    assert rig.ask() == [1, 2, 3]
    assert rig.line.reads == [(3 * SIZE, approx(due))]
    assert (rig.counters.sent, rig.counters.received, rig.counters.late) == (1, 3, 0)
    rig.exchange.send(b"goals" * 20)
    due = rig.due() + 100 * BYTE  # they are transmitted first
    rig.ask()
    assert rig.line.reads[-1] == (3 * SIZE, approx(due))


def test_a_servo_that_is_missing_among_others_costs_no_more_than_the_time_of_its_reply(rig):
    rig.ask()
    rig.line.silent = {2}
    due = rig.due()
    assert rig.ask() == [1, 3]
    assert rig.line.now == approx(due)
    assert rig.counters.waited == approx(rig.line.now - 100.0)
    assert (rig.counters.timeouts, rig.counters.misses) == (1, {1: 0, 2: 1, 3: 0})
    assert rig.exchange.awaited == frozenset()


def test_servos_that_all_stop_answering_at_once_are_waited_for_a_little_longer(rig):
    rig.ask()
    rig.line.silent = set(IDS)
    due = rig.due()
    assert rig.ask() == []
    assert rig.line.now == approx(due + LATE_PROBE_WAIT_S)
    assert (rig.counters.timeouts, rig.counters.late) == (3, 0)
    assert rig.counters.misses == dict.fromkeys(IDS, 1)


def test_late_replies_are_taken_and_their_lateness_is_known_until_they_are_in_time_again(rig):
    rig.ask()
    rig.line.late = 0.03
    begin = rig.line.now
    assert rig.ask() == [1, 2, 3]
    frame = len(sync_read_request(POSITIONS, 2, IDS))
    arrival = begin + (frame + SIZE * 3) * BYTE + 0.03
    assert rig.line.now == approx(arrival)
    assert (rig.counters.received, rig.counters.late, rig.counters.timeouts) == (6, 3, 0)
    due = begin + (frame + SIZE * 3) * BYTE + 0.001 + 0.0003 + 0.004
    assert rig.counters.lateness == pytest.approx(arrival - due + TIMING.margin, abs=0.0005)
    rig.line.late = 0.0
    rig.line.now += 1.1
    assert rig.ask() == [1, 2, 3]
    assert rig.counters.lateness == 0.0


def test_a_call_waits_a_tenth_of_a_second_at_most_and_the_next_one_has_the_late_replies(rig):
    rig.ask()
    learn_gap(rig, 0.03, 0.05, 0.09)
    rig.line.late, sent = 0.16, len(rig.line.written)
    due = rig.due()
    assert rig.ask() == []
    assert rig.exchange.awaited == frozenset(IDS)
    assert rig.line.now == approx(due + MAX_WAIT_S)
    assert rig.ask() == [1, 2, 3]
    assert rig.exchange.awaited == frozenset()
    assert len(rig.line.written) == sent + 1
    assert rig.counters.timeouts == 0


def test_another_request_is_not_sent_before_the_late_replies_have_come_and_they_are_kept_for_half_a_second(rig):
    for pause, kept in ((0.45, True), (0.55, False)):
        rig.line.late = 0.0
        rig.ask()
        learn_gap(rig, 0.03, 0.05, 0.09, 0.15)
        rig.line.late = 0.23
        assert rig.ask() == []
        sent = len(rig.line.written)
        assert rig.ask(GOALS) == []
        assert rig.exchange.awaited == frozenset(IDS)
        assert len(rig.line.written) == sent
        rig.line.late = 0.0
        assert rig.ask(GOALS) == [1, 2, 3]
        assert len(rig.line.written) == sent + 1
        rig.line.now += pause
        assert rig.ask() == [1, 2, 3]
        assert len(rig.line.written) == sent + (1 if kept else 2)
        rig.line.now += 5.0


def late_by(rig, seconds):
    """Delays all replies by `seconds`, more than MAX_WAIT_S; the exchange has had late replies before."""
    rig.ask()
    learn_gap(rig, 0.03, 0.05, 0.09, 0.15)
    rig.line.late = seconds


def test_late_replies_to_several_requests_are_all_kept_until_they_are_asked_for_again(rig):
    late_by(rig, 0.12)
    sent = len(rig.line.written)
    for ids in ((1,), (2,), (3,)):
        assert rig.ask(ids=ids) == []
        assert rig.exchange.awaited == frozenset(ids)
    assert len(rig.line.written) == sent + 3
    assert (rig.ask(ids=(1,)), rig.ask(ids=(2,)), rig.ask(ids=(3,))) == ([1], [2], [3])
    assert len(rig.line.written) == sent + 3
    assert (rig.counters.timeouts, rig.exchange.awaited) == (0, frozenset())


def test_a_kept_reply_is_returned_while_another_request_is_still_awaited(rig):
    late_by(rig, 0.12)
    assert rig.ask(ids=(1,)) == []
    rig.line.late = 0.24
    assert rig.ask(GOALS) == []  # the reply before has arrived meanwhile
    sent = len(rig.line.written)
    assert rig.ask(ids=(1,)) == [1]
    assert rig.exchange.awaited == frozenset()
    assert rig.ask(GOALS) == [1, 2, 3]
    assert len(rig.line.written) == sent


def test_a_blocking_request_waits_for_its_late_replies_and_those_to_the_request_before(rig):
    late_by(rig, 0.16)
    assert rig.ask() == []
    assert rig.ask(GOALS, blocking=True) == [1, 2, 3]
    assert rig.exchange.awaited == frozenset()
    sent = len(rig.line.written)
    assert rig.ask() == [1, 2, 3]
    assert len(rig.line.written) == sent


def test_a_blocking_request_waits_for_silent_servos_no_longer_than_for_the_next_late_reply(rig):
    late_by(rig, 0.12)
    rig.line.silent, due = set(IDS), rig.due(GOALS)
    assert rig.ask(GOALS, blocking=True) == []
    assert rig.line.now < due + 0.3  # more than MAX_LATE_WAIT_S, and less than two of them
    assert rig.counters.timeouts == len(IDS)


def test_a_blocking_request_ends_at_once_when_something_is_urgent(rig):
    late_by(rig, 0.16)
    rig.exchange.urgent.set()
    begin = rig.line.now
    assert rig.ask(blocking=True) == []
    assert rig.line.now == begin


def test_a_reply_that_comes_after_its_request_was_abandoned_counts_as_late_and_not_as_missing(rig):
    rig.ask(ids=(1,))
    rig.line.late = 0.1
    assert rig.ask(ids=(1,)) == []
    assert (rig.counters.timeouts, rig.counters.misses[1]) == (1, 1)
    rig.line.late = 0.0
    rig.line.now += 0.1
    assert rig.ask(GOALS, ids=(2,)) == [2]
    assert (rig.counters.timeouts, rig.counters.late, rig.counters.misses[1]) == (0, 1, 0)


@pytest.mark.parametrize("lost", [1, 2])
def test_a_late_reply_is_taken_for_one_request_only_the_first_that_it_fits(rig, lost):
    for servo in IDS:
        rig.ask(ids=(servo,))
    rig.line.silent = {lost}
    assert rig.ask(ids=(lost,)) == []
    rig.line.silent, rig.line.late = set(), 0.1
    assert rig.ask(ids=(2,)) == []
    assert rig.counters.timeouts == 2
    rig.line.late = 0.0
    rig.line.now += 0.1
    assert rig.ask(GOALS, ids=(3,)) == [3]
    assert (rig.counters.timeouts, rig.counters.late) == (1, 1)


def test_bytes_that_came_before_a_request_are_not_taken_for_its_replies(rig):
    stale = build(2, 0, bytes((GOALS, 2)))
    rig.line.send_later(stale, *[rig.line.now] * len(stale))
    assert rig.ask() == [1, 2, 3]


def test_nothing_is_asked_while_something_is_urgent(rig):
    rig.exchange.urgent.set()
    assert rig.ask() == [] and rig.line.written == []
    assert rig.exchange.awaited == frozenset(IDS)
    rig.exchange.urgent.clear()
    assert rig.ask() == [1, 2, 3]
    assert rig.exchange.awaited == frozenset()


def test_late_replies_are_not_waited_for_while_something_is_urgent(rig):
    rig.ask()
    rig.line.late, read = 0.03, rig.line.read

    def interrupted(count, deadline):
        if len(rig.line.reads) > 2:
            rig.exchange.urgent.set()
        return read(count, deadline)

    rig.line.read = interrupted
    due = rig.due()
    assert rig.ask() == []
    assert rig.exchange.awaited == frozenset(IDS)
    assert rig.line.now < due + 0.015
    rig.exchange.urgent.clear()
    rig.line.read = read
    assert rig.ask() == [1, 2, 3]
