# SPDX-License-Identifier: Apache-2.0
"""How the plane of base_footprint follows the feet."""

import math

import pytest
from support.drives import DT

from hexapod_control.core.walking.foot import Dropping, Foot, Swing
from hexapod_control.core.walking.support_plane import SupportPlane

HEIGHT_TIME_CONSTANT_S, TILT_TIME_CONSTANT_S = 0.3, 2.0
HEIGHT_RATE, TILT_RATE = 0.1, 0.15  # [m/s, rad/s]
HEIGHT_ACCELERATION, TILT_ACCELERATION = 0.5, 2.0  # [m/s^2, rad/s^2]


@pytest.mark.parametrize(("slope", "height"), [((0.0, 0.0), 0.02), ((0.3, -0.1), 0.0), ((0.0, 0.004), -0.003)])
def test_the_plane_begins_to_follow_the_feet_at_bounded_rates_and_no_foot_moves_in_the_world(slope, height):
    places = [(0.2, 0.1), (0.0, 0.25), (-0.2, 0.1), (0.2, -0.1), (0.0, -0.25), (-0.2, -0.1)]
    feet = [Foot(x, y, slope[0] * x + slope[1] * y + height) for x, y in places]
    feet += [
        Foot(0.1, 0.1, 0.05, Swing(0.5, 1.0, 0.05)),
        Foot(0.1, -0.1, 0.05, Dropping(0.2, 0.0, 0.0, 0.0, 0.0, 0.03)),
    ]
    plane, before = SupportPlane(), [foot.at for foot in feet]
    plane.follow([(1.0, foot.at) for foot in feet[:6]], feet, DT)

    def rate(error, constant, most, acceleration):
        return -math.copysign(min(abs(error) / constant, most, acceleration * DT), error)

    along, across = (rate(each, TILT_TIME_CONSTANT_S, TILT_RATE, TILT_ACCELERATION) for each in slope)
    up = rate(height, HEIGHT_TIME_CONSTANT_S, HEIGHT_RATE, HEIGHT_ACCELERATION)
    assert plane.rates == pytest.approx((along, across, up), abs=1e-12)
    for (x, y, z), foot in zip(before, feet, strict=True):
        rise = DT * (along * x + across * y + up)
        if isinstance(foot.state, Swing):
            assert foot.at == (x, y, z) and foot.state.base == pytest.approx(rise)
            continue
        assert foot.at == pytest.approx((x - along * DT * z, y - across * DT * z, z + rise))
        if isinstance(foot.state, Dropping):
            assert foot.state.end == pytest.approx(0.03 + rise)


def test_the_plane_keeps_the_highest_foot_as_near_as_the_lowest_if_one_would_be_too_far():
    places = [(0.2, 0.1), (0.0, 0.25), (-0.2, 0.1), (0.2, -0.1), (0.0, -0.25), (-0.2, -0.1)]
    goals = []
    for top, most in ((0.04, math.inf), (0.04, 0.03), (0.08, 0.03)):
        feet = [Foot(x, y, top if leg == 0 else 0.0) for leg, (x, y) in enumerate(places)]
        plane, up = SupportPlane(), 0.0
        for _ in range(round(HEIGHT_RATE / HEIGHT_ACCELERATION / DT) + 5):
            plane.follow([(1.0, foot.at) for foot in feet], [], DT, most)
            up = -plane.rates[2]
        goals.append(HEIGHT_TIME_CONSTANT_S * up)
    assert goals == pytest.approx([0.04 / 6.0, 0.04 - 0.03, min(0.08 / 2.0, HEIGHT_TIME_CONSTANT_S * HEIGHT_RATE)])
