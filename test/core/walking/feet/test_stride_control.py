# SPDX-License-Identifier: Apache-2.0
"""How the stride regions follow the twist: per swing only as far as a foot can go, and the walk slows down for it."""

import math

import pytest
from support.drives import robot

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.feet.stride_control import StrideControl, StrideDemand
from hexapod_control.core.walking.foot import Foot
from hexapod_control.core.workspace.capabilities import Capabilities
from hexapod_control.core.workspace.strides.stride_table import NEUTRAL_REGION

MAX_SWING_PER_STRIDE, MAX_SWING_PER_RADIUS, MIN_STRIDE_SHARE = 1.28, 1.9, 0.6

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
TRIPOD, SWING_TIME = CAPABILITIES.gaits["tripod"], MACHINE.walk.swing_time
STANCE = CAPABILITIES.stances.at(MACHINE.walk.height)
FORWARD, ASIDE, TURN = (CAPABILITIES.fastest(Twist(*axis), ["tripod"]) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1)))
CURVE = CAPABILITIES.fastest(Twist(0.0, ASIDE.vy, TURN.wz), ["tripod"])  # front feet move fast, rear ones hardly
CHANGES = [(ZERO, FORWARD), (FORWARD, FORWARD), (FORWARD, ASIDE), (ASIDE, TURN), (CURVE, ASIDE), (FORWARD, CURVE)]


def standing():
    return FootMotion([Foot(x, y) for x, y in STANCE.footholds], GaitClock(TRIPOD), 0.03)


def demand(twist, region_share=2.0):
    return StrideDemand(STANCE, TRIPOD, region_share, 1.0, twist)


def goals(twist):
    return CAPABILITIES.strides.regions(STANCE, twist, 1.0)


def stride(twist, home, swing_time):
    """Path [m] of a foot over the ground in a stance."""
    ends = [exp(twist, time).apply(*home) for time in (-1e-5, 1e-5)]
    return math.dist(*ends) / 2e-5 * TRIPOD.stance_time * swing_time


@pytest.mark.parametrize("swing_time", [0.8 * SWING_TIME, SWING_TIME, 2.0 * SWING_TIME])
@pytest.mark.parametrize(("before", "twist"), CHANGES)
def test_per_swing_a_region_moves_as_far_as_a_swing_may_be_longer_than_a_stride(before, twist, swing_time):
    control, motion = StrideControl(CAPABILITIES), standing()
    for foot, region in zip(motion.feet, goals(ASIDE), strict=True):
        foot.region = region
    found = control.step(demand(twist), before, swing_time, motion.feet)
    assert found == (STANCE, control.regions, 1.0)
    shares = [1.0]
    for home, radius, foot, goal, region in zip(
        STANCE.footholds, STANCE.radii, motion.feet, goals(twist), found.regions, strict=True
    ):
        now = foot.region
        distance = math.dist(now.displacement, goal.displacement)
        steady, usual = stride(twist, home, swing_time), MAX_SWING_PER_RADIUS * radius
        longest = max(MAX_SWING_PER_STRIDE * steady, usual)
        part = min(1.0, max(longest - stride(before, home, swing_time), 0.0) / distance) if distance > 0.0 else 1.0
        assert region.offset == pytest.approx(now.offset.towards(goal.offset, part), abs=1e-8)
        assert region.scale == pytest.approx(now.scale + part * (goal.scale - now.scale))
        assert region.moved == pytest.approx(now.moved + part * (goal.moved - now.moved))
        moved = region.offset.displacement(MACHINE.legs[STANCE.footholds.index(home)].hip[:2], home)
        assert region.displacement == pytest.approx(moved)
        shares.append(max(longest - distance, MIN_STRIDE_SHARE * usual) / steady)
    assert control.speed_share == pytest.approx(min(shares) if goals(twist) != goals(ASIDE) else 1.0)


def test_after_a_few_swings_all_feet_stride_in_the_regions_of_the_twist_at_its_full_speed():
    control, motion = StrideControl(CAPABILITIES), standing()
    slowest = 1.0
    for _ in range(8):
        found = control.step(demand(FORWARD), FORWARD, SWING_TIME, motion.feet)
        slowest = min(slowest, control.speed_share)
        for foot, region in zip(motion.feet, found.regions, strict=True):
            foot.region = region
    assert control.regions == goals(FORWARD) and control.speed_share == 1.0 and slowest < 1.0


def test_regions_follow_a_new_demand_and_a_body_pose_that_leaves_less_room_shortens_the_strides():
    control, motion = StrideControl(CAPABILITIES), standing()
    assert control.regions == (NEUTRAL_REGION,) * len(STANCE.footholds) and control.speed_share == 1.0
    assert control.step(demand(FORWARD, 0.6), ZERO, SWING_TIME, motion.feet).share == 0.6
    first = control.regions
    assert control.step(demand(ASIDE), ZERO, SWING_TIME, motion.feet).share == 1.0
    assert control.regions != first
    assert control.step(demand(ZERO), ZERO, SWING_TIME, motion.feet).regions == (NEUTRAL_REGION,) * len(
        STANCE.footholds
    )
