"""The swing profile for one foot and for tables is one and the same."""

import numpy as np
import pytest

from hexapod_control.core.gait.swing_trajectory import PEAK_SHARE_SPEED, lift, share, share_and_lift


def test_the_profile_of_the_tables_is_the_profile_of_the_feet():
    progress = np.linspace(0.0, 1.0, 101)
    shares, lifts = share_and_lift(progress)
    assert shares == pytest.approx([share(u) for u in progress], abs=1e-12)
    assert lifts == pytest.approx([lift(u, 1.0) for u in progress], abs=1e-12)


def test_the_swing_is_fastest_in_its_middle():
    shares = share_and_lift(np.linspace(0.0, 1.0, 2001))[0]
    speeds = np.diff(shares) * 2000
    assert speeds.max() == pytest.approx(PEAK_SHARE_SPEED, rel=1e-5) and abs(int(speeds.argmax()) - 1000) <= 1
