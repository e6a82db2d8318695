"""How many servos are read per cycle and how often, from the time that bytes take on the line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.servos.bus.bus_interface import BusError, BusTiming
from hexapod_control.servos.bus.bus_timing import MAX_LINE_SHARE, MIN_RATE, budget, duration


def line(baud, per_servo, turnarounds=None):
    def timing(count):
        return BusTiming(140 * 10 / baud, per_servo * count * 10 / baud, count if turnarounds is None else turnarounds)

    return timing


def test_a_fast_line_reads_all_servos_in_every_cycle():
    found = budget(line(1_000_000, 14, 1), 18, 50.0, True)
    assert (found.rate, found.reads, found.limitation) == (50.0, 18, "")


def test_a_line_of_many_turnarounds_reads_some_in_turn_and_reports_it():
    found = budget(line(1_000_000, 22), 18, 50.0, True)
    assert 10 <= found.reads < 18
    assert duration(line(1_000_000, 22), 18, found.reads) * found.rate <= MAX_LINE_SHARE
    assert f"{found.reads} of 18 servos are read per cycle" in found.limitation


def test_a_slow_line_has_its_rate_lowered_with_a_warning():
    found = budget(line(38_400, 14, 1), 18, 50.0, False)
    assert found.rate < 50.0
    assert f"lowered from 50 to {found.rate:.1f} Hz" in found.limitation


def test_a_line_too_slow_to_walk_is_refused():
    with pytest.raises(BusError, match="set the servos to a higher baud"):
        budget(line(9_600, 14, 1), 18, 50.0, True)


@given(st.sampled_from((9600, 57600, 115200, 1000000)), st.integers(2, 40), st.floats(10, 300), st.booleans())
def test_a_budget_never_asks_for_more_than_the_line_has(baud, size, rate, reads):
    try:
        found = budget(line(baud, size), 18, rate, reads)
    except BusError:
        assert MAX_LINE_SHARE / duration(line(baud, size), 18, int(reads)) < MIN_RATE
        return
    assert found.rate <= rate
    assert found.reads <= 1 or duration(line(baud, size), 18, found.reads) * found.rate <= MAX_LINE_SHARE + 1e-9
