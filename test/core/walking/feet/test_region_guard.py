# SPDX-License-Identifier: Apache-2.0
"""The guard of stance regions: planted feet stay inside, and the body is slowed only where necessary."""

import math
import random

import pytest
from support.drives import DT, neutral_strides, robot

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.walking.feet.stride_control import allowed_share, time_inside
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.strides.stride_table import PolarOffset, StrideRegion

NAME = "phantomx"
TRIPOD = gaits(robot(NAME))["tripod"]
SWING_TIME = 0.45  # [s]


def stance():
    return Capabilities.of(robot(NAME)).stances.at(robot(NAME).walk.height)


def twists(count: int):
    rng = random.Random(3)
    return [Twist(rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-2.5, 2.5)) for _ in range(count)]


@pytest.mark.parametrize("twist", twists(30))
def test_with_the_guard_no_planted_foot_leaves_its_region_whatever_the_twist(twist):
    regions = stance()
    feet = [Foot(x, y) for x, y in regions.footholds]
    for _ in range(150):
        share = allowed_share(feet, None, twist, DT, SWING_TIME, neutral_strides(regions))
        assert 0.0 <= share <= 1.0
        back = exp(twist.scaled(share), -DT)
        for foot, home, radius in zip(feet, regions.footholds, regions.radii, strict=True):
            foot.x, foot.y = back.apply(foot.x, foot.y)
            assert math.dist((foot.x, foot.y), home) <= radius
    assert share < 0.05  # nothing lifts off: the body has come to rest


@pytest.mark.parametrize("twist", twists(30))
def test_the_guard_slows_the_body_only_for_a_foot_that_would_leave_its_region_before_its_lift_off(twist):
    regions, clock = stance(), GaitClock(TRIPOD)
    feet = [Foot(x, y) for x, y in regions.footholds]
    fits = all(
        clock.stance_time(leg, 0.0) * SWING_TIME <= time_inside(foot.x, foot.y, twist, home, 0.985 * radius)
        for leg, (foot, home, radius) in enumerate(zip(feet, regions.footholds, regions.radii, strict=True))
    )
    if fits:
        assert allowed_share(feet, clock, twist, DT, SWING_TIME, neutral_strides(regions)) == 1.0


def test_a_foot_at_the_center_of_rotation_stays_in_place_and_does_not_slow_the_body():
    regions = stance()
    x, y = regions.footholds[0]
    for clock in (None, GaitClock(TRIPOD)):
        assert (
            allowed_share([Foot(x, y)], clock, Twist(2.0 * y, -2.0 * x, 2.0), DT, SWING_TIME, neutral_strides(regions))
            == 1.0
        )


def speed_over_body(foot: Foot, twist: Twist) -> float:
    """Speed [m/s] at which the body passes over a planted foot, by a difference quotient."""
    ends = [exp(twist, time).apply(foot.x, foot.y) for time in (-1e-5, 1e-5)]
    return math.dist(*ends) / 2e-5


def feet_in_regions(count: int):
    """Feet somewhere in the region of the first leg, with twists."""
    regions, rng = stance(), random.Random(5)
    for twist in twists(count):
        r, angle = 0.95 * regions.radii[0] * math.sqrt(rng.random()), rng.uniform(-math.pi, math.pi)
        x, y = regions.footholds[0]
        yield Foot(x + r * math.cos(angle), y + r * math.sin(angle)), twist


def test_a_foot_leaves_its_region_after_the_time_inside():
    home, radius = stance().footholds[0], stance().radii[0]
    for foot, twist in feet_in_regions(100):
        time = time_inside(foot.x, foot.y, twist, home, radius)
        distances = [math.dist(exp(twist, -s * time).apply(foot.x, foot.y), home) for s in (0.5, 0.999, 1.001)]
        assert distances[0] < radius and distances[1] < radius < distances[2]
        straight = Twist(twist.vx, twist.vy, 0.0)
        time = time_inside(foot.x, foot.y, straight, home, radius)
        assert math.dist(exp(straight, -time).apply(foot.x, foot.y), home) == pytest.approx(radius)
        slight = straight._replace(wz=1e-7)
        assert time_inside(foot.x, foot.y, slight, home, radius) == pytest.approx(time, rel=1e-4)
    assert time_inside(*home, ZERO, home, radius) == math.inf
    assert time_inside(home[0] + 2.0 * radius, home[1], Twist(-0.1, 0.0, 0.0), home, radius) == 0.0
    assert time_inside(*home, Twist(0.1 * home[1], -0.1 * home[0], 0.1), home, radius) == math.inf


