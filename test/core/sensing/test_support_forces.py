# SPDX-License-Identifier: Apache-2.0
"""Measured forces count while they are fresh, planned ones otherwise."""

import pytest
from support.phantomx import robot

from hexapod_control.core.sensing.foot_force_estimator import SupportForces
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


def test_measurements_count_for_a_fifth_of_a_second(support):
    measured = [5.0, 5.0, 5.0, 0.0, 5.0, 5.0]
    support.measure(measured, 10.0)
    assert support.at(10.0 + 0.2 - 1e-6) == measured
    assert support.at(10.0 - 0.2 + 1e-6) == measured
    assert support.at(10.0 + 0.2 + 1e-6) == PLANNED


def test_a_force_below_two_percent_of_the_weight_is_no_support(support):
    least = 0.02 * robot().mass * GRAVITY
    support.measure([0.99 * least, 1.01 * least, 0.0, -1.0, 9.0, 9.0], 10.0)
    assert support.at(10.0) == [0.0, 1.01 * least, 0.0, 0.0, 9.0, 9.0]


def test_plans_are_needed_until_forces_are_measured_and_again_from_the_second_plan_without_a_measurement(support):
    assert support.needs_plan() and support.needs_plan()
    for _ in range(2):
        support.measure(PLANNED, 10.0)
        assert [support.needs_plan() for _ in range(3)] == [False, True, True]
