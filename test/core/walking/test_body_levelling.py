"""The tilt that keeps the body level: how fast it follows the ground, and where it stops."""

import math
from itertools import pairwise

import numpy as np
import pytest
from support.drives import DT

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.walking.body.body_levelling import ACCELERATION, MAX_TILT, RATE, BodyLevelling

DIRECTIONS = [(1.0, 0.0), (0.0, -1.0), (-0.6, 0.8)]


class ReachUpTo:
    """Legs that reach up to a tilt [rad] of the body."""

    def __init__(self, limit):
        self.limit = limit

    def tilted_region_share(self, pose):
        return 1.0

    def all_feet_reachable(self, pose, feet):
        return math.hypot(pose.roll, pose.pitch) <= self.limit


def tilts(slope, pose=NEUTRAL, limit=math.inf, seconds=6.0):
    """Tilts (n, 2) [rad] of a robot with a requested pose on a slope, roll and pitch [rad]."""
    levelling, found = BodyLevelling(), [(0.0, 0.0)]
    for _ in range(round(seconds / DT)):
        roll, pitch = levelling.tilt
        levelling.measured = slope[0] + pose.roll + roll, slope[1] + pose.pitch + pitch
        assert levelling.slope(pose) == pytest.approx(slope)
        levelling.step(DT, pose, ReachUpTo(limit), [])
        found.append(levelling.tilt)
    return np.array(found)


def assert_smooth(found):
    rates = np.diff(found, axis=0) / DT
    assert np.abs(rates).max() <= RATE + 1e-9
    assert np.abs(np.diff(rates, axis=0)).max() <= ACCELERATION * DT + 1e-9


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("pose", [NEUTRAL, BodyPose(z=0.01, roll=0.03, pitch=-0.02)])
def test_the_tilt_cancels_the_slope_without_overshoot_and_keeps_the_requested_pose(direction, pose):
    found = tilts([0.1 * part for part in direction], pose)
    assert_smooth(found)
    assert found[-1] == pytest.approx([-0.1 * part for part in direction], abs=1e-3)
    assert np.hypot(*found.T).max() <= 0.101


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_tilt_stays_within_its_bound(direction):
    found = tilts([2.0 * MAX_TILT * part for part in direction])
    assert_smooth(found)
    assert np.hypot(*found[-1]) == pytest.approx(MAX_TILT, abs=1e-3)
    assert np.hypot(*found.T).max() <= 1.01 * MAX_TILT


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("limit", [0.02, 0.06])
def test_the_tilt_comes_to_rest_before_a_foot_gets_out_of_reach(direction, limit):
    found = tilts([0.15 * part for part in direction], limit=limit)
    assert_smooth(found)
    sizes = np.hypot(*found.T)
    assert sizes.max() <= limit and sizes[-1] > 0.8 * limit
    assert all(abs(after - before) <= RATE * DT * math.sqrt(2.0) for before, after in pairwise(sizes))


def test_without_an_attitude_the_tilt_fades_to_zero_in_less_than_half_a_second():
    levelling = BodyLevelling()
    levelling.tilt = (0.1, -0.05)
    assert levelling.slope(NEUTRAL) == (0.0, 0.0) and not levelling.faded
    sizes = []
    for _ in range(25):
        levelling.step(DT, NEUTRAL, ReachUpTo(1.0), [])
        sizes.append(math.hypot(*levelling.tilt))
    assert levelling.faded and sizes[-1] == 0.0 and max(sizes) < math.hypot(0.1, 0.05)
