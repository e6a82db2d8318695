# SPDX-License-Identifier: Apache-2.0
"""Laws of the limits of velocity and acceleration: bounds hold, and the direction of the motion stays."""

import math
import random

import pytest

from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.workspace.twist_limits import (
    AxisLimits,
    TwistLimits,
    clamp_to_limits,
    derate_limits,
    ramp_towards,
)


def random_twists(seed: int, count: int) -> list[Twist]:
    rng = random.Random(seed)
    return [Twist(*(rng.choice((0.0, rng.uniform(-1.0, 1.0))) for _ in range(3))) for _ in range(count)]


def test_a_clamped_twist_keeps_its_direction_and_is_on_a_bound_only_if_it_was_outside():
    limits = TwistLimits(AxisLimits(0.3, -0.1), AxisLimits(0.2), AxisLimits())
    bounds = ((-0.1, 0.3), (-0.2, 0.2), (-math.inf, math.inf))
    for twist in random_twists(1, 300):
        found = clamp_to_limits(twist, limits)
        inside = all(low <= v <= high for v, (low, high) in zip(twist, bounds, strict=True))
        assert all(low - 1e-12 <= v <= high + 1e-12 for v, (low, high) in zip(found, bounds, strict=True))
        if inside:
            assert found == twist
        else:
            shares = [b / a for a, b in zip(twist, found, strict=True) if a]
            assert shares == pytest.approx([shares[0]] * len(shares)) and 0.0 < shares[0] < 1.0
            gaps = [min(v - low, high - v) for v, (low, high) in zip(found, bounds, strict=True)]
            assert min(gaps) == pytest.approx(0.0, abs=1e-12)


def test_an_axis_with_the_limit_zero_is_left_out_and_does_not_stop_the_others():
    forward_only = TwistLimits(AxisLimits(0.3, 0.0), AxisLimits(0.2), AxisLimits(1.0))
    for twist in random_twists(4, 100):
        found = clamp_to_limits(twist._replace(vx=-abs(twist.vx)), forward_only)
        assert found == clamp_to_limits(twist._replace(vx=0.0), forward_only)
    assert clamp_to_limits(Twist(-1e-3, 0.0, 0.5), forward_only) == Twist(0.0, 0.0, 0.5)
    assert clamp_to_limits(Twist(0.1, 0.1, 0.5), derate_limits(forward_only, Twist(0.2, 0.2, 1.0), 0.0)) == ZERO


def test_derated_limits_are_the_lesser_of_settings_and_robot_times_a_share():
    limits = TwistLimits(AxisLimits(0.3, -0.1), AxisLimits(), AxisLimits(2.0, max_acceleration=3.0))
    found = derate_limits(limits, Twist(0.2, 0.4, 5.0), 0.5)
    velocities = [(axis.min_velocity, axis.max_velocity) for axis in found.axes]
    assert velocities == [pytest.approx(pair) for pair in ((-0.05, 0.1), (-0.2, 0.2), (-1.0, 1.0))]
    assert found.angular_z.max_acceleration == 3.0
    slow = derate_limits(limits, Twist(0.05, 0.4, 5.0), 1.0).linear_x
    assert (slow.min_velocity, slow.max_velocity) == (-0.05, 0.05)


@pytest.mark.parametrize("dt", [0.02, 0.1])
def test_a_ramp_is_straight_and_has_one_axis_at_its_acceleration_limit(dt):
    up, down = Twist(0.5, 0.4, 2.0), Twist(1.0, 0.7, 3.0)
    for now, goal in zip(random_twists(2, 300), random_twists(3, 300), strict=True):
        found = ramp_towards(now, goal, up, down, dt)
        used = []
        for a, b, c, faster, slower in zip(now, goal, found, up, down, strict=True):
            slows_down = a * b < 0.0 or abs(b) < abs(a)
            used.append(abs(c - a) / ((slower if slows_down else faster) * dt))
        assert max(used) <= 1.0 + 1e-9
        if found != goal:
            assert max(used) == pytest.approx(1.0)
            shares = [(c - a) / (b - a) for a, b, c in zip(now, goal, found, strict=True) if a != b]
            assert shares == pytest.approx([shares[0]] * len(shares)) and 0.0 < shares[0] < 1.0
    assert ramp_towards(ZERO, ZERO, up, down, dt) == ZERO


@pytest.mark.parametrize("name", ["max_velocity", "max_acceleration", "max_deceleration"])
def test_infinite_limits_and_limits_of_the_wrong_sign_are_refused(name):
    for value in (-0.1, math.inf):
        with pytest.raises(ValueError, match=name):
            AxisLimits(**{name: value})
    for value in (0.1, -math.inf):
        with pytest.raises(ValueError, match="min_velocity"):
            AxisLimits(min_velocity=value)
    assert AxisLimits(**{name: 0.0}) and AxisLimits(min_velocity=0.0)
