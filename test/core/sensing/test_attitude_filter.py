# SPDX-License-Identifier: Apache-2.0
"""Properties of the attitude filter and of the gyro bias estimate, for any rotation and mounting."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hexapod_control.core.kinematics.body_pose import quaternion_angles
from hexapod_control.core.sensing.imu_estimator import (
    LEVEL,
    AttitudeFilter,
    Freshness,
    GyroBias,
    ImuEstimator,
    from_roll_pitch_yaw,
    inverse,
    product,
    rotated,
    rotation,
)
from hexapod_control.core.statics.static_stability import GRAVITY

DT = 0.01
UP = (0.0, 0.0, GRAVITY)
angles = st.floats(-math.pi, math.pi)
tilts = st.tuples(st.floats(-1.2, 1.2), st.floats(-1.2, 1.2), angles)
rates = st.tuples(*3 * [st.floats(-5.0, 5.0)])
vectors = st.tuples(*3 * [st.floats(-10.0, 10.0)])
quick = settings(max_examples=60)


def accelerometer_at(attitude):
    """The accelerometer reading [m/s^2] of a body at rest."""
    return rotated(inverse(attitude), UP)


def to_roll_pitch_yaw(attitude):
    w, x, y, z = attitude
    return quaternion_angles(x, y, z, w)


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
    made.update((0.0, 0.0, 0.0), accelerometer_at(from_roll_pitch_yaw(attitude)), DT)
    assert rotated(made.attitude, accelerometer_at(from_roll_pitch_yaw(attitude))) == pytest.approx(UP, abs=1e-9)
    level = rotated(inverse(made.attitude), (0.0, 0.0, 1.0))
    assert level == pytest.approx(rotated(inverse(from_roll_pitch_yaw((roll, pitch, 0.0))), (0.0, 0.0, 1.0)), abs=1e-9)


@quick
@given(tilts, tilts)
def test_gravity_corrects_any_tilt_within_five_time_constants_and_never_the_heading(start, true):
    made = AttitudeFilter(time_constant=0.1)
    made.update((0.0, 0.0, 0.0), UP, DT)
    made.attitude = from_roll_pitch_yaw(start)
    acceleration = accelerometer_at(from_roll_pitch_yaw((*true[:2], 0.0)))
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


def tilted(size, seconds):
    """The tilt after some seconds of level readings, with gravity of a size, from a tilt of 0.1 rad."""
    made = AttitudeFilter()
    made.update((0.0, 0.0, 0.0), UP, DT)
    made.attitude = from_roll_pitch_yaw((0.1, 0.0, 0.0))
    for _ in range(round(seconds / DT)):
        made.update((0.0, 0.0, 0.0), (0.0, 0.0, size * GRAVITY), DT)
    return angle(made.attitude, LEVEL)


def test_a_tilt_decays_with_a_time_constant_of_two_seconds_under_accelerations_within_15_percent_of_gravity():
    assert tilted(1.0, 2.0) == pytest.approx(0.1 / math.e, rel=1e-6)
    for size, used in ((0.84, False), (0.86, True), (1.14, True), (1.16, False)):
        assert (tilted(size, 1.0) < 0.09) == used


def test_a_filter_that_starts_upside_down_has_that_attitude():
    made = AttitudeFilter()
    made.update((0.0, 0.0, 0.0), (0.0, 0.0, -GRAVITY), DT)
    assert rotated(made.attitude, (0.0, 0.0, -GRAVITY)) == pytest.approx(UP, abs=1e-9)


@pytest.mark.parametrize("size", [1e-9, 0.9e-4, 1.1e-4, 0.5])
def test_two_turns_about_an_axis_are_one_of_twice_the_angle(size):
    once, twice = (rotation((k * 0.6 * size, 0.0, k * -0.8 * size)) for k in (1, 2))
    assert product(once, once) == pytest.approx(twice, abs=1e-15)
    assert twice[1] == pytest.approx(math.sin(size) * 0.6) and twice[3] == pytest.approx(-math.sin(size) * 0.8)


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
    run(gyro, 0.9, (0.0, 0.0, 0.0))
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
        ((0.0, 0.0, 0.025), {}),
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


def bias_at_rest(gyro, rate, count=8):
    """The bias after a second of the same reading."""
    for _ in range(count):
        gyro.update(rate, UP, 0.125, at_rest=True)
    return gyro.bias


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_turn_of_more_than_20_degrees_per_second_is_no_bias_and_later_ones_count_by_three_tenths(axis, sign):
    def along(rate):
        return tuple(sign * rate * (k == axis) for k in range(3))

    gyro = GyroBias()
    assert bias_at_rest(gyro, along(0.36)) == (0.0, 0.0, 0.0) and not gyro.known
    assert bias_at_rest(gyro, along(0.34), 7) == (0.0, 0.0, 0.0)
    assert bias_at_rest(gyro, along(0.34), 1) == pytest.approx(along(0.34)) and gyro.known
    assert bias_at_rest(gyro, along(0.361)) == pytest.approx(along(0.34))  # changed by more than 0.02 rad/s
    assert bias_at_rest(gyro, along(0.35)) == pytest.approx(along(0.343))
    assert bias_at_rest(gyro, along(0.333)) == pytest.approx(along(0.34))
    assert gyro.update(along(0.5), UP, 0.125, at_rest=False) == pytest.approx(along(0.16))


@pytest.mark.parametrize("axis", range(6))
@pytest.mark.parametrize("share", [0.97, 1.03])
def test_a_second_is_still_unless_a_rate_spreads_by_0_03_rad_s_or_an_acceleration_by_0_4(axis, share):
    gyro, most = GyroBias(), 0.03 if axis < 3 else 0.4
    for tick in range(8):
        reading = [0.0, 0.0, 0.0, *UP]
        reading[axis] += share * most * (tick % 2)
        gyro.update(tuple(reading[:3]), tuple(reading[3:]), 0.125, at_rest=True)
    assert gyro.known == (share < 1.0)
    if gyro.known:
        assert gyro.bias == pytest.approx([share * most / 2 * (k == axis) for k in range(3)])  # the mean


def test_a_motion_starts_the_second_of_rest_anew():
    gyro = GyroBias()
    bias_at_rest(gyro, (0.1, 0.0, 0.0), 7)
    gyro.update((0.1, 0.0, 0.0), UP, 0.125, at_rest=False)
    assert bias_at_rest(gyro, (0.2, 0.0, 0.0), 7) == (0.0, 0.0, 0.0)
    assert bias_at_rest(gyro, (0.2, 0.0, 0.0), 1) == pytest.approx((0.2, 0.0, 0.0))


def test_a_bias_that_drifts_is_followed():
    gyro = GyroBias()
    run(gyro, 2.0, (0.0, 0.0, 0.0))
    run(gyro, 15.0, (0.0, 0.0, 0.0), bias=(0.11, -0.19, 0.05))
    assert gyro.bias == pytest.approx((0.11, -0.19, 0.05), abs=0.001)


@quick
@given(tilts, tilts, rates)
def test_readings_do_not_depend_on_how_the_chip_is_mounted(mounting, attitude, rate):
    turn = inverse(from_roll_pitch_yaw(mounting))  # from the axes of the body to those of the chip
    body, own = accelerometer_at(from_roll_pitch_yaw(attitude)), ImuEstimator(mounting)
    found = own.update(rotated(turn, body), rotated(turn, rate), None, DT, False)
    level = ImuEstimator((0.0, 0.0, 0.0)).update(body, rate, None, DT, False)
    assert found.rate == pytest.approx(level.rate, abs=1e-9)
    assert found.acceleration == pytest.approx(level.acceleration, abs=1e-9)
    assert angle(found.attitude, level.attitude) < 1e-6
    q = from_roll_pitch_yaw(attitude)
    chip = own.update(rotated(turn, body), rotated(turn, rate), product(q, from_roll_pitch_yaw(mounting)), DT, False)
    assert angle(chip.attitude, q) < 1e-6


def test_readings_are_late_after_two_and_a_half_periods_and_frozen_after_a_quarter_of_a_second_without_a_change():
    fresh = Freshness(DT)
    for count in range(10):
        fresh.take(bytes([count]), 2.4 * DT)
    assert (fresh.late, fresh.frozen) == (0, False)
    fresh.take(b"last", 2.6 * DT)
    assert fresh.late == 1
    for _ in range(round(0.25 / DT) - 2):
        fresh.take(b"last", DT)
    assert not fresh.frozen
    for _ in range(3):
        fresh.take(b"last", DT)
    assert fresh.frozen
    fresh.take(b"new", DT)
    assert not fresh.frozen


def test_the_bias_of_the_gyro_is_removed_from_the_rates_of_a_chip_unless_it_estimates_its_own_attitude():
    for orientation in (None, LEVEL):
        estimator = ImuEstimator((0.0, 0.0, 0.0))
        for at_rest in (False, True):
            for _ in range(17):
                found = estimator.update(UP, (0.1, 0.0, 0.0), orientation, 0.125, at_rest)
            expected = 0.0 if at_rest and orientation is None else 0.1
            assert found.rate == pytest.approx((expected, 0.0, 0.0)) and found.acceleration == UP
            assert estimator.gyro.known == (at_rest and orientation is None)


def test_after_a_pause_a_rate_counts_for_at_most_a_tenth_of_a_second():
    for pause, counted in ((0.08, 0.08), (5.0, 0.1)):
        found = ImuEstimator((0.0, 0.0, 0.0)).update(UP, (0.0, 0.0, 0.5), None, pause, False)
        assert to_roll_pitch_yaw(found.attitude) == pytest.approx((0.0, 0.0, 0.5 * counted))
