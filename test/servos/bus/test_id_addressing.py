# SPDX-License-Identifier: Apache-2.0
"""What servos with ids have in common: the speed register of moves within a time."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hexapod_control.servos.bus.ff_bus import SpeedRegister

UNKNOWN = 30


@given(
    st.floats(0.1, 20.0),
    st.integers(0, 4095),
    st.floats(0.005, 5.0),
)
@example(1.0, 0, 1.0)
@example(1.0, 4095, 0.005)
def test_a_move_gets_the_lowest_speed_that_takes_it_there_in_time(unit, travel, duration):
    found = SpeedRegister(unit, fastest=1023, unknown=UNKNOWN).register(travel, duration)
    assert 1 <= found <= 1023
    assert found * unit * duration >= travel * (1.0 - 1e-9) or found == 1023
    assert (found - 1) * unit * duration <= travel * (1.0 + 1e-9) or found == 1


@pytest.mark.parametrize(("travel", "duration", "found"), [(None, 0.0, 0), (100, 0.0, 0), (None, 0.1, UNKNOWN)])
def test_no_duration_is_full_speed_and_a_servo_of_unknown_position_moves_slowly(travel, duration, found):
    assert SpeedRegister(1.0, fastest=1023, unknown=UNKNOWN).register(travel, duration) == found
