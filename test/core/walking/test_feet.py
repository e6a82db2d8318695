"""Laws of single parts of the feet's motion: the guard of stance regions, halts in mid-swing, swings from a height."""

import math
import random

import numpy as np
import pytest
from support.drives import DT, robot

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.gait_table import gaits
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.walking.feet.drop_motion import drop_after_halt
from hexapod_control.core.walking.feet.foot_motion import FootMotion, time_in_flight
from hexapod_control.core.walking.feet.region_guard import allowed_share, time_inside
from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.workspace.capabilities import Capabilities

NAME = "phantomx"
TRIPOD = gaits(robot(NAME).leg_names)["tripod"]
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
        share = allowed_share(feet, None, twist, DT, SWING_TIME, regions, 1.0)
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
        clock.stance(leg, 0.0) * SWING_TIME <= time_inside(foot.x, foot.y, twist, home, 0.985 * radius)
        for leg, (foot, home, radius) in enumerate(zip(feet, regions.footholds, regions.radii, strict=True))
    )
    if fits:
        assert allowed_share(feet, clock, twist, DT, SWING_TIME, regions, 1.0) == 1.0


def test_a_foot_at_the_centre_of_the_turn_stays_where_it_is_and_slows_nothing():
    regions = stance()
    x, y = regions.footholds[0]
    for clock in (None, GaitClock(TRIPOD)):
        assert allowed_share([Foot(x, y)], clock, Twist(2.0 * y, -2.0 * x, 2.0), DT, SWING_TIME, regions, 1.0) == 1.0


def swinging(progress: float) -> FootMotion:
    """A tripod walk with three feet at this progress of their swing."""
    regions = stance()
    motion = FootMotion([Foot(x, y) for x, y in regions.footholds], GaitClock(TRIPOD), 0.03)
    motion.resting = False
    motion.start()
    for _ in range(1 + round(progress / 0.01)):
        motion.step(0.01 * SWING_TIME, Twist(0.08, 0.0, 0.2), SWING_TIME, regions, 1.0)
    return motion


@pytest.mark.parametrize("progress", [0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
def test_after_a_halt_a_foot_in_the_air_comes_down_by_its_swing_or_by_a_drop_whichever_is_sooner(progress):
    motion = swinging(progress)
    expected = [
        min(time_in_flight(foot, SWING_TIME), drop_after_halt(foot).duration / SWING_TIME) if not foot.planted else 0.0
        for foot in motion.feet
    ]
    assert max(expected) > 0.0
    motion.halt(SWING_TIME)
    assert [time_in_flight(foot, SWING_TIME) for foot in motion.feet] == pytest.approx(expected)


def test_early_in_a_swing_a_halted_foot_drops_and_at_its_end_it_finishes_the_swing():
    for progress, kind in ((0.5, Dropping), (0.95, Swing)):
        motion = swinging(progress)
        motion.halt(SWING_TIME)
        assert {type(foot.state) for foot in motion.feet if not foot.planted} == {kind}


@pytest.mark.parametrize(("base", "top"), [(0.0, 0.03), (0.02, 0.03), (-0.02, 0.025)])
def test_a_swing_from_a_step_rises_as_high_over_the_plane_as_one_from_the_plane(base, top):
    """From a step h above the plane the lift is h / 2 lower, from one below it h / 4 higher."""
    regions = stance()
    motion = FootMotion([Foot(x, y, base) for x, y in regions.footholds], GaitClock(TRIPOD), 0.03)
    motion.resting = False
    motion.start()
    heights = []
    for _ in range(100):
        motion.sense([foot.planted for foot in motion.feet], robot(NAME).walk.height)
        motion.step(0.01 * SWING_TIME, ZERO, SWING_TIME, regions, 1.0)
        heights.append(motion.feet[0].z)
    middle = heights[np.argmin(np.abs(np.linspace(0.01, 1.0, 100) - 0.5))]
    assert middle == pytest.approx(top, abs=1e-4)
