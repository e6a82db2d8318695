# SPDX-License-Identifier: Apache-2.0
"""How many servos are read per cycle and how often, from the time that bytes take on the line."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hexapod_control.servos.bus.bus_interface import BusError, BusTiming
from hexapod_control.servos.bus.bus_timing import (
    MAX_LINE_SHARE,
    MIN_RATE_HZ,
    MIN_REFRESH_HZ,
    TURNAROUND_S,
    budget,
    duration,
)


def bus_of(write, each, turnarounds):
    """A line on which goals take `write` [s] and every servo that is read `each` [s]."""

    def timing(count):
        return BusTiming(write, each * count, turnarounds * count)

    return timing


@given(st.floats(0.001, 0.06), st.floats(1e-4, 0.01), st.integers(0, 2), st.floats(12.0, 200.0), st.integers(1, 24))
@example(0.041700944865904845, 0.004032482331633218, 0, 19.0, 22)  # lowered to the least rate
def test_as_many_servos_are_read_as_fit_and_the_rate_is_lowered_only_as_far_as_needed(
    write, each, turnarounds, rate, count
):
    timing = bus_of(write, each, turnarounds)
    one = write + each + turnarounds * TURNAROUND_S
    assert duration(timing, count, 1) == pytest.approx(one)
    assert duration(timing, count, 0) == write
    found = budget(timing, count, rate, True)
    fits = [reads for reads in range(2, count + 1) if duration(timing, count, reads) * found.rate <= MAX_LINE_SHARE]
    assert found.reads == max(fits, default=1)
    assert min(MIN_RATE_HZ, rate) <= found.rate + 1e-9 and found.rate <= rate
    fresh = found.reads * found.rate >= count * MIN_REFRESH_HZ
    assert fresh or found.rate == pytest.approx(MIN_RATE_HZ)
    highest = min(rate, MAX_LINE_SHARE / one)
    if found.rate < 0.999 * highest:  # lowered by tenths for fresh positions: a step before they would be stale
        faster = highest
        while max(MIN_RATE_HZ, 0.9 * faster) > found.rate * (1.0 + 1e-9):
            faster *= 0.9
        reads = max(
            [k for k in range(2, count + 1) if duration(timing, count, k) * faster <= MAX_LINE_SHARE], default=1
        )
        assert reads * faster < count * MIN_REFRESH_HZ * (1.0 + 1e-9)
    lowered, partly = found.rate < 0.999 * rate, found.reads < count
    each = found.reads * found.rate / count
    text = f"{found.reads} of {count} servos are read per cycle, each {each:.1f} times per second"
    assert (f"the rate is lowered from {rate:g} to {found.rate:.1f} Hz" in found.limitation) == lowered
    assert (text in found.limitation) == (partly and not lowered)
    assert bool(found.limitation) == (lowered or partly)


def test_a_bus_that_cannot_read_has_the_rate_of_its_goals():
    assert budget(bus_of(0.01, 1.0, 1), 18, 50.0, False).reads == 0
    assert budget(bus_of(0.01, 1.0, 1), 18, 50.0, False).rate == 50.0
    assert budget(bus_of(0.034, 1.0, 1), 18, 50.0, False).rate == pytest.approx(25.0)
    assert budget(bus_of(0.0, 0.0, 0), 18, 500.0, True).rate == 500.0


def test_a_line_that_is_too_slow_is_refused_with_the_time_of_its_cycle():
    budget(bus_of(0.07, 0.013, 1), 18, 50.0, True)
    with pytest.raises(
        BusError,
        match=r"takes 90 ms .*which is 9\.4 Hz at most and too slow.*set the servos to a higher baud",
    ):
        budget(bus_of(0.07, 0.019, 1), 18, 50.0, True)


def test_the_bounds_of_the_line_are_those_of_the_documentation():
    assert (TURNAROUND_S, MAX_LINE_SHARE, MIN_RATE_HZ, MIN_REFRESH_HZ) == (0.001, 0.85, 10.0, 4.0)
