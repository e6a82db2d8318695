# SPDX-License-Identifier: Apache-2.0
"""How long a missing reply is waited for, from how late the replies before were. Times are steady [s]."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.servos.bus.transaction import (
    LATE_MEMORY_S,
    LATE_PROBE_WAIT_S,
    LATE_PROBE_WINDOW_S,
    MAX_LATE_WAIT_S,
    LateReplies,
    OpenRequest,
)

NOW = 10.0


def request(*ids, answered=()):
    """A request to these servos, of which some have answered."""
    return OpenRequest(b"", frozenset(ids), 8, None, 0.0, 0.0, 0.0, set(ids) - set(answered))


def answering(*ids):
    """Servos that have just answered in time."""
    found = LateReplies()
    for servo in ids:
        found.record_reply(servo, NOW)
    return found


def test_a_servo_that_is_silent_among_others_is_not_waited_for():
    assert answering(1, 2).wait_time(request(1, 2, answered=[1]), NOW + 0.01) == 0.0


def test_servos_that_all_stop_answering_at_once_may_be_late_for_a_while():
    late, both = answering(1, 2), request(1, 2)
    assert late.wait_time(both, NOW + 0.9 * LATE_PROBE_WINDOW_S) == LATE_PROBE_WAIT_S
    assert late.wait_time(both, NOW + 1.1 * LATE_PROBE_WINDOW_S) == 0.0


def test_a_servo_that_has_never_answered_is_not_late():
    assert answering(1, 2).wait_time(request(1, 3), NOW + 0.01) == 0.0
    assert LateReplies().wait_time(request(1, 2), 0.01) == 0.0


def test_a_single_servo_is_waited_for_in_the_third_request_that_it_does_not_answer():
    late, single = answering(1), request(1)
    for _ in range(2):
        assert late.wait_time(single, NOW + 0.01) == 0.0
        late.record_missing(single)
    assert late.wait_time(single, NOW + 0.01) == LATE_PROBE_WAIT_S
    late.record_reply(1, NOW + 0.02)
    assert late.wait_time(single, NOW + 0.03) == 0.0


@pytest.mark.parametrize("ended", [request(1, 2, answered=[1]), request(3)])
def test_only_requests_that_no_known_servo_answers_are_unanswered(ended):
    late = answering(1, 2)
    for _ in range(5):
        late.record_missing(ended)
    assert late.wait_time(request(1), NOW + 0.01) == 0.0


@given(st.lists(st.floats(0.001, 0.5), min_size=1, max_size=4))
def test_after_late_replies_twice_their_longest_gap_is_waited_for_within_bounds(gaps):
    late = LateReplies()
    for gap in gaps:
        late.record_late(2.0 * gap, gap, NOW)
    assert late.lateness == 2.0 * max(gaps)
    for asked in (request(1), request(1, 2), request(1, 2, answered=[1])):
        assert LATE_PROBE_WAIT_S <= late.wait_time(asked, NOW + 0.9 * LATE_MEMORY_S) <= MAX_LATE_WAIT_S
        if LATE_PROBE_WAIT_S < 2.0 * max(gaps) < MAX_LATE_WAIT_S:
            assert late.wait_time(asked, NOW + 0.9 * LATE_MEMORY_S) == 2.0 * max(gaps)
    assert late.wait_time(request(1), NOW + 1.1 * LATE_MEMORY_S) == 0.0 == late.lateness


def test_a_reply_in_time_long_after_the_last_late_one_ends_the_lateness():
    late = LateReplies()
    late.record_late(0.2, 0.1, NOW)
    late.record_reply(1, NOW + 0.9 * LATE_MEMORY_S)
    assert late.lateness == 0.2
    late.record_reply(1, NOW + 1.1 * LATE_MEMORY_S)
    assert late.lateness == 0.0
