# SPDX-License-Identifier: Apache-2.0
"""Laws of planar motions."""

import math
import random

import pytest

from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp, log, moved_point, wrap


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


@pytest.mark.parametrize("turn", [1e-9, 5e-5, 0.99e-4, 1.01e-4, 0.3, 2.0])
def test_moved_points_match_the_exponential_and_the_logarithm_undoes_it(turn):
    rng = random.Random(3)
    for _ in range(30):
        time = rng.uniform(0.2, 3.0)
        twist = Twist(rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0), rng.choice((-1.0, 1.0)) * turn / time)
        x, y = rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0)
        pose = exp(twist, time)
        assert moved_point(twist, time, x, y) == pytest.approx(pose.apply(x, y), abs=1e-12)
        assert log(pose, time) == pytest.approx(twist, abs=1e-9)
        assert (pose.x, pose.y) == pytest.approx(integrated(twist, time), rel=1e-4, abs=1e-5)
        back = pose.inverse().apply(*pose.apply(x, y))
        assert back == pytest.approx((x, y), abs=1e-12)


def test_the_velocity_of_a_body_point_is_the_derivative_of_its_path():
    rng, dt = random.Random(4), 1e-6
    for _ in range(50):
        twist = Twist(*(rng.uniform(-1.0, 1.0) for _ in range(3)))
        x, y = rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0)
        ahead, behind = moved_point(twist, dt, x, y), moved_point(twist, -dt, x, y)
        derivative = [(after - before) / (2.0 * dt) for after, before in zip(ahead, behind, strict=True)]
        assert twist.velocity_at(x, y) == pytest.approx(derivative, abs=1e-8)
        assert twist.speed_at(x, y) == pytest.approx(math.hypot(*derivative), abs=1e-8)


def integrated(twist: Twist, time: float, steps: int = 400) -> tuple[float, float]:
    """Where a twist leads in a time [s], by the midpoint rule."""
    x = y = 0.0
    for k in range(steps):
        yaw = twist.wz * time * (k + 0.5) / steps
        x += (twist.vx * math.cos(yaw) - twist.vy * math.sin(yaw)) * time / steps
        y += (twist.vx * math.sin(yaw) + twist.vy * math.cos(yaw)) * time / steps
    return x, y


def test_a_scaled_twist_reaches_the_same_place_in_less_time_and_only_zero_is_zero():
    twist = Twist(0.3, -0.2, 0.5)
    assert close(exp(twist.scaled(4.0), 0.5), exp(twist, 2.0))
    assert ZERO.is_zero and twist.scaled(0.0).is_zero
    assert not any(Twist(*(0.1 * (k == axis) for k in range(3))).is_zero for axis in range(3))
    assert wrap(3.5 * math.pi) == pytest.approx(-0.5 * math.pi) and wrap(-0.3) == -0.3
