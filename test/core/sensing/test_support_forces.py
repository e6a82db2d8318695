"""Measured forces count while they are fresh, planned ones otherwise."""

import pytest
from support.phantomx import robot

from hexapod_control.core.sensing.support_forces import MAX_AGE_S, MIN_LOAD_SHARE, SupportForces
from hexapod_control.core.statics.static_stability import GRAVITY

PLANNED = [1.0, 0.0, 2.0, 0.0, 3.0, 0.0]  # [N]


@pytest.fixture
def support():
    support = SupportForces(robot())
    support.plan(PLANNED)
    return support


def test_before_a_plan_no_foot_supports_the_robot():
    assert SupportForces(robot()).at(0.0) == [0.0] * 6


def test_without_measurements_the_plan_counts(support):
    assert support.at(0.0) == PLANNED
    support.plan_none()
    assert support.at(0.0) == [0.0] * 6


def test_measurements_count_until_they_are_too_old(support):
    measured = [5.0, 5.0, 5.0, 0.0, 5.0, 5.0]
    support.measure(measured, 10.0)
    assert support.at(10.0 + MAX_AGE_S - 1e-6) == measured
    assert support.at(10.0 - MAX_AGE_S + 1e-6) == measured
    assert support.at(10.0 + MAX_AGE_S + 1e-6) == PLANNED


def test_a_force_below_the_threshold_is_no_support(support):
    least = MIN_LOAD_SHARE * robot().mass * GRAVITY
    support.measure([0.99 * least, 1.01 * least, 0.0, -1.0, 9.0, 9.0], 10.0)
    assert support.at(10.0) == [0.0, 1.01 * least, 0.0, 0.0, 9.0, 9.0]
