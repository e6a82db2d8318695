# SPDX-License-Identifier: Apache-2.0
"""The zeros of the joints follow from feet on dots, and a leg that was not on its dots is named."""

import functools
import math

import numpy as np
import pytest

from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.calibration.foot_dots import (
    BODY_ERROR,
    dots,
    fit_zeros,
    joints_on,
    misplaced_leg,
)

DEGREE = math.pi / 180.0
ZERO = 2.0 * DEGREE  # one sigma
HELD_WRONG = 6.0 * DEGREE
GOOD = 0.9  # [deg] rms


def rms(angles):
    """In degrees."""
    return math.sqrt(float(np.square(angles).mean())) / DEGREE


@functools.cache
def sheet(name):
    """A robot and its dots."""
    tried = load(name).robot
    return tried, dots(tried)


class Builder:
    """Puts the feet of a robot on its dots by hand; the servos have hidden zeros, and the body lies a little off."""

    def __init__(self, seed, error, name="phantomx"):
        random = np.random.default_rng(seed)
        self.robot, self.feet = sheet(name)
        self.zeros = random.normal(0.0, ZERO, self.feet.shape[1:])
        shift, turn = np.split(random.normal(0.0, BODY_ERROR), 2)
        put = self.feet + random.normal(0.0, (error, error, error / 2.0), self.feet.shape)
        seen = [each + shift + np.cross(turn, each) for each in put]
        self.true = np.array([joints_on(self.robot, each) for each in seen])

    @property
    def read(self):
        return self.true - self.zeros

    def found(self):
        return fit_zeros(self.robot, self.feet, self.read)

    def named(self):
        return misplaced_leg(self.robot, self.feet, self.read)


def test_both_dots_are_in_reach_of_all_legs_inside_their_limits():
    for name in ("phantomx", "freenove", "quadruped", "octopod", "chica", "inline"):
        tried, places = sheet(name)
        limits = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in tried.legs])
        for feet in places:
            joints = joints_on(tried, feet)
            assert (joints > limits[..., 0]).all() and (joints < limits[..., 1]).all(), name


@pytest.mark.parametrize("name", ["phantomx", "freenove", "octopod"])
def test_feet_a_millimetre_off_their_dots_find_the_zeros_to_less_than_a_degree(name):
    builders = [Builder(seed, 1e-3, name) for seed in range(30)]
    fits = [builder.found() for builder in builders]
    errors = [fit.zeros - builder.zeros for fit, builder in zip(fits, builders, strict=True)]
    assert rms(errors) <= GOOD
    assert rms([fit.deviations for fit in fits]) == pytest.approx(rms(errors), rel=0.25)


def test_no_leg_is_named_by_mistake_in_two_hundred_trials():
    assert [builder.named() for builder in (Builder(seed, 1e-3 + 5e-6 * seed) for seed in range(200))] == [None] * 200


@pytest.mark.parametrize("joint", range(3))
def test_a_leg_held_six_degrees_wrong_on_one_of_its_dots_is_named(joint):
    for seed in range(24):
        builder = Builder(seed, 1e-3)
        leg = seed % 6
        builder.true[seed % 2, leg, joint] += HELD_WRONG * (-1) ** (seed // 2)
        assert builder.named()[0] == leg


def test_one_dot_a_leg_gives_zeros_with_a_larger_deviation_and_names_no_leg():
    builder = Builder(1, 1e-3)
    one = fit_zeros(builder.robot, builder.feet[0], builder.read[0])
    assert rms(one.deviations) > rms(builder.found().deviations)
    assert not one.misses.any()
    assert misplaced_leg(builder.robot, builder.feet[0], builder.read[0]) is None
