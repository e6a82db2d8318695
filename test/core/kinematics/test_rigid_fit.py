# SPDX-License-Identifier: Apache-2.0
"""Laws of the least-squares planar motion between two sets of points."""

import math
import random

import pytest

from hexapod_control.core.kinematics.fits import fit_rigid
from hexapod_control.core.kinematics.se2 import Pose


def random_points(rng, count):
    return [(rng.uniform(-0.2, 0.2), rng.uniform(-0.2, 0.2)) for _ in range(count)]


def weighted_error(motion, points, targets, weights):
    """Weighted sum of the squared distances [m^2]."""
    return sum(w * math.dist(motion.apply(*p), q) ** 2 for w, p, q in zip(weights, points, targets, strict=True))


@pytest.mark.parametrize("count", [2, 3, 6])
def test_any_motion_of_rigid_points_is_recovered_whatever_their_weights(count):
    rng = random.Random(count)
    for _ in range(20):
        motion = Pose(rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0), rng.uniform(-3.0, 3.0))
        points, weights = random_points(rng, count), [rng.uniform(0.1, 9.0) for _ in range(count)]
        targets = [motion.apply(*point) for point in points]
        for chosen in (None, weights):
            assert fit_rigid(points, targets, chosen) == pytest.approx(motion, abs=1e-9)


@pytest.mark.parametrize("yaw", [None, 0.3])
def test_no_other_motion_brings_the_points_nearer_to_their_targets(yaw):
    rng = random.Random(7)
    points, targets = random_points(rng, 5), random_points(rng, 5)
    weights = [rng.uniform(0.1, 9.0) for _ in points]
    found = fit_rigid(points, targets, weights, yaw)
    assert yaw is None or found.yaw == yaw
    least = weighted_error(found, points, targets, weights)
    for _ in range(200):
        turn = rng.uniform(-0.01, 0.01) if yaw is None else 0.0
        other = Pose(found.x + rng.uniform(-0.01, 0.01), found.y + rng.uniform(-0.01, 0.01), found.yaw + turn)
        assert weighted_error(other, points, targets, weights) >= least
