# SPDX-License-Identifier: Apache-2.0
"""The tilt that keeps the body level: how fast it follows the ground, and where it stops."""

import math
from itertools import pairwise

import numpy as np
import pytest
from support.drives import DT

from hexapod_control.core.kinematics.body_pose import NEUTRAL, BodyPose
from hexapod_control.core.walking.body.body_levelling import BodyLevelling

MAX_ACCELERATION, MAX_RATE = 2.0, 0.35  # [rad/s^2, rad/s]
MAX_TILT = math.radians(10.0)
FADE_ACCELERATION = 10.0  # [rad/s^2] of a tilt that is no longer measured
OVERSHOOT = 1.01  # factor on the final tilt

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
    assert np.abs(rates).max() <= MAX_RATE + 1e-9
    assert np.abs(np.diff(rates, axis=0)).max() <= MAX_ACCELERATION * DT + 1e-9


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("pose", [NEUTRAL, BodyPose(z=0.01, roll=0.03, pitch=-0.02)])
def test_the_tilt_cancels_the_slope_without_overshoot_and_keeps_the_requested_pose(direction, pose):
    slope = 0.1  # [rad]
    found = tilts([slope * part for part in direction], pose)
    assert_smooth(found)
    assert found[-1] == pytest.approx([-slope * part for part in direction], abs=1e-3)
    assert np.hypot(*found.T).max() <= OVERSHOOT * slope


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_the_tilt_stays_within_its_bound(direction):
    found = tilts([2.0 * MAX_TILT * part for part in direction])
    assert_smooth(found)
    assert np.hypot(*found[-1]) == pytest.approx(MAX_TILT, abs=1e-3)
    assert np.hypot(*found.T).max() <= OVERSHOOT * MAX_TILT


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("limit", [0.02, 0.06])
def test_the_tilt_comes_to_rest_before_a_foot_gets_out_of_reach(direction, limit):
    found = tilts([0.15 * part for part in direction], limit=limit)
    assert_smooth(found)
    sizes = np.hypot(*found.T)
    assert sizes.max() <= limit and sizes[-1] > 0.8 * limit
    assert all(abs(after - before) <= MAX_RATE * DT * math.sqrt(2.0) for before, after in pairwise(sizes))


def test_without_an_attitude_the_tilt_fades_to_zero_in_less_than_half_a_second():
    levelling = BodyLevelling()
    levelling.tilt = (0.1, -0.05)
    assert levelling.slope(NEUTRAL) == (0.0, 0.0) and not levelling.faded
    sizes = []
    for _ in range(25):
        levelling.step(DT, NEUTRAL, ReachUpTo(1.0), [])
        sizes.append(math.hypot(*levelling.tilt))
    assert levelling.faded and sizes[-1] == 0.0 and max(sizes) < math.hypot(0.1, 0.05)


class Leaving(ReachUpTo):
    """Legs that reach every tilt but keep only a share of their regions; records the requested tilts."""

    def __init__(self, share):
        super().__init__(math.inf)
        self.share, self.asked = share, []

    def tilted_region_share(self, pose):
        self.asked.append((pose.roll, pose.pitch))
        return self.share


def levelled(slope, legs, seconds):
    """A levelling on a slope, roll and pitch [rad], after some time, and its region share in every tick."""
    levelling, shares = BodyLevelling(), []
    for _ in range(round(seconds / DT)):
        levelling.measured = slope[0] + levelling.tilt[0], slope[1] + levelling.tilt[1]
        levelling.step(DT, NEUTRAL, legs, [])
        shares.append(levelling.region_share)
    return levelling, shares


def test_the_region_share_becomes_that_of_the_tilt_to_a_degree_by_half_of_the_regions_per_second():
    legs = Leaving(0.8)
    levelling, shares = levelled((0.03, -0.1), legs, 4.0)
    assert shares == pytest.approx([max(0.8, 2.0 - 0.5 * DT * (k + 1)) for k in range(len(shares))])
    degrees = np.degrees(legs.asked)
    assert degrees == pytest.approx(np.round(degrees), abs=1e-9) and degrees[-1] == pytest.approx((-2.0, 6.0))
    assert levelling.tilt == pytest.approx((-0.03, 0.1), abs=1e-3)
    levelling.measured = None
    while not levelling.faded:
        levelling.step(DT, NEUTRAL, legs, [])
    assert levelling.region_share == 2.0


@pytest.mark.parametrize(("share", "tilts_"), [(0.6, True), (0.59, False)])
def test_a_tilt_that_would_leave_less_than_sixty_percent_of_the_regions_does_not_begin(share, tilts_):
    levelling, shares = levelled((0.03, -0.1), Leaving(share), 4.0)
    assert (levelling.tilt != (0.0, 0.0)) == tilts_
    assert shares[-1] == (share if tilts_ else 2.0)


def test_a_tilt_fades_at_1_2_radians_per_second_with_a_bounded_acceleration():
    levelling, found = BodyLevelling(), [(MAX_TILT, -0.5 * MAX_TILT)]
    levelling.tilt = found[0]
    while not levelling.faded:
        levelling.step(DT, NEUTRAL, ReachUpTo(0.0), [])
        found.append(levelling.tilt)
    rates = np.diff(found, axis=0) / DT
    assert np.abs(rates).max() == pytest.approx(1.2) and rates[0] == pytest.approx(
        (-FADE_ACCELERATION * DT, FADE_ACCELERATION * DT)
    )
    assert np.abs(np.diff(rates[:-1], axis=0)).max() <= FADE_ACCELERATION * DT + 1e-9
    assert 0.3 <= len(rates) * DT <= 0.4
