# SPDX-License-Identifier: Apache-2.0
"""Conversion between radians and raw units: round trips, signs, counted clamps."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kits.operator import Operator
from support.phantomx import robot

from hexapod_control.servos.bus.bus_interface import RawScale
from hexapod_control.servos.calibration.calibration_state import LIMIT_CLEARANCE, CalibrationState
from hexapod_control.servos.calibration.servo_jogger import ServoJogger
from hexapod_control.servos.protocols.loopback import LoopbackBus
from hexapod_control.servos.settings.joint_calibration import JointCalibration, UnitConverter
from hexapod_control.servos.settings.joint_section import standard_calibrations

PLAIN = JointCalibration(
    joint="left_front_coxa_joint",
    id=1,
    center=2048.0,
    direction=1,
    units_per_rad=651.9,
    units_per_rad_neg=651.9,
    q_center=0.0,
    trim=0.0,
    low=1000,
    high=3000,
    lower=-1.0,
    upper=1.0,
)
calibrations = st.builds(
    JointCalibration,
    joint=st.just("left_front_coxa_joint"),
    id=st.just(1),
    center=st.floats(500, 3500),
    direction=st.sampled_from((-1, 1)),
    units_per_rad=st.floats(100, 1000),
    units_per_rad_neg=st.floats(100, 1000),
    q_center=st.floats(-3, 3),
    trim=st.floats(-0.5, 0.5),
    low=st.just(0),
    high=st.just(4095),
    lower=st.just(-math.pi),
    upper=st.just(math.pi),
)


def converter(**changes):
    return UnitConverter([dataclasses.replace(PLAIN, **changes)])


def goal(angle, **changes):
    return converter(**changes).goals(np.array([[angle]]))[1]


def test_a_goal_is_center_plus_direction_times_units_times_angle_from_the_center():
    # 2048 + 651.9 * (0.5 - 0.1 - 0.05) = 2276.2, mirrored 2048 - 228.2 = 1819.8
    assert goal(0.5, q_center=0.1, trim=0.05) == 2276
    assert goal(0.5, q_center=0.1, trim=0.05, direction=-1) == 1820


def test_the_units_below_the_center_may_differ():
    assert goal(-0.5, units_per_rad_neg=600.0) == 2048 - 300
    assert goal(0.5, units_per_rad_neg=600.0) == 2374


@given(calibrations, st.floats(-math.pi, math.pi))
def test_an_angle_survives_the_conversion_to_a_raw_position(joint, angle):
    assert joint.angle(joint.raw(angle)) == pytest.approx(angle, abs=1e-9)


@given(calibrations, st.floats(-math.pi, math.pi))
def test_mirroring_changes_the_direction_only(joint, angle):
    other = dataclasses.replace(joint, direction=-joint.direction)
    assert joint.raw(angle) - joint.center == pytest.approx(joint.center - other.raw(angle))


@given(calibrations, st.floats(-1000.0, 1000.0), st.floats(-3.0, 3.0))
def test_a_raw_speed_is_the_derivative_of_the_angle(joint, speed, angle):
    raw, step = joint.raw(angle), 1e-3
    if abs(raw - joint.center) > 10.0:  # the units change at the center
        slope = (joint.angle(raw + step) - joint.angle(raw - step)) / (2.0 * step)
        assert joint.rate(raw, speed) == pytest.approx(slope * speed, rel=1e-6, abs=1e-6)


@given(calibrations, st.floats(allow_nan=True, allow_infinity=True))
def test_no_angle_at_all_leads_to_a_goal_outside_the_raw_limits(joint, angle):
    goals = UnitConverter([joint]).goals(np.array([[angle]]))
    assert all(joint.low <= raw <= joint.high for raw in goals.values())
    assert bool(goals) == math.isfinite(angle)


@pytest.mark.parametrize(("angle", "limit"), [(1.2, 1.0), (-1.2, -1.0), (9.0, 1.0), (-9.0, -1.0)])
def test_an_angle_outside_the_joint_limits_is_clamped_and_counted(angle, limit):
    row = converter()
    assert row.goals(np.array([[angle]])) == {1: round(2048 + 651.9 * limit)}
    row.goals(np.array([[limit]]))
    assert row.clamps == [1]


@pytest.mark.parametrize("angle", [math.nan, math.inf, -math.inf])
def test_an_angle_that_is_not_finite_has_no_goal_and_counts_as_a_clamp(angle):
    row = converter()
    assert row.goals(np.array([[angle]])) == {}
    assert row.clamps == [1]


def test_the_raw_limits_are_clamped_after_the_joint_limits_and_counted():
    row = converter(low=2000, high=2100)
    assert row.goals(np.array([[0.5]])) == {1: 2100}
    assert row.goals(np.array([[-0.5]])) == {1: 2000}
    assert row.clamps == [2]


def test_rounding_to_a_whole_unit_is_not_a_clamp():
    row = converter(center=2048.5)
    assert row.goals(np.array([[0.0]]))[1] in (2048, 2049)
    assert row.clamps == [0]


def test_a_joint_that_was_found_outside_its_limits_may_be_commanded_there():
    row = converter()
    assert row.goals(np.array([[1.2]]), np.array([[0.3]])) == {1: round(2048 + 651.9 * 1.2)}
    assert row.goals(np.array([[-1.2]]), np.array([[0.3]])) == {1: round(2048 - 651.9 * 1.2)}
    assert row.clamps == [0]
    assert row.goals(np.array([[1.4]]), np.array([[0.3]])) == {1: round(2048 + 651.9 * 1.3)}
    assert row.clamps == [1]


def test_joint_angles_survive_the_conversion_within_half_a_unit():
    joints = standard_calibrations(robot(), RawScale("tick", 0, 4095, 2048, 651.9), range(254))
    row = UnitConverter(joints)
    lower, upper = (np.array([getattr(j, side) for j in joints]) for side in ("lower", "upper"))
    angles = np.random.default_rng(1).uniform(lower, upper).reshape(-1, 3)
    goals = row.goals(angles)
    assert list(goals) == [joint.id for joint in joints]
    for joint, angle in zip(joints, angles.flat, strict=True):
        assert joint.angle(goals[joint.id]) == pytest.approx(angle, abs=0.5 / 651.9 + 1e-9)


@pytest.mark.parametrize("scale", [RawScale("us", 500, 2500, 1500, 636.62), RawScale("tick", 0, 1000, 500, 238.73)])
def test_standard_servos_reach_every_joint_limit(scale):
    for joint in standard_calibrations(robot(), scale, range(32)):
        for angle in (joint.lower, joint.upper):
            assert joint.low <= joint.raw(angle) <= joint.high


class Silent(Operator):
    """A dialog without output."""

    def say(self, text):
        raise AssertionError(text)


def test_a_leg_rests_straight_out_level_and_down_as_far_as_its_limits_allow_with_clearance():
    down, clear = math.radians(-90.0), LIMIT_CLEARANCE
    wide = dataclasses.replace(PLAIN, lower=-math.pi, upper=math.pi)
    joints = [wide] * 3 + [
        dataclasses.replace(PLAIN, lower=0.2, upper=1.0),
        dataclasses.replace(PLAIN, lower=-1.0, upper=-0.2),
        dataclasses.replace(PLAIN, lower=-1.0, upper=1.0),
    ]
    jogger = ServoJogger(LoopbackBus((1,)), {1: 2048.0})
    rest = CalibrationState(robot(), joints, jogger, Silent()).rest
    assert rest == pytest.approx([0.0, 0.0, down, 0.2 + clear, -0.2 - clear, -1.0 + clear])