def test_a_foot_that_may_leave_its_region_is_braked_at_a_constant_deceleration_until_it_stops_at_the_edge():
    """The braking distance v^2 / 2 a at the share is the distance left; a foot due to lift off sooner brakes less."""
    regions, clock = stance(), GaitClock(TRIPOD)
    braked = 0
    for foot, twist in feet_in_regions(200):
        speed = speed_over_body(foot, twist)
        inside = time_inside(foot.x, foot.y, twist, regions.footholds[0], 0.985 * regions.radii[0])
        share = allowed_share([foot], None, twist, DT, SWING_TIME, neutral_strides(regions))
        assert share == pytest.approx(min(1.0, math.sqrt(2.0 * 1.5 * inside / speed), inside / DT), rel=1e-6)
        clock.advance(0.013, [0.0] * 6)
        stays = clock.until[0] * SWING_TIME
        share = allowed_share([foot], clock, twist, DT, SWING_TIME, neutral_strides(regions))
        if (stays - inside) * speed <= 0.01 * regions.radii[0]:
            assert share == 1.0
        else:
            brakes = min(1.0 - 1.5 * DT / speed, math.sqrt(2.0 * 1.5 * inside / speed), inside / DT)
            assert share == pytest.approx(max(inside / stays, brakes), rel=1e-6)
            braked += share < 1.0
    assert braked > 20


def outside(share, **fields):
    """A foot at a share of the radius of its region ahead of its foothold; walking backwards, it gets farther."""
    (x, y), radius = stance().footholds[0], stance().radii[0]
    return Foot(x + share * radius, y, **fields)


BACKWARDS = Twist(-0.1, 0.0, 0.0)


def share_of(foot, clock, **strides):
    about = neutral_strides(stance())._replace(**strides)
    return allowed_share([foot], clock, BACKWARDS, DT, SWING_TIME, about)


def test_with_a_foot_outside_of_its_region_a_walk_keeps_three_tenths_of_its_speed_in_a_tick_and_a_halt_none():
    clock = GaitClock(TRIPOD)
    assert share_of(outside(1.01), clock) == 1.0  # it lifts off at once
    clock.enter(TRIPOD, 0.5)
    assert share_of(outside(1.01), clock) == pytest.approx(0.3) and share_of(outside(1.01), None) == 0.0
    assert share_of(outside(-0.99), clock) == 1.0  # it gets nearer to its foothold


def test_a_foot_that_drops_may_be_somewhat_outside_of_its_region_and_a_swing_needs_no_guard():
    radius = stance().radii[0]
    drop = Dropping(0.2, 0.03, 0.0, 0.0, 0.0)
    expected = min(math.sqrt(2.0 * 1.5 * 0.02 * radius / 0.1**2), 0.02 * radius / (0.1 * DT))
    assert share_of(outside(1.16, state=drop), None) == pytest.approx(min(1.0, expected))
    assert share_of(outside(1.19, state=drop), None) == 0.0
    assert share_of(outside(1.5, state=Swing(0.5, 1.0, 0.03)), None) == 1.0


def test_a_foot_inside_its_region_and_outside_of_the_next_one_is_braked_as_if_the_regions_rested():
    clock, radius = GaitClock(TRIPOD), stance().radii[0]
    clock.enter(TRIPOD, 0.5)
    behind = StrideRegion(PolarOffset(0.0, 0.0), 1.0, 1.0, (-0.5 * radius, 0.0))
    regions = (behind, *neutral_strides(stance()).regions[1:])
    for place in (0.6, 0.8, 0.97):
        usual = share_of(outside(place), clock)
        assert share_of(outside(place), clock, regions=regions) == usual > 0.3
    assert share_of(outside(1.01), clock, regions=regions) == pytest.approx(0.3)


def test_while_regions_move_a_foot_may_use_the_one_in_which_it_landed_and_the_next_one():
    radius = stance().radii[0]
    ahead = StrideRegion(PolarOffset(0.0, 0.0), 1.0, 1.0, (0.5 * radius, 0.0))
    regions = (ahead, *neutral_strides(stance()).regions[1:])
    assert share_of(outside(1.01), None, regions=regions) == share_of(outside(0.51), None)
    assert share_of(outside(1.01, region=ahead), None) == share_of(outside(0.51), None)
    assert share_of(outside(0.51), None) == 1.0
