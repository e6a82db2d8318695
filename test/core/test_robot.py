# SPDX-License-Identifier: Apache-2.0
"""A robot as data: impossible joints and links are refused, and masses and mountings are as described."""

import math
import random
from dataclasses import replace

import pytest
from support.drives import robot

from hexapod_control.core.robot import Joint, Segment, interpolated

MACHINE = robot("phantomx")
LIMITS = "joint limits must satisfy -pi <= lower < upper <= pi"
JOINT = Joint(-1.0, 1.0, 5.0, 1.5, 10.0)


@pytest.mark.parametrize(("lower", "upper"), [(-math.pi, math.pi), (-0.5, -0.4), (0.0, 0.1)])
def test_joint_limits_may_be_anywhere_within_half_a_turn(lower, upper):
    joint = replace(JOINT, lower=lower, upper=upper)
    assert (joint.lower, joint.upper) == (lower, upper)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lower": 1.0}, LIMITS),
        ({"lower": 1.5}, LIMITS),
        ({"lower": -3.2}, LIMITS),
        ({"upper": 3.2}, LIMITS),
        ({"lower": math.nan}, "joint limits must be finite"),
        ({"lower": -math.inf}, "joint limits must be finite"),
        ({"upper": math.nan}, "joint limits must be finite"),
        ({"upper": math.inf}, "joint limits must be finite"),
    ],
)
def test_joint_limits_that_are_swapped_or_beyond_half_a_turn_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        replace(JOINT, **change)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize(
    ("part", "name"),
    [
        *((JOINT, name) for name in ("no_load_speed", "stall_torque", "stiffness")),
        *((Segment(0.1, 0.2, 0.3), name) for name in ("length", "mass", "radius")),
    ],
)
def test_lengths_masses_and_servo_figures_must_be_positive(part, name, value):
    assert getattr(replace(part, **{name: 0.01}), name) == 0.01
    with pytest.raises(ValueError, match=f"{name} must be finite and > 0, is {value}"):
        replace(part, **{name: value})


def test_points_between_two_points_divide_their_straight_line():
    a, b = (1.0, 2.0, 3.0), (2.0, 0.0, 7.0)
    assert interpolated(a, b, 0.0) == a and interpolated(a, b, 1.0) == b
    assert interpolated(a, b, 0.25) == (1.25, 1.5, 4.0)


def test_the_static_moments_of_a_leg_are_those_of_its_links_with_their_masses_halfway():
    rng = random.Random(1)
    links = {name: Segment(rng.uniform(0.05, 0.1), rng.uniform(0.1, 0.3), 0.01) for name in ("coxa", "femur", "tibia")}
    leg = replace(MACHINE.legs[0], femur_lateral=0.02, femur_vertical=-0.03, **links)
    mass, along, across, above, straight, tibia = leg.moments
    coxa, femur, last = (links[name] for name in ("coxa", "femur", "tibia"))
    assert mass == pytest.approx(coxa.mass + femur.mass + last.mass)
    assert across == pytest.approx(0.02 * (femur.mass + last.mass))
    assert above == pytest.approx(-0.03 * (femur.mass + last.mass))
    middles = {  # distance of each mass from the hip, along a straight horizontal leg
        coxa.mass: coxa.length / 2,
        femur.mass: coxa.length + femur.length / 2,
        last.mass: coxa.length + femur.length + last.length / 2,
    }
    assert along + straight + tibia == pytest.approx(sum(mass * middle for mass, middle in middles.items()))
    assert tibia == pytest.approx(last.mass * last.length / 2)
    assert straight == pytest.approx(femur.mass * femur.length / 2 + last.mass * femur.length)


def test_the_mass_of_a_robot_is_that_of_its_body_and_all_links():
    links = [link.mass for leg in MACHINE.legs for link in (leg.coxa, leg.femur, leg.tibia)]
    assert MACHINE.mass == pytest.approx(MACHINE.body.mass + sum(links))


def test_a_neutral_foot_rests_on_the_ground_below_its_foothold():
    for leg in MACHINE.legs:
        x, y, z = MACHINE.neutral_ball(leg)
        assert (x, y) == leg.foothold and z == pytest.approx(MACHINE.foot_radius - MACHINE.walk.height)
