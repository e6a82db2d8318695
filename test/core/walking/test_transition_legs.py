# SPDX-License-Identifier: Apache-2.0
"""What limits each leg in a change of gait, against the motion of its foot."""

import math
from itertools import pairwise

import numpy as np
import pytest
from support.drives import neutral_strides, robot

from hexapod_control.core.gait.gait_clock import GaitClock
from hexapod_control.core.gait.swing_trajectory import smooth_travel
from hexapod_control.core.kinematics.se2 import ZERO, Twist, exp
from hexapod_control.core.walking.feet.foot_motion import FootMotion
from hexapod_control.core.walking.foot import Foot, Swing
from hexapod_control.core.walking.gait_change import joint_speed_ratios, transition_legs
from hexapod_control.core.workspace.capabilities import Capabilities

LANDING, MAX_SPEED_FACTOR = 0.97, 1.1
SWING_ENDS = np.linspace(0.0, 1.0, 9)

MACHINE = robot("phantomx")
CAPABILITIES = Capabilities.of(MACHINE)
STANCE = CAPABILITIES.stances.at(MACHINE.walk.height)
TRIPOD, RIPPLE, WAVE = (CAPABILITIES.gaits[name] for name in ("tripod", "ripple", "wave"))
SWING_TIME, REGION_SHARE = 0.4, 0.8  # [s], of the radii
TICKS = 50  # of a swing


def walking(gait, twist, swings):
    """A walk after a number of swing times."""
    motion = FootMotion([Foot(x, y) for x, y in STANCE.footholds], GaitClock(gait), 0.03)
    motion.twist_is_zero = False
    motion.start()
    for _ in range(round(swings * TICKS)):
        motion.step(SWING_TIME / TICKS, twist, SWING_TIME, neutral_strides(STANCE)._replace(share=REGION_SHARE))
    return motion


def peak_speed(travel, stride):
    """Greatest speed [m per swing time] relative to the body of a swing over a travel [m] on the ground."""
    places = [smooth_travel(k / 200) * travel - k / 200 * stride for k in range(201)]
    return max(b - a for a, b in pairwise(places)) * 200


@pytest.mark.parametrize(
    "twist", [Twist(0.04, 0.02, 0.0), Twist(0.03, -0.01, 0.2), Twist(0.0, 0.0, -0.3), Twist(0.01, 0.004, 0.0)]
)
@pytest.mark.parametrize("gait", [TRIPOD, RIPPLE])
def test_a_leg_is_limited_by_its_region_by_its_joints_and_by_the_fastest_swing_of_both_gaits(gait, twist):
    motion = walking(gait, twist, 3.3)
    legs = transition_legs(motion, WAVE, MACHINE, STANCE, twist, SWING_TIME, REGION_SHARE)
    strides = [
        math.dist(exp(twist, -5e-5).apply(*p), exp(twist, 5e-5).apply(*p)) * SWING_TIME * 1e4 for p in STANCE.footholds
    ]
    steady = peak_speed(WAVE.cycle * max(strides), max(strides))
    assert {type(foot.state) is Swing for foot in motion.feet} == {True, False}
    for row, (leg, foot, home, stride) in enumerate(zip(legs, motion.feet, STANCE.footholds, strides, strict=True)):
        radius = REGION_SHARE * STANCE.radii[row]
        swinging = isinstance(foot.state, Swing)
        assert leg.flight == pytest.approx(1.0 - foot.state.progress if swinging else 0.0)
        assert leg.stride == pytest.approx(stride, rel=1e-6) and leg.radius == pytest.approx(radius)
        assert leg.max_stance * stride == pytest.approx(2.0 * LANDING * radius)
        at = foot.x, foot.y
        if swinging:  # it aims half a stance ahead of its foothold
            at = exp(twist, 0.5 * foot.state.stance_time * SWING_TIME).apply(*home)
            assert math.dist(at, home) < LANDING * radius
        left = exp(twist, -leg.remaining_stance * SWING_TIME).apply(*at)
        assert math.dist(left, home) == pytest.approx(0.985 * radius)
        joints = joint_speed_ratios(MACHINE, STANCE, row, twist, SWING_TIME, SWING_ENDS * radius)
        for i, behind in enumerate(SWING_ENDS * radius):
            for j, ahead in enumerate(SWING_ENDS * radius):
                over_body = peak_speed(behind + ahead + stride, stride) / (MAX_SPEED_FACTOR * steady)
                assert leg.speed_ratios[i, j] == pytest.approx(max(joints[i, j], over_body), rel=1e-3)


def test_a_foot_that_aims_beyond_its_region_lands_at_its_edge():
    motion = walking(TRIPOD, Twist(0.04, 0.0, 0.0), 0.5)
    fast = Twist(1.0, 0.0, 0.0)
    for leg, foot in zip(
        transition_legs(motion, WAVE, MACHINE, STANCE, fast, SWING_TIME, REGION_SHARE), motion.feet, strict=True
    ):
        if isinstance(foot.state, Swing):
            assert leg.remaining_stance * leg.stride == pytest.approx((LANDING + 0.985) * leg.radius)


def test_a_robot_at_rest_stands_in_its_regions_for_any_time_and_its_feet_have_no_speed():
    motion = walking(TRIPOD, ZERO, 0.0)
    for leg in transition_legs(motion, WAVE, MACHINE, STANCE, ZERO, SWING_TIME, REGION_SHARE):
        assert leg.max_stance == math.inf and leg.remaining_stance == math.inf
        assert leg.stride == 0.0 and leg.flight == 0.0
