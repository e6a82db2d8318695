# SPDX-License-Identifier: Apache-2.0
"""Batch kinematics: the same feet and joints as leg by leg, in a small share of the time."""

import math
import random
import time
from dataclasses import replace

import numpy as np
import pytest
from support.drives import ROBOTS, robot

from hexapod_control.core.kinematics.body_pose import NEUTRAL, Placement
from hexapod_control.core.kinematics.leg_batch import (
    BLOCK,
    forward_over_arrays,
    inverse_over_arrays,
    joints_at_contacts,
)
from hexapod_control.core.kinematics.leg_kinematics import (
    BENT_LEG,
    hip_to_base,
    leg_forward,
    solve_leg,
    solve_leg_unlimited,
)
from hexapod_control.core.kinematics.whole_body import ball_center_and_joints
from hexapod_control.core.robot import Leg, Segment

OFFSETS = [(0.0, 0.0), (0.012, -0.006), (-0.015, 0.008)]
NAMES = ("coxa_joint", "femur_joint", "tibia_joint")


def random_leg(rng: random.Random) -> Leg:
    """A leg of any proportions, with tight, wide or no joint limits."""
    leg = robot(rng.choice(ROBOTS)).legs[0]
    lengths = {name: Segment(rng.uniform(0.02, 0.2), 0.1, 0.01) for name in ("coxa", "femur", "tibia")}
    room = rng.choice((1.2, 2.0, math.pi))
    limits = {name: replace(getattr(leg, name), lower=-room, upper=rng.choice((0.6, room))) for name in NAMES}
    lateral, vertical = rng.choice(OFFSETS)
    yaw = rng.uniform(-math.pi, math.pi)
    return replace(leg, hip_yaw=yaw, femur_lateral=lateral, femur_vertical=vertical, **lengths, **limits)


def targets(leg: Leg, count: int, seed: int) -> np.ndarray:
    """Points [m, hip frame] in and out of reach, some on the coxa axis and some beside it, nearer than the offset."""
    reach = leg.coxa.length + leg.femur.length + leg.tibia.length
    points = np.random.default_rng(seed).uniform(-1.2 * reach, 1.2 * reach, (3, count))
    points[:2, :2] = 0.0
    points[:2, 2:4] *= 0.01
    return points


@pytest.mark.parametrize("seed", range(20))
def test_batch_inverse_kinematics_matches_single_feet_within_and_out_of_reach(seed):
    leg = random_leg(random.Random(seed))
    points = targets(leg, 300, seed)
    found = inverse_over_arrays(leg, tuple(points))
    feet = [hip_to_base(leg, tuple(point)) for point in points.T.tolist()]
    # Seen from base_link, the first two are on the coxa axis to rounding only.
    expected = np.array([solve_leg_unlimited(leg, foot, BENT_LEG)[0] for foot in feet])
    assert np.array(found.joints).T[2:] == pytest.approx(expected[2:], abs=1e-9)
    assert found.joints[0][:2].tolist() == [BENT_LEG[0]] * 2
    assert found.reached.any() and not found.reached.all()
    assert found.reached.tolist() == [solve_leg(leg, foot, BENT_LEG)[1] is None for foot in feet]


@pytest.mark.parametrize("seed", range(20))
def test_batch_forward_kinematics_matches_single_legs_and_undoes_the_inverse(seed):
    leg = random_leg(random.Random(seed))
    points = targets(leg, 2 * BLOCK + 7, seed)
    found = inverse_over_arrays(leg, tuple(points))
    back = np.array(forward_over_arrays(leg, found.joints))
    assert np.abs(back - points)[:, found.reached].max() <= 1e-9
    rows = np.array(found.joints)[:, :100]
    one_by_one = [leg_forward(leg, tuple(row))[1] for row in rows.T.tolist()]
    assert pytest.approx(np.array(one_by_one), abs=1e-9) == back[:, :100].T


def test_reached_joints_are_within_their_limits_and_a_nan_target_is_not_reached():
    for seed in range(20):
        leg = random_leg(random.Random(seed))
        points = targets(leg, 2000, seed)
        points[seed % 3, 5] = math.nan
        joints, reached = inverse_over_arrays(leg, tuple(points))
        assert reached.any() and not reached[5]
        for joint, angle in zip(leg.joints, joints, strict=True):
            assert joint.lower <= angle[reached].min() and angle[reached].max() <= joint.upper


def test_arrays_of_any_shape_are_solved_as_one_row_and_broadcast():
    leg = robot("phantomx").legs[0]
    x, y, z = np.linspace(0.1, 0.2, 5)[:, None], np.linspace(-0.05, 0.05, 7), np.array(-0.08)
    joints, reached = inverse_over_arrays(leg, (x, y, z))
    flat = inverse_over_arrays(leg, tuple(np.broadcast_arrays(x, y, z)[k].ravel() for k in range(3)))
    assert reached.shape == (5, 7) and (reached.ravel() == flat.reached).all()
    assert all((a.ravel() == b).all() for a, b in zip(joints, flat.joints, strict=True))
    assert inverse_over_arrays(leg, (np.empty(0),) * 3).reached.shape == (0,)


@pytest.mark.parametrize("radius", [0.0, 0.012])
def test_rolling_feet_in_a_batch_match_single_rolling_feet(radius):
    rng = np.random.default_rng(1)
    for leg in (replace(leg, femur_lateral=0.01) for leg in robot("phantomx").legs):
        x, y, z = (rng.uniform(low, high, 300) for low, high in ((-0.15, 0.15), (-0.15, 0.15), (0.0, 0.08)))
        contacts = leg.foothold[0] + x, leg.foothold[1] + y, z
        found = joints_at_contacts(leg, radius, 0.1, contacts)
        results = [
            ball_center_and_joints(leg, (a, b), lift, Placement(NEUTRAL, 0.1), radius, BENT_LEG)[1]
            for a, b, lift in zip(*(axis.tolist() for axis in contacts), strict=True)
        ]
        assert found.reached.tolist() == [reason is None for _, reason, _ in results]
        assert 0.1 < found.reached.mean() < 0.95
        expected = np.array([joints for joints, _, _ in results])
        assert np.array(found.joints).T[found.reached] == pytest.approx(expected[found.reached], abs=1e-9)


def test_a_leg_in_a_batch_takes_less_than_a_fifth_of_the_time_of_a_single_leg():
    leg = robot("phantomx").legs[0]
    points = targets(leg, 20_000, 1)
    feet = [tuple(point) for point in points[:, :2000].T.tolist()]

    def cost(work, count: int) -> float:
        begin = time.thread_time()
        work()
        return (time.thread_time() - begin) / count

    ratios = [
        cost(lambda: [solve_leg(leg, foot, BENT_LEG) for foot in feet], len(feet))
        / cost(lambda: inverse_over_arrays(leg, tuple(points)), points.shape[1])
        for _ in range(5)
    ]
    assert max(ratios) > 5.0
