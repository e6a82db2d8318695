# SPDX-License-Identifier: Apache-2.0
"""The swing profile of one foot and of arrays of feet is the same."""

import math

import numpy as np
import pytest

from hexapod_control.core.gait.swing_trajectory import (
    PEAK_TRAVEL_SPEED,
    SMOOTH,
    SwingTiming,
    lift,
    smooth_travel,
    travel_and_lift,
)


def test_array_and_scalar_swing_profiles_agree():
    progress = np.linspace(0.0, 1.0, 101)
    shares, lifts = travel_and_lift(progress)
    assert shares == pytest.approx([smooth_travel(u) for u in progress], abs=1e-12)
    assert lifts == pytest.approx([lift(u, 1.0) for u in progress], abs=1e-12)


def test_the_swing_is_fastest_in_its_middle():
    shares = travel_and_lift(np.linspace(0.0, 1.0, 2001))[0]
    speeds = np.diff(shares) * 2000
    assert speeds.max() == pytest.approx(PEAK_TRAVEL_SPEED, rel=1e-5) and abs(int(speeds.argmax()) - 1000) <= 1


def test_travel_and_height_start_and_end_at_rest_and_are_symmetric_about_the_middle():
    for u in np.linspace(0.0, 1.0, 21):
        assert smooth_travel(u) + smooth_travel(1.0 - u) == pytest.approx(1.0)
        assert lift(u, 0.03) == pytest.approx(lift(1.0 - u, 0.03), abs=1e-12)
    assert [smooth_travel(u) for u in (0.0, 0.5, 1.0, 1.5)] == pytest.approx([0.0, 0.5, 1.0, 1.0])
    assert (lift(0.0, 0.03), lift(0.5, 0.03), lift(1.0, 0.03), lift(1.5, 0.03)) == pytest.approx((0.0, 0.03, 0.0, 0.0))
    assert smooth_travel(1e-3) == pytest.approx(10e-9, rel=0.01)  # third order: no speed and no acceleration
    assert lift(1e-3, 0.03) == pytest.approx(0.03 * (math.pi * 1e-3) ** 2, rel=1e-4)


def test_a_swing_timing_shifts_the_phases_of_a_swing_and_keeps_their_shape():
    timing = SMOOTH.towards(SwingTiming(0.2, 0.8, 0.4, 0.9), 0.5)
    assert timing == pytest.approx(SwingTiming(0.1, 0.9, 0.45, 0.95))
    assert [timing.travel_share(u) for u in (0.0, 0.1, 0.5, 0.9, 1.0)] == pytest.approx([0.0, 0.0, 0.5, 1.0, 1.0])
    assert timing.travel_share(0.3) == pytest.approx(smooth_travel(0.25))
    progress = [timing.lift_progress(u) for u in (0.0, 0.225, 0.45, 0.7, 0.95)]
    assert progress == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    for u in np.linspace(0.0, 1.0, 11):
        assert SMOOTH.travel_share(u) == pytest.approx(smooth_travel(u)) and SMOOTH.lift_progress(u) == pytest.approx(u)
