# SPDX-License-Identifier: Apache-2.0
"""The pace of simulated time: long delays are not made up, and the world waits for its controller."""

import pytest

from hexapod_control.nodes.mujoco_sim.running_world import (
    MAX_CATCH_UP_S,
    MAX_LEAD_PERIODS,
    MAX_WAIT_S,
    ControllerLead,
    RealTimePacer,
)


def test_simulated_time_is_due_at_the_speed_factor_and_only_once():
    pace = RealTimePacer(2.0, now=10.0)
    pace.advance_to(10.031)
    assert [pace.take(0.02) for _ in range(4)] == [True, True, True, False]
    pace.advance_to(10.04)
    assert pace.take_all() == pytest.approx(0.02, abs=1e-6)
    assert pace.take_all() == 0.0
    assert pace.dropped == 0


def test_time_beyond_the_catch_up_limit_is_dropped_and_counted():
    pace = RealTimePacer(1.0, now=0.0)
    pace.advance_to(5.0)
    assert pace.take_all() == MAX_CATCH_UP_S
    assert pace.dropped == 1
    pace.restart(9.0)
    pace.advance_to(9.01)
    assert pace.take_all() == pytest.approx(0.01)


@pytest.mark.parametrize("period", [0.02, 0.1])
def test_the_world_waits_for_targets_that_lag_by_more_than_the_controller_can_make_up(period):
    lead = ControllerLead()
    for count in range(5):  # so slowly that the world waits in vain for a controller with a longer period
        lead.note_targets(count * period, now=count * (MAX_WAIT_S + 0.01))
    last, now = 4 * period, 4 * (MAX_WAIT_S + 0.01)
    assert not lead.must_wait(last + MAX_LEAD_PERIODS * period, now)
    assert lead.must_wait(last + MAX_LEAD_PERIODS * period + 0.001, now + 0.1)
    lead.note_targets(last + period, now + 0.1)
    assert not lead.must_wait(last + MAX_LEAD_PERIODS * period + 0.001, now + 0.1)


def test_late_targets_do_not_let_the_world_run_farther_ahead():
    lead = ControllerLead()
    for stamp in (0.0, 0.02, 0.06, 0.1):
        lead.note_targets(stamp, now=stamp)
    assert not lead.must_wait(0.1 + MAX_LEAD_PERIODS * 0.02, now=0.1)
    assert lead.must_wait(0.1 + MAX_LEAD_PERIODS * 0.02 + 0.001, now=0.1)


def test_the_bounds_are_a_tenth_of_a_second_two_periods_of_50_hz_and_three_seconds():
    assert (MAX_CATCH_UP_S, MAX_LEAD_PERIODS, MAX_WAIT_S) == (0.1, 2.0, 3.0)
    lead = ControllerLead()
    lead.note_targets(0.0, now=0.0)
    assert not lead.must_wait(0.04, now=0.0) and lead.must_wait(0.0401, now=0.0)
    for stamp, longer in ((0.019, False), (0.101, False), (0.1, True)):  # periods that a controller may have
        lead = ControllerLead()
        lead.note_targets(0.0, now=0.0)
        lead.note_targets(stamp, now=4.0)
        assert lead.must_wait(stamp + 0.05, now=4.0) is not longer


def test_the_world_does_not_wait_for_a_missing_controller():
    lead = ControllerLead()
    assert not lead.must_wait(100.0, now=0.0)
    lead.note_targets(100.0, now=50.0)
    assert lead.must_wait(100.1, now=50.0 + 0.9 * MAX_WAIT_S)
    assert not lead.must_wait(100.1, now=50.0 + MAX_WAIT_S + 0.01)
