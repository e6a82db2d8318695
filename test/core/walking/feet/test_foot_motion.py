# SPDX-License-Identifier: Apache-2.0
"""Motion of all feet: swings from any height, halts in mid-swing, feet of a resting robot, raised legs."""

import math
import random

import numpy as np
import pytest
from support.drives import neutral_strides, robot

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.walking.feet.foot_motion import (
    CLEARANCE,
    OVER_TERRAIN,
    BodyTick,
    FootMotion,
    advance_swing,
    drop_after_halt,
    swing_over,
    time_to_touch_down,
)
from hexapod_control.core.walking.foot import Dropping, Foot, Guided, GuidedPhase, Swing
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.robot_gaits import gaits
from hexapod_control.core.workspace.strides.stride_table import PolarOffset, StrideRegion

AT_NEUTRAL = 0.001  # [m]

NAME = "phantomx"
TRIPOD = gaits(robot(NAME))["tripod"]
SWING_TIME = 0.45  # [s]


def stance():
    return Capabilities.of(robot(NAME)).stances.at(robot(NAME).walk.height)


def test_half_a_stance_after_touch_down_a_foot_is_at_its_neutral_foothold_and_its_swing_begins_and_ends_at_rest():
    regions, rng = stance(), random.Random(6)
    for _ in range(30):
        twist = Twist(rng.uniform(-0.06, 0.06), rng.uniform(-0.06, 0.06), rng.uniform(-0.3, 0.3))
        home = regions.footholds[0]
        start = exp(twist, -0.5 * SWING_TIME).apply(*home)
        foot, swing = Foot(*start), Swing(0.0, 1.0, 0.03)
        foot.state = swing
        dt = 0.01 * SWING_TIME
        tick = BodyTick(dt, twist, SWING_TIME, exp(twist, -dt))
        speeds, heights = [], []
        while not foot.planted:
            ground_fixed = tick.back.apply(foot.x, foot.y)
            before = foot.z
            advance_swing(foot, swing, ground_fixed, swing.progress + 0.01, tick, neutral_strides(regions), 0)
            assert foot.velocity[0] * dt == pytest.approx(foot.x - ground_fixed[0], abs=1e-12)
            assert foot.velocity[1] * dt == pytest.approx(foot.y - ground_fixed[1], abs=1e-12)
            assert foot.velocity[2] * dt == pytest.approx(foot.z - before, abs=1e-12)
            speeds.append(math.hypot(*foot.velocity[:2]))
            heights.append(foot.z)
        assert len(heights) == 100 and foot.z == 0.0
        assert max(heights) == pytest.approx(0.03, rel=1e-3) and abs(int(np.argmax(heights)) - 49) <= 1
        assert exp(twist, -0.5 * SWING_TIME).apply(foot.x, foot.y) == pytest.approx(home, abs=1e-4)
        assert max(speeds[0], speeds[-1]) < 0.01 * max(speeds)


def swinging(progress: float) -> FootMotion:
    """A tripod walk with three feet at this progress of their swing."""
    regions = stance()
    motion = FootMotion([Foot(x, y) for x, y in regions.footholds], GaitClock(TRIPOD), 0.03)
    motion.twist_is_zero = False
    motion.start()
    for _ in range(1 + round(progress / 0.01)):
        motion.step(0.01 * SWING_TIME, Twist(0.08, 0.0, 0.2), SWING_TIME, neutral_strides(regions))
    return motion


@pytest.mark.parametrize("progress", [0.05, 0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97])
def test_after_a_halt_a_foot_in_the_air_comes_down_by_its_swing_or_by_a_drop_whichever_is_sooner(progress):
    motion = swinging(progress)
    expected = [
        min(time_to_touch_down(foot, SWING_TIME), drop_after_halt(foot).duration / SWING_TIME)
        if not foot.planted
        else 0.0
        for foot in motion.feet
    ]
    assert max(expected) > 0.0
    motion.halt(SWING_TIME)
    assert [time_to_touch_down(foot, SWING_TIME) for foot in motion.feet] == pytest.approx(expected)


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
    motion.twist_is_zero = False
    motion.start()
    heights = []
    for _ in range(100):
        motion.sense([foot.planted for foot in motion.feet], robot(NAME).walk.height)
        motion.step(0.01 * SWING_TIME, ZERO, SWING_TIME, neutral_strides(regions))
        heights.append(motion.feet[0].z)
    middle = heights[np.argmin(np.abs(np.linspace(0.01, 1.0, 100) - 0.5))]
    assert middle == pytest.approx(top, abs=1e-4)


@pytest.mark.parametrize(("away", "steps"), [(0.0, False), (0.9 * AT_NEUTRAL, False), (1.1 * AT_NEUTRAL, True)])
@pytest.mark.parametrize("resting", [True, False])
def test_a_foot_of_a_resting_robot_steps_only_if_it_is_off_its_foothold_and_then_lands_on_it(away, steps, resting):
    regions = stance()
    motion = FootMotion([Foot(x, y) for x, y in regions.footholds], GaitClock(TRIPOD), 0.03)
    motion.feet[1].x += away
    assert motion.distance_from_neutral(regions) == pytest.approx(away) and motion.all_planted and not motion.any_in_air
    motion.twist_is_zero = resting
    motion.start()
    heights = np.zeros(6)
    for _ in range(200):  # a cycle of two swings
        motion.step(0.01 * SWING_TIME, ZERO, SWING_TIME, neutral_strides(regions))
        heights = np.maximum(heights, [foot.z for foot in motion.feet])
        assert motion.all_planted == (not motion.any_in_air) == motion.all_in_stance
    expected = [0.03 * (not resting or (steps and leg == 1)) for leg in range(6)]
    assert heights == pytest.approx(expected, rel=1e-3)
    assert motion.distance_from_neutral(regions) == pytest.approx(away if resting and not steps else 0.0, abs=1e-6)


