# SPDX-License-Identifier: Apache-2.0
"""The drift of a body on soft legs: none if symmetric, mirrored for mirrored legs, smaller if stiffer."""

import math
from dataclasses import replace

import pytest
from support.drives import ROBOTS, robot
from support.suite.soak import some

from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.statics.leg_compliance import load_drift
from hexapod_control.core.statics.moving_mass import neutral_center


def drift(machine, gait):
    return load_drift(machine, gait, neutral_center(machine))


@pytest.mark.parametrize("name", some(ROBOTS, "article"))
def test_a_robot_without_a_leg_drifts_opposite_to_its_mirror_image(name):
    left, right = (WalkingLegs.without(robot(name), frozenset({row})).capabilities for row in (0, 3))
    here = drift(left.robot, left.gaits["wave"])
    gait = replace(left.gaits["wave"], lift_off=tuple(left.gaits["wave"].lift_off[row] for row in (2, 3, 4, 0, 1)))
    there = drift(right.robot, gait)
    assert abs(here.vy) > 0.0005
    assert (there.vx, -there.vy, -there.wz) == pytest.approx(here, abs=1e-6)


def test_a_symmetric_robot_does_not_drift():
    capabilities = WalkingLegs.without(robot("phantomx"), frozenset({1, 4})).capabilities
    assert drift(capabilities.robot, capabilities.gaits["crawl"]) == pytest.approx((0.0, 0.0, 0.0), abs=1e-5)


def test_legs_twice_as_stiff_drift_half_as_far():
    capabilities = WalkingLegs.without(robot("article"), frozenset({0})).capabilities
    legs = [
        replace(
            leg, **{name: replace(getattr(leg, name), stiffness=2.0 * getattr(leg, name).stiffness) for name in JOINTS}
        )
        for leg in capabilities.robot.legs
    ]
    soft, stiff = (
        drift(machine, capabilities.gaits["wave"])
        for machine in (capabilities.robot, replace(capabilities.robot, legs=tuple(legs)))
    )
    assert stiff == pytest.approx(soft.scaled(0.5), rel=1e-6) and math.hypot(soft.vx, soft.vy) > 0.001


JOINTS = ("coxa_joint", "femur_joint", "tibia_joint")
