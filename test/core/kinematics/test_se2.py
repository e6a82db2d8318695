"""Laws of planar motions."""

import math
import random

import pytest

from hexapod_control.core.kinematics.se2 import Pose, Twist, exp


def close(a: Pose, b: Pose) -> bool:
    return (a.x, a.y) == pytest.approx((b.x, b.y), abs=1e-12) and abs(math.remainder(a.yaw - b.yaw, math.tau)) < 1e-12


def test_exponentials_of_one_twist_add_up_and_undo_each_other():
    rng = random.Random(1)
    for _ in range(200):
        twist = Twist(*(rng.uniform(-1.0, 1.0) for _ in range(3)))
        a, b = rng.uniform(-2.0, 2.0), rng.uniform(-2.0, 2.0)
        assert close(exp(twist, a) @ exp(twist, b), exp(twist, a + b))
        assert close(exp(twist, a).inverse(), exp(twist, -a))


def test_the_series_near_zero_angle_meets_the_closed_form():
    for angle in (0.99e-4, 1.01e-4):
        twist = Twist(0.3, -0.2, angle)
        exact = (
            (math.sin(angle) * 0.3 + (1.0 - math.cos(angle)) * 0.2) / angle,
            ((1.0 - math.cos(angle)) * 0.3 - math.sin(angle) * 0.2) / angle,
        )
        pose = exp(twist, 1.0)
        assert (pose.x, pose.y) == pytest.approx(exact, abs=1e-10)


def test_composition_is_associative_and_the_inverse_cancels():
    rng = random.Random(2)
    for _ in range(100):
        a, b, c = (Pose(*(rng.uniform(-3.0, 3.0) for _ in range(3))) for _ in range(3))
        assert close((a @ b) @ c, a @ (b @ c))
        assert close(a @ a.inverse(), Pose(0.0, 0.0, 0.0))
