# SPDX-License-Identifier: Apache-2.0
"""Drops of feet after a halt or an early contact: smooth, short, and never below the ground."""

import math
import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.walking.feet.foot_motion import advance_drop, drop_after_halt
from hexapod_control.core.walking.foot import Dropping, Foot

DROP_ACCELERATION = 6.0  # [m/s^2]
DROP_TIMES_S = tuple(0.1 + 0.025 * k for k in range(13))


def drops():
    rng = random.Random(7)
    for _ in range(60):
        velocity = rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3)
        foot = Foot(0.1, 0.2, rng.uniform(0.002, 0.04), velocity=velocity)
        yield foot, drop_after_halt(foot), velocity


def test_a_drop_begins_at_the_speed_of_the_foot_and_ends_at_rest_on_the_ground_without_dipping_below():
    dt = 0.001
    for foot, drop, velocity in drops():
        foot.state = drop
        heights, places, speeds = [foot.z], [(foot.x, foot.y)], []
        while not foot.planted:
            advance_drop(foot, drop, (foot.x, foot.y), dt, Pose(0.0, 0.0, 0.0))
            speeds.append(foot.velocity)
            heights.append(foot.z)
            places.append((foot.x, foot.y))
        assert len(speeds) == pytest.approx(drop.duration / dt, abs=1.5)
        assert min(heights) >= -1e-9 and foot.z == 0.0
        assert speeds[0] == pytest.approx(velocity, abs=0.05)
        assert math.hypot(*speeds[-1]) < 0.05
        slide = [drop.duration / 3.0 * v for v in velocity[:2]]
        assert (foot.x - 0.1, foot.y - 0.2) == pytest.approx(slide, abs=1e-9)
        accelerations = [math.dist(a, b) / dt for a, b in pairwise(speeds[:-1])]
        if drop.duration < 0.4:  # else there is no drop as gentle as that
            assert (
                max(abs(b[2] - a[2]) / dt for a, b in pairwise(speeds[:-1])) <= 1.02 * DROP_ACCELERATION
                or drop.duration <= 0.1
            )
        assert max(accelerations) < 60.0


def test_a_drop_turns_with_the_body():
    for foot, drop, velocity in drops():
        foot.state = drop
        back = Pose(0.0, 0.0, 0.1)
        advance_drop(foot, drop, back.apply(foot.x, foot.y), 1e-4, back)
        assert foot.velocity[:2] == pytest.approx(back.apply(*velocity[:2]), rel=0.01, abs=0.002)


@pytest.mark.parametrize("steps", [1, 7, 50])
def test_a_foot_stopped_by_an_early_contact_returns_to_the_point_of_contact(steps):
    drop = Dropping(0.1, 0.02, 0.0, 0.2, -0.1, end=0.02, touched=True)
    foot = Foot(0.0, 0.0, 0.04, drop)
    while not foot.planted:
        advance_drop(foot, drop, (foot.x, foot.y), 0.1 / steps * (1.0 + 1e-9), Pose(0.0, 0.0, 0.0))
    assert (foot.x, foot.y) == pytest.approx((-0.02 * 0.2, 0.02 * 0.1), abs=1e-12) and foot.z == 0.02
    drop = Dropping(0.1, 0.02, 0.0, 0.2, -0.1, end=0.02, touched=True)
    foot = Foot(0.0, 0.0, 0.04, drop)
    advance_drop(foot, drop, (0.0, 0.0), 1e-5, Pose(0.0, 0.0, 0.0))
    assert foot.velocity[:2] == pytest.approx((0.2, -0.1), rel=1e-2)  # it starts at the speed it had


def drop_path(drop):
    """Points (41, 3) [m] of a dropping foot at equal times."""
    drop = replace(drop)
    foot, tick = Foot(0.0, 0.0, drop.height, drop), drop.duration / 40
    points = [foot.at]
    for _ in range(40):
        advance_drop(foot, drop, (foot.x, foot.y), tick, Pose(0.0, 0.0, 0.0))
        points.append(foot.at)
    return np.array(points)


def greatest_acceleration(drop):
    """Greatest vertical or horizontal acceleration [m/s^2]; both are linear in time, so greatest at one of the ends."""
    points = drop_path(drop)
    inner = np.diff(points, 2, axis=0) / (drop.duration / 40) ** 2
    ends = np.array([2.0 * inner[0] - inner[1], 2.0 * inner[-1] - inner[-2]])
    return max(np.abs(ends[:, 2]).max(), np.hypot(ends[:, 0], ends[:, 1]).max())


def test_a_drop_takes_the_shortest_time_within_its_acceleration_and_never_dips_below_the_ground():
    rng = random.Random(7)
    gentle = 0
    for _ in range(40):
        height = rng.uniform(0.005, 0.05)
        velocity = (rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), rng.uniform(-0.4, 0.4))
        found = drop_after_halt(Foot(0.0, 0.0, height, velocity=velocity))
        assert drop_path(found)[:, 2].min() >= -1e-12
        if greatest_acceleration(found) > DROP_ACCELERATION:
            continue
        gentle += 1
        for shorter in DROP_TIMES_S[: DROP_TIMES_S.index(found.duration)]:
            tried = Dropping(shorter, found.height, found.vz, found.vx, found.vy)
            assert greatest_acceleration(tried) > DROP_ACCELERATION
    assert gentle > 20
