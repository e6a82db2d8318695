# SPDX-License-Identifier: Apache-2.0
"""Debouncing: short changes are ignored, lasting ones count once."""

from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.nodes.servo_driver.driver_output import Debounce

DT, TIME = 0.005, 0.0199  # four readings
readings = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)


def test_the_first_reading_counts_at_once():
    assert Debounce(TIME).update((True, False), DT) == (True, False)


@given(readings)
def test_a_state_changes_only_to_one_that_has_lasted_and_then_always(read):
    switches = Debounce(TIME)
    states = [switches.update(each, DT) for each in read]
    for switch in range(2):
        for at in range(1, len(read)):
            lasted = at >= 4 and len({read[k][switch] for k in range(at - 3, at + 1)}) == 1
            if states[at][switch] != states[at - 1][switch]:
                assert lasted and read[at][switch] == states[at][switch]
            if lasted:
                assert states[at][switch] == read[at][switch]


@given(readings)
def test_without_a_time_every_reading_counts(read):
    switches = Debounce(0.0)
    assert [switches.update(each, DT) for each in read] == read
