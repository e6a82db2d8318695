# SPDX-License-Identifier: Apache-2.0
"""What counts as a joint that lags, as feet that slip or bear no load, and as too steep to stand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hexapod_control.config.robots.robot_file import known_robots, load
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.sensing.mishap_watch import JointWatch, SlipWatch, SupportWatch, standing_limit, tilt_angle
from hexapod_control.core.statics.moving_mass import neutral_center

DT = 0.02  # [s]
STILL = (0.0,) * 18
angles = st.floats(-math.pi, math.pi)


def off_target(*errors):
    """Joints that are off their targets at 0; `errors` are (row, error)."""
    found = list(STILL)
    for row, error in errors:
        found[row] = error
    return found


def watched(watch, seconds, *values, **options):
    for _ in range(round(seconds / DT)):
        watch.step(DT, *values, **options)
    return watch


# --- joints -------------------------------------------------------------------------------------------------


def compared(watch, seconds, planned, measured):
    return watched(watch, seconds, np.reshape(planned, (-1, 3)), measured)


@pytest.mark.parametrize("error", [0.25, -0.25])
def test_a_joint_far_from_its_target_lags_after_a_fifth_of_a_second(error):
    watch = compared(JointWatch(), 0.18, STILL, off_target((7, error)))
    assert watch.latest is None
    late = compared(watch, 0.06, STILL, off_target((7, error))).latest
    assert (late.leg, late.joint) == (2, 1)
    assert (late.error, late.time) == pytest.approx((0.25, 0.24))


def test_a_joint_deflected_by_its_load_follows():
    assert compared(JointWatch(), 2.0, STILL, off_target((7, 0.19), (8, -0.19))).latest is None


def test_the_joint_that_is_off_for_longest_is_named():
    watch = compared(JointWatch(), 0.1, STILL, off_target((4, 0.3)))
    late = compared(watch, 0.3, STILL, off_target((4, 0.3), (9, 0.9))).latest
    assert (late.leg, late.joint) == (1, 1)
    late = compared(compared(watch, DT, STILL, off_target((9, 0.9))), 0.1, STILL, off_target((4, 0.3), (9, 0.9))).latest
    assert (late.leg, late.joint) == (3, 0)  # the other was back for a moment


@pytest.mark.parametrize(("lag", "follows"), [(0.3, True), (0.9, False)])
@pytest.mark.parametrize("speed", [1.0, -1.0])
def test_a_servo_with_a_slow_bus_follows_and_one_much_later_does_not(lag, follows, speed):
    watch = JointWatch()
    for tick in range(150):
        now = tick * DT
        compared(watch, DT, [speed * now] * 18, [speed * max(0.0, now - lag)] * 18)
    assert (watch.latest is None) == follows


@pytest.mark.parametrize("ticks", range(10, 18))
def test_a_target_counts_for_three_to_four_and_a_half_tenths_of_a_second(ticks):
    """A joint does not follow a step of its target: it lags a fifth of a second after the old target has expired."""
    watch = compared(JointWatch(), ticks * DT, STILL, STILL)
    assert compared(watch, 0.46, [1.0] * 18, STILL).latest is None
    assert compared(watch, 0.24, [1.0] * 18, STILL).latest is not None


@pytest.mark.parametrize("ticks", range(8))
def test_a_joint_that_reaches_a_short_lived_target_late_follows(ticks):
    watch = compared(JointWatch(), ticks * DT, STILL, STILL)
    compared(watch, 0.04, [1.0] * 18, STILL)
    assert compared(watch, 0.26, STILL, [1.0] * 18).latest is None


def test_unknown_joints_and_another_number_of_legs_start_over():
    watch = compared(JointWatch(), 1.0, STILL, off_target((7, 0.3)))
    compared(watch, DT, STILL, None)
    assert watch.latest is None and compared(watch, 0.18, STILL, off_target((7, 0.3))).latest is None
    compared(watch, 1.0, STILL, off_target((7, 0.3)))
    assert compared(watch, 0.18, STILL[:15], off_target((7, 0.3))[:15]).latest is None
    compared(watch, 1.0, STILL[:15], off_target((7, 0.3))[:15])
    watch.reset()
    assert watch.latest is None


# --- slip ---------------------------------------------------------------------------------------------------

GRIP = (True,) * 6


@pytest.mark.parametrize(("planned", "measured"), [(0.3, 0.8), (0.3, -0.2), (0.0, 0.5)])
def test_feet_slip_when_the_mean_turn_of_about_a_second_differs_from_theirs(planned, measured):
    watch = watched(SlipWatch(), 0.4, planned, measured, GRIP)
    assert watch.slipping == ()
    assert watched(watch, 0.3, planned, measured, GRIP).slipping == (0, 1, 2, 3, 4, 5)
    assert watched(watch, 8.0, planned, measured, GRIP).difference == pytest.approx(measured - planned, abs=1e-3)
    assert watched(watch, 8.0, planned, planned, GRIP).slipping == ()


def test_the_sway_of_a_gait_is_no_slip():
    watch = SlipWatch()
    for tick in range(400):
        watch.step(DT, 0.3, 0.3 + 0.5 * math.sin(2.0 * math.pi * tick * DT), GRIP)
        assert watch.slipping == ()


def test_a_small_difference_is_no_slip_and_an_unknown_rate_starts_over():
    assert watched(SlipWatch(), 10.0, 0.0, 0.19, GRIP).slipping == ()
    watch = watched(SlipWatch(), 10.0, 0.0, 0.5, GRIP)
    watch.step(DT, 0.0, None, GRIP)
    assert watch.slipping == () and watch.difference == 0.0


def test_the_legs_that_stand_while_the_robot_slips_are_named():
    """Of five ticks the legs stand in 5, 4, 3 and 0."""
    watch = SlipWatch()
    for tick in range(500):
        watch.step(DT, 0.0, 0.5, [tick % 5 < stand for stand in (5, 4, 3, 0)])
    assert watch.slipping == (0, 1)


# --- load ---------------------------------------------------------------------------------------------------

ALL, TWO, NONE = (True,) * 6, (True, False, False, True, False, False), (False,) * 6
THREE = (True, False, True, False, True, False)


def standing():
    return watched(SupportWatch(), 1.0, THREE, on_feet=True)


def test_three_loaded_feet_are_enough_after_a_fifth_of_a_second_and_two_never():
    watch = SupportWatch()
    assert not watched(watch, 0.18, THREE, on_feet=True).loaded
    assert watched(watch, 0.06, THREE, on_feet=True).loaded
    assert not watched(watch, DT, TWO, on_feet=True).loaded
    assert not watched(watch, 0.18, THREE, on_feet=True).loaded
    assert not watched(watch, 3.0, TWO, on_feet=True).loaded


def test_a_robot_without_load_on_any_foot_is_carried_after_the_time_of_a_hop():
    watch = standing()
    assert not watched(watch, 0.38, NONE, on_feet=True).carried
    assert watched(watch, 0.06, NONE, on_feet=True).carried
    assert not watched(watch, DT, (*NONE[:5], True), on_feet=True).carried


def test_sensors_that_never_reported_enough_feet_prove_nothing():
    watch = watched(SupportWatch(), 1.0, TWO, on_feet=True)
    assert not watched(watch, 5.0, NONE, on_feet=True).carried and not watch.too_few_loaded
    watch = watched(SupportWatch(), 1.0, THREE, on_feet=False)
    assert not watched(watch, 5.0, NONE, on_feet=False).carried and not watch.too_few_loaded
    watch = watched(standing(), DT, THREE, on_feet=False)
    assert not watched(watch, 5.0, NONE, on_feet=True).carried


def test_feet_are_lacking_if_most_of_two_seconds_had_too_few():
    watch = standing()
    assert not watched(watch, 1.6, TWO, on_feet=True).too_few_loaded
    assert watched(watch, 0.6, TWO, on_feet=True).too_few_loaded and not watch.carried
    assert not watched(watch, 1.6, ALL, on_feet=True).too_few_loaded
    for _ in range(100):  # half of the time
        watched(watched(watch, 0.1, TWO, on_feet=True), 0.1, THREE, on_feet=True)
        assert not watch.too_few_loaded


@pytest.mark.parametrize("before", [THREE, NONE])
def test_unknown_loads_end_every_finding(before):
    watch = watched(standing(), 5.0, before, on_feet=True)
    assert watch.known and (watch.loaded or (watch.carried and watch.too_few_loaded))
    watch.step(DT, None, on_feet=True)
    assert not (watch.known or watch.loaded or watch.carried or watch.too_few_loaded)


# --- attitude -----------------------------------------------------------------------------------------------


@given(angles, angles, angles)
def test_the_tilt_is_the_angle_of_the_body_axis_from_the_vertical(roll, pitch, yaw):
    up = np.array(BodyPose(roll=roll, pitch=pitch, yaw=yaw).rotation())[2, 2]
    assert math.cos(tilt_angle(roll, pitch)) == pytest.approx(up, abs=1e-9)


@pytest.mark.parametrize("name", known_robots())
def test_a_robot_stands_until_it_tips_over_its_nearest_edge_but_at_most_at_45_degrees(name):
    model = load(name).robot
    turn = np.radians(np.arange(0.0, 360.0, 0.1))
    feet = np.array([leg.foothold[:2] for leg in model.legs]) - neutral_center(model)
    edge = (feet @ np.array([np.cos(turn), np.sin(turn)])).max(axis=0).min()
    tipping = math.atan2(edge, model.walk.height)
    assert standing_limit(model) == pytest.approx(min(tipping, math.radians(45.0)), abs=1e-3)
