"""Properties of the attitude filter and of the gyro bias estimate, for any rotation and mounting."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_control.core.sensing.attitude_filter import (
    LEVEL,
    MAX_BIAS_CHANGE,
    STILL_TIME_S,
    AttitudeFilter,
    GyroBias,
    from_roll_pitch_yaw,
    inverse,
    product,
    rotated,
    rotation,
    to_roll_pitch_yaw,
)
from hexapod_control.core.sensing.imu_estimator import FROZEN_S, LATE_PERIODS, Freshness, ImuEstimator
from hexapod_control.core.statics.static_stability import GRAVITY

DT = 0.01
UP = (0.0, 0.0, GRAVITY)
angles = st.floats(-math.pi, math.pi)
tilts = st.tuples(st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), angles)
rates = st.tuples(*3 * [st.floats(-5.0, 5.0)])
vectors = st.tuples(*3 * [st.floats(-10.0, 10.0)])
quick = settings(max_examples=60)


def felt(attitude):
    """The acceleration of a body at rest."""
    return rotated(inverse(attitude), UP)


def angle(a, b):
    """Between two attitudes [rad]."""
    return 2.0 * math.atan2(math.hypot(*product(inverse(a), b)[1:]), abs(product(inverse(a), b)[0]))


@quick
@given(tilts, vectors)
def test_turning_and_turning_back_changes_nothing_and_lengths_stay(attitude, vector):
    q = from_roll_pitch_yaw(attitude)
    assert rotated(inverse(q), rotated(q, vector)) == pytest.approx(vector, abs=1e-9)
    assert math.hypot(*rotated(q, vector)) == pytest.approx(math.hypot(*vector), abs=1e-9)
    assert angle(from_roll_pitch_yaw(to_roll_pitch_yaw(q)), q) < 1e-7


def test_the_axes_are_those_of_rep_103():
    nose_down = from_roll_pitch_yaw((0.0, 0.5, 0.0))
    assert rotated(nose_down, (1.0, 0.0, 0.0))[2] == pytest.approx(-math.sin(0.5))
    to_the_left = from_roll_pitch_yaw((0.0, 0.0, 0.5))
    assert rotated(to_the_left, (1.0, 0.0, 0.0)) == pytest.approx((math.cos(0.5), math.sin(0.5), 0.0))


@quick
@given(rates, st.integers(1, 60))
def test_a_constant_rate_is_integrated_exactly_without_gravity(rate, count):
    made = AttitudeFilter()
    for _ in range(count):
        made.update(rate, (0.0, 0.0, 0.0), DT)
    assert angle(made.attitude, rotation(tuple(count * DT * r for r in rate))) < 1e-9


@quick
@given(tilts)
def test_the_first_reading_sets_roll_and_pitch_and_leaves_the_heading(attitude):
    roll, pitch, _ = attitude
    made = AttitudeFilter()
    made.update((0.0, 0.0, 0.0), felt(from_roll_pitch_yaw(attitude)), DT)
    assert rotated(made.attitude, felt(from_roll_pitch_yaw(attitude))) == pytest.approx(UP, abs=1e-9)
    level = rotated(inverse(made.attitude), (0.0, 0.0, 1.0))
    assert level == pytest.approx(rotated(inverse(from_roll_pitch_yaw((roll, pitch, 0.0))), (0.0, 0.0, 1.0)), abs=1e-9)


@quick
@given(tilts, tilts)
def test_gravity_corrects_any_tilt_within_five_time_constants_and_never_the_heading(start, true):
    made = AttitudeFilter(time_constant=0.1)
    made.update((0.0, 0.0, 0.0), UP, DT)
    made.attitude = from_roll_pitch_yaw(start)
    acceleration = felt(from_roll_pitch_yaw((*true[:2], 0.0)))
    axis = [rotated(made.attitude, acceleration)]
    for _ in range(100):
        made.update((0.0, 0.0, 0.0), acceleration, DT)
        axis.append(rotated(made.attitude, acceleration))
    assert axis[-1] == pytest.approx(UP, abs=0.02 * GRAVITY)
    x, y, _ = axis[0]
    assert abs(x * axis[20][1] - y * axis[20][0]) < 1e-6 * GRAVITY**2  # it falls straight towards the vertical


def test_a_shake_does_not_correct_the_attitude():
    made = AttitudeFilter(time_constant=0.05)
    made.update((0.0, 0.0, 0.0), UP, DT)
    for _ in range(100):
        made.update((0.0, 0.0, 0.0), (6.0, 0.0, GRAVITY), DT)
    assert angle(made.attitude, LEVEL) < 1e-9


def noisy(rng, vector, sigma):
    return tuple(value + rng.gauss(0.0, sigma) for value in vector)


def run(gyro, seconds, rate, bias=(0.1, -0.2, 0.05), rest=True, shake=0.05):
    rng = random.Random(3)
    for _ in range(round(seconds / DT)):
        shown = noisy(rng, tuple(r + b for r, b in zip(rate, bias, strict=True)), 0.002)
        found = gyro.update(shown, noisy(rng, UP, shake), DT, rest)
    return found


def test_the_bias_is_known_after_a_second_at_rest():
    gyro = GyroBias()
    run(gyro, STILL_TIME_S - 0.1, (0.0, 0.0, 0.0))
    assert not gyro.known
    run(gyro, 0.5, (0.0, 0.0, 0.0))
    assert gyro.known
    assert gyro.bias == pytest.approx((0.1, -0.2, 0.05), abs=0.001)
    assert run(gyro, 0.1, (0.0, 0.0, 0.0)) == pytest.approx((0.0, 0.0, 0.0), abs=0.01)


@pytest.mark.parametrize(
    ("rate", "more"),
    [
        ((0.0, 0.0, 0.0), {"rest": False}),
        ((0.0, 0.0, 0.0), {"shake": 0.5}),
        ((0.0, 0.0, 2.0 * MAX_BIAS_CHANGE), {}),
        ((0.0, 0.0, 0.6), {}),
    ],
    ids=["told to move", "shaken", "slow turn", "fast turn"],
)
def test_the_bias_is_not_measured_while_the_robot_moves(rate, more):
    gyro = GyroBias()
    run(gyro, 2.0, (0.0, 0.0, 0.0))
    before = gyro.bias
    run(gyro, 3.0, rate, **more)
    assert gyro.bias == before


def test_a_bias_that_drifts_is_followed():
    gyro = GyroBias()
    run(gyro, 2.0, (0.0, 0.0, 0.0))
    run(gyro, 15.0, (0.0, 0.0, 0.0), bias=(0.11, -0.19, 0.05))
    assert gyro.bias == pytest.approx((0.11, -0.19, 0.05), abs=0.001)


@quick
@given(tilts, tilts, rates)
def test_readings_do_not_depend_on_how_the_chip_is_mounted(mounting, attitude, rate):
    turn = inverse(from_roll_pitch_yaw(mounting))  # from the axes of the body to those of the chip
    body, own = felt(from_roll_pitch_yaw(attitude)), ImuEstimator(mounting)
    found = own.update(rotated(turn, body), rotated(turn, rate), None, DT, False)
    level = ImuEstimator((0.0, 0.0, 0.0)).update(body, rate, None, DT, False)
    assert found.rate == pytest.approx(level.rate, abs=1e-9)
    assert found.acceleration == pytest.approx(level.acceleration, abs=1e-9)
    assert angle(found.attitude, level.attitude) < 1e-6
    q = from_roll_pitch_yaw(attitude)
    chip = own.update(rotated(turn, body), rotated(turn, rate), product(q, from_roll_pitch_yaw(mounting)), DT, False)
    assert angle(chip.attitude, q) < 1e-6


def test_readings_that_come_late_are_counted_and_those_that_do_not_change_are_frozen():
    fresh = Freshness(DT)
    for count in range(10):
        fresh.take(bytes([count]), 0.9 * LATE_PERIODS * DT)
    assert (fresh.late, fresh.frozen) == (0, False)
    fresh.take(b"last", 1.1 * LATE_PERIODS * DT)
    assert fresh.late == 1
    for _ in range(round(FROZEN_S / DT) - 2):
        fresh.take(b"last", DT)
    assert not fresh.frozen
    for _ in range(3):
        fresh.take(b"last", DT)
    assert fresh.frozen
    fresh.take(b"new", DT)
    assert not fresh.frozen
