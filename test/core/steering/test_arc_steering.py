# SPDX-License-Identifier: Apache-2.0
"""Steering by distance and curvature: the worked example of article B, and its correctness rules."""

import math

import pytest

from hexapod_control.core.kinematics import se2
from hexapod_control.core.kinematics.se2 import exp

# Start positions of the article (x right, z forward, in mm) as x forward, y left, in metres.
ARTICLE_FEET = [(-20, 20), (-35, 0), (-20, -20), (20, -20), (35, 0), (20, 20)]
FEET = [(z / 1000.0, -x / 1000.0) for x, z in ARTICLE_FEET]


def test_the_worked_example_of_the_article_is_reproduced():
    """Articles B2, B3, B4 and B8: curvature 1.5, distance 20 mm."""
    radius = se2.turn_radius(0.020, 1.5)
    assert radius * 1000 == pytest.approx(8.28, abs=0.005)  # B2
    radii = [1000 * math.hypot(radius + y, x) for x, y in FEET]  # B3
    assert radii == pytest.approx([34.64, 43.28, 34.64, 23.17, 26.71, 23.17], abs=0.015)
    angle = se2.arc_angle(0.020, radius, FEET)  # B4
    assert angle == pytest.approx(0.462, abs=0.0005)
    assert math.degrees(angle) == pytest.approx(26.5, abs=0.05)


@pytest.mark.parametrize("curvature", [-1.999, -1.5, -0.4, 0.0, 0.0005, 0.7, 1.5, 1.999, 5.0])
@pytest.mark.parametrize("distance", [0.02, -0.02])
def test_the_outermost_foot_travels_the_distance_and_the_others_less(distance, curvature):
    """Articles B1 and B4: |wz| = arc / stance time, v = |wz| R."""
    stance_time = 0.5
    twist = se2.twist(distance, curvature, FEET, stance_time)
    travel = [stance_time * math.hypot(twist.vx - twist.wz * y, twist.vy + twist.wz * x) for x, y in FEET]
    assert max(travel) == pytest.approx(abs(distance))
    assert math.copysign(1.0, twist.vx) == math.copysign(1.0, distance)
    assert twist.vy == 0.0


def test_positive_curvature_turns_right_when_going_forward():
    """The article's x points right: a center of the turn at R > 0 lies to the right, which is clockwise."""
    twist = se2.twist(0.02, 1.5, FEET, 0.5)
    assert twist.vx > 0.0 > twist.wz


def test_the_smallest_curvature_is_almost_straight_and_the_largest_on_the_spot():
    """Articles B1 and B2: |curvature| < 0.001 is taken as +-0.001; 2 is on the spot."""
    straight = se2.twist(0.02, 0.0, FEET, 0.5)
    assert straight == se2.twist(0.02, 0.001, FEET, 0.5)
    assert straight.vx * 0.5 == pytest.approx(0.02, rel=0.01)
    on_spot = se2.twist(0.02, 2.0, FEET, 0.5)
    assert abs(on_spot.vx) < 1e-4 * abs(on_spot.wz)


def test_feet_are_at_their_start_positions_in_the_middle_of_the_stance():
    """Article B5: x = R + R_i cos(angle), z = R_i sin(angle), at t = 0.5 every foot is at its start position."""
    distance, curvature = 0.020, 1.5
    radius = se2.turn_radius(distance, curvature)
    angle = se2.arc_angle(distance, radius, FEET)
    twist = se2.twist(distance, curvature, FEET, 1.0)
    for (x0, z0), foot in zip(ARTICLE_FEET, FEET, strict=True):
        x0, z0 = x0 / 1000.0, z0 / 1000.0
        start = math.atan2(z0, -(radius - x0))
        foot_radius = math.hypot(radius - x0, z0)
        for t in (0.0, 0.25, 0.5, 0.75, 1.0):
            phi = (t - 0.5) * angle + start
            article = (radius + foot_radius * math.cos(phi), foot_radius * math.sin(phi))
            x, y = exp(twist, -(t - 0.5)).apply(*foot)
            assert (-y, x) == pytest.approx(article, abs=1e-12)
        assert exp(twist, 0.0).apply(*foot) == foot
