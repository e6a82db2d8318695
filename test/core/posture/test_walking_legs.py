# SPDX-License-Identifier: Apache-2.0
"""Strides and stance of a robot that walks on fewer legs."""

import math
from functools import cache

import numpy as np
import pytest
from support.drives import robot

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.posture import transport_pose
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.core.statics.moving_mass import neutral_center
from hexapod_control.core.statics.static_stability import center_of_mass, static_margin
from hexapod_control.core.workspace.stance_regions import DIRECTIONS, nominal_stance
from hexapod_control.core.workspace.stride_stability import MIN_STRIDE_MARGIN, margin_at

STRIDE_SHARES = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3]
CASES = [("phantomx", 0), ("article", 2, 3)]


@cache
def walking(name, *lost):
    return WalkingLegs.without(robot(name), frozenset(lost))


def least_margin(machine, gait, share):
    """Least static margin [m] of full strides with a share of the regions, one moment after the other."""
    stance, air = nominal_stance(machine), 1.0 - gait.duty_factor

    def shift_of(gait, phase, direction):
        half_stride = share * min(stance.radii)
        return gait.shift(phase, Twist(half_stride * direction[0], half_stride * direction[1], 0.0))

    return min(
        margin_at(gait, phase, stance, neutral_center(machine, shift_of(gait, phase, direction)), share, direction)
        for lift_off in gait.lift_off
        for phase in (lift_off, lift_off + air - 1e-6)
        for direction in DIRECTIONS[::2]
    )


@pytest.mark.parametrize("case", CASES, ids=str)
def test_strides_on_fewer_legs_are_as_long_as_the_static_margin_allows(case):
    capabilities = walking(*case).capabilities
    machine, shares = capabilities.robot, capabilities.envelope.stride_shares
    for gait_name, gait in capabilities.gaits.items():
        least = 0.01 if gait.sway is None else MIN_STRIDE_MARGIN
        region = capabilities.region_share(gait) if gait.sway else 1.0
        fitting = [share for share in STRIDE_SHARES if least_margin(machine, gait, share * region) >= least]
        assert shares[gait_name] == pytest.approx(max(fitting)) == fitting[0]
    fastest = max(capabilities.gaits.values(), key=lambda gait: shares[gait.name] / gait.stance_time)
    assert capabilities.robot.walk.gait == fastest.name and not capabilities.envelope.adapts_strides
    assert set(capabilities.drift) == set(capabilities.gaits)


def test_the_body_shifts_and_feet_turn_towards_the_gap_so_that_any_foot_may_be_lifted():
    whole, row, legs = robot("phantomx"), 0, walking("phantomx", 0)
    machine, (x, y) = legs.capabilities.robot, legs.shift
    assert legs.rows == tuple(k for k in range(6) if k != row) and legs.names_of_lost == (whole.leg_names[row],)
    assert y < 0.0  # away from a lost left leg
    for shift in (x, y):
        steps = shift / 0.005
        assert steps == pytest.approx(round(steps)) and abs(steps) <= 14 + 1e-9
    feet = [leg.foothold for leg in machine.legs]

    def margin(points, center):
        return min(static_margin(points[:k] + points[k + 1 :], center) for k in range(len(points)))

    center = neutral_center(machine)
    old = [tuple(np.subtract(whole.legs[k].foothold, legs.shift)) for k in legs.rows]
    assert margin(feet, center) > max(margin(old, center), 0.0)
    turned = set()
    for leg, k in zip(machine.legs, legs.rows, strict=True):
        before = np.subtract(whole.legs[k].foothold, whole.legs[k].hip[:2])
        after = np.add(leg.foothold, legs.shift) - np.array(leg.hip[:2])
        assert math.hypot(*after) == pytest.approx(math.hypot(*before))
        turned.add(round(math.atan2(before[0] * after[1] - before[1] * after[0], before @ after), 9))
    assert turned <= {sign * each for each in (0.0, 0.15, 0.3, 0.45) for sign in (-1.0, 1.0)}
    assert (len(turned - {0.0}) > 0) == (turned != {0.0})
    radii = nominal_stance(whole).radii
    assert all(r >= 0.5 * radii[k] for r, k in zip(nominal_stance(machine).radii, legs.rows, strict=True))


def test_the_folded_leg_is_a_load_of_the_body():
    whole, legs = robot("phantomx"), walking("phantomx", 0)
    machine = legs.capabilities.robot
    assert machine.mass == pytest.approx(whole.mass) and machine.gaits == ()
    folded = [tuple(row) for row in transport_pose.folded(whole).tolist()]
    joints = [tuple(0.1 * (k + 1) for k in range(3)) for _ in machine.legs]
    everything = legs.completed(joints, folded)
    assert everything[0] == folded[0] and legs.of_whole(everything) == tuple(joints)
    assert center_of_mass(machine, joints) == pytest.approx(center_of_mass(whole, everything))


def test_a_leg_held_elsewhere_is_remembered_where_its_joints_are_known():
    legs, joints = walking("phantomx", 0), [(0.1, 0.2, 0.3)] * 6
    held = legs.holding([(0.1, math.nan, 0.3), *joints[1:]])
    assert held.folded[0] == legs.folded[0] and held.folded[1] == joints[1] and held.lost == legs.lost == {0}
    assert legs.holding(joints).folded[0] == joints[0]
    every = WalkingLegs.without(robot("phantomx"), frozenset())
    assert every.holding(joints) is every and every.of_whole(joints) == tuple(joints) and not every.lost
    with pytest.raises(ValueError, match=r"without left_front, left_middle and left_rear"):
        WalkingLegs.without(robot("phantomx"), frozenset({0, 1, 2}))