def test_the_motion_reports_which_feet_are_guided_in_swing_and_in_their_neutral_regions():
    motion = FootMotion([Foot(x, y) for x, y in stance().footholds], GaitClock(TRIPOD), 0.03)
    assert motion.in_neutral_regions and motion.all_in_stance and not motion.guiding
    motion.feet[2].state = Guided(((0.0, 0.0, 0.05),))
    assert motion.guiding and motion.all_planted and not (motion.all_in_stance or motion.any_in_air)
    motion.feet[2].state.phase = GuidedPhase.MOVING
    assert not motion.all_planted and not motion.any_in_air
    motion.feet[2].state = Dropping(0.2, 0.03, 0.0, 0.0, 0.0, elapsed=0.05)
    assert motion.any_in_air and time_to_touch_down(motion.feet[2], SWING_TIME) == pytest.approx(0.15 / SWING_TIME)
    motion.feet[3].region = StrideRegion(PolarOffset(0.01, 0.0), 1.0, 1.0, (0.01, 0.0))
    assert not motion.in_neutral_regions


def test_feet_adapt_to_the_ground_from_the_first_contacts_until_it_is_even_again():
    motion = FootMotion([Foot(x, y) for x, y in stance().footholds], GaitClock(TRIPOD), 0.03)
    height = robot(NAME).walk.height
    motion.sense(None, height)
    assert motion.terrain is None
    motion.sense([True] * 6, height)
    assert motion.terrain is not None and motion.terrain.contacts == [True] * 6
    motion.sense([False] * 6, height)
    assert motion.terrain.contacts == [False] * 6
    motion.sense(None, height)
    assert motion.terrain is None or motion.terrain.contacts is None


def test_a_raised_leg_lifts_higher_than_the_others():
    regions = stance()
    motion = FootMotion([Foot(x, y) for x, y in regions.footholds], GaitClock(TRIPOD), 0.03)
    motion.twist_is_zero, motion.raised = False, (2, 0.045)
    motion.start(0.5)
    heights = np.zeros(6)
    for _ in range(200):
        motion.step(0.01 * SWING_TIME, ZERO, SWING_TIME, neutral_strides(regions))
        heights = np.maximum(heights, [foot.z for foot in motion.feet])
    assert heights == pytest.approx([0.045 if leg == 2 else 0.03 for leg in range(6)], rel=1e-3)


def test_an_aim_moves_at_most_a_metre_per_second_over_the_ground_and_stands_still_after_four_fifths_of_the_swing():
    regions, dt = stance(), 0.02 * SWING_TIME
    for progress in (0.1, 0.4, 0.78, 0.8, 0.82, 0.96):
        foot, swing = Foot(*regions.footholds[0]), Swing(0.0, 1.0, 0.03)
        foot.state, slow = swing, Twist(0.02, 0.0, 0.0)
        for k, twist in ((0.0, slow), (progress, slow), (progress + 0.01, Twist(-0.4, 0.1, 0.0))):
            tick, before = BodyTick(dt, twist, SWING_TIME, exp(twist, -dt)), swing.aim
            ground_fixed = tick.back.apply(foot.x, foot.y)
            advance_swing(foot, swing, ground_fixed, k + 0.001, tick, neutral_strides(regions), 0)
        moved = math.dist(tick.back.apply(*before), swing.aim)
        assert moved == pytest.approx(dt if progress < 0.79 else 0.0, abs=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.6])
def test_a_foot_lands_just_inside_of_its_region_however_fast_the_body_is(share):
    regions, dt, twist = stance(), 0.02 * SWING_TIME, Twist(0.4, 0.1, 0.0)
    foot, swing, strides = Foot(*regions.footholds[0]), Swing(0.0, 1.0, 0.03), neutral_strides(regions)
    foot.state, tick = swing, BodyTick(dt, twist, SWING_TIME, exp(twist, -dt))
    while not foot.planted:
        ground_fixed = tick.back.apply(foot.x, foot.y)
        advance_swing(foot, swing, ground_fixed, swing.progress + 0.02, tick, strides._replace(share=share), 0)
    assert math.dist((foot.x, foot.y), regions.footholds[0]) == pytest.approx(0.97 * share * regions.radii[0])


def test_a_swing_over_seen_ground_is_above_it_on_its_way_and_gives_the_longer_of_rise_and_descent_the_longer_time():
    rng = random.Random(8)
    for _ in range(50):
        base, end = rng.uniform(-0.05, 0.05), rng.uniform(-0.05, 0.05)
        path = [base, *(rng.uniform(-0.05, 0.05) for _ in range(11)), end]
        lift, timing = swing_over(path, 0.08, base, end, 0.02)
        assert timing in OVER_TERRAIN and lift >= 0.02
        for u in np.linspace(0.0, 1.0, 200):
            travelled = timing.travel_share(u)
            if 0.2 < travelled < 0.8:
                progress = timing.lift_progress(u)
                low = base if progress < 0.5 else end
                height = low + (max(base, end) + lift - low) * math.sin(math.pi * progress) ** 2
                at = 12 * travelled
                assert height > min(path[math.floor(at)], path[math.ceil(at)]) + 0.5 * CLEARANCE
    low_way = [-0.1] * 13
    up, down = (swing_over(low_way, 0.08, base, end, 0.02)[1] for base, end in ((0.0, 0.06), (0.06, 0.0)))
    assert up.top > down.top
