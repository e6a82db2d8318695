# SPDX-License-Identifier: Apache-2.0
"""Measured joint angles are accepted only within the limits and speeds of the joints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drives import DT, drive, fitting, robot, standing_planner
from support.phantomx import LIMITS, standing_joints

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.sensing.joint_plausibility import JointPlausibility

MACHINE = robot("phantomx")
ONE_FAR_OFF = standing_joints()
ONE_FAR_OFF[2, 1] = 1e6
FOREIGN = {
    "1e308": np.full((6, 3), 1e308),
    "1e154": np.full((6, 3), 1e154),
    "100 rad": np.full((6, 3), 100.0),
    "zeros": np.zeros((6, 3)),
    "one joint at 1e6": ONE_FAR_OFF,
    "NaN": np.full((6, 3), np.nan),
}


def tripod_joints(seconds=4.0):
    """Joint angles of a fast tripod, tick by tick."""
    planner = standing_planner(MACHINE, "tripod")
    return [
        plan.joint_angles for plan in drive(planner, fitting(planner, Twist(1.0, 0.0, 0.5), 1.0, "tripod"), seconds)
    ]


@pytest.mark.parametrize("name", FOREIGN)
def test_joint_samples_of_another_robot_are_rejected_and_those_of_a_walking_robot_are_not(name):
    check = JointPlausibility(MACHINE).check
    for count, row in enumerate(tripod_joints()):
        now = count * DT
        own = check(row, now, now)
        assert (own.reason, own.jumped) == (None, False)
        for stamp in (now + 0.001, 0.0, now + 1e6):
            assert check(FOREIGN[name], stamp, now + 0.001).reason


@given(joint=st.integers(0, 17), value=st.floats())
def test_no_angle_beyond_the_limits_and_the_margin_is_ever_accepted(joint, value):
    row = standing_joints()
    row.flat[joint] = value
    lower, upper, _ = LIMITS.reshape(-1, 3)[joint]
    if not lower - 0.5 <= value <= upper + 0.5:
        check = JointPlausibility(MACHINE).check
        verdicts = [check(row, 0.1 * count, 0.1 * count) for count in range(10)]
        assert all("far outside its limits" in str(verdict.reason) for verdict in verdicts)


def test_samples_that_arrive_in_a_burst_are_judged_by_their_stamps():
    check = JointPlausibility(MACHINE).check
    for count, row in enumerate(tripod_joints()):
        arrival = DT * (count - count % 20)
        assert check(row, count * DT, arrival).reason is None


@pytest.mark.parametrize(
    ("stamp", "arrival", "elapsed"),
    [
        (0.02, 0.02, 0.02),
        (0.02, 0.0, 0.02),  # in a burst
        (0.05, 0.0, 0.03),  # a burst explains no more than this
        (0.05, 0.2, 0.05),
        (0.2, 0.06, 0.06),
        (5.0, 5.0, 0.1),  # a pause
        (-1.0, 0.02, 0.0),
    ],
)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_joint_may_turn_by_0_1_rad_and_half_faster_than_without_load_for_the_time_between_two_samples(
    stamp, arrival, elapsed, sign
):
    for leg, joint in ((0, 2), (5, 0)):
        most = 0.1 + 1.5 * LIMITS[leg, joint, 2] * elapsed
        for change, accepted in ((most - 1e-6, True), (most + 1e-6, False)):
            check = JointPlausibility(MACHINE).check
            start, later = standing_joints(), standing_joints()
            start[leg, joint] -= sign * change / 2
            later[leg, joint] += sign * change / 2
            assert check(start, 0.0, 0.0).reason is None
            name = f"{MACHINE.leg_names[leg]}_{('coxa', 'femur', 'tibia')[joint]}_joint"
            jump = f"{name} jumps by {change:.2f} rad in {1000 * elapsed:.0f} ms"
            assert str(check(later, stamp, arrival).reason) == ("None" if accepted else jump)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_joint_may_be_half_a_radian_beyond_its_limit_and_the_message_names_both(sign):
    lower, upper, _ = LIMITS[1, 1]
    for beyond, accepted in ((0.499, True), (0.501, False)):
        row = standing_joints()
        row[1, 1] = (lower if sign < 0.0 else upper) + sign * beyond
        found = JointPlausibility(MACHINE).check(row, 0.0, 0.0).reason
        text = f"left_middle_femur_joint is {row[1, 1]:.4g} rad, far outside its limits {lower:.3g} to {upper:.3g} rad"
        assert str(found) == ("None" if accepted else text)


@pytest.mark.parametrize(("period", "samples"), [(0.03125, 11), (0.0625, 6), (0.125, 5), (0.5, 5)])
def test_samples_after_a_jump_have_to_agree_for_0_3_s_and_five_times(period, samples):
    check = JointPlausibility(MACHINE).check
    check(standing_joints(), 0.0, 0.0)
    check(0.9 * standing_joints(), 1.0, 1.0)  # agrees with none of the others
    verdicts = [check(np.zeros((6, 3)), 2.0 + count * period, 2.0 + count * period) for count in range(samples)]
    assert [bool(verdict.reason) for verdict in verdicts] == [True] * (samples - 1) + [False]
    assert verdicts[-1].jumped


def test_after_a_restart_the_next_sample_must_only_be_within_the_limits():
    plausibility = JointPlausibility(MACHINE)
    plausibility.check(standing_joints(), 0.0, 0.0)
    assert plausibility.check(np.zeros((6, 3)), 0.02, 0.02).reason
    plausibility.restart()
    found = plausibility.check(np.zeros((6, 3)), 0.04, 0.04)
    assert found.reason is None and not found.jumped
    assert plausibility.check(np.full((6, 3), 100.0), 0.06, 0.06).reason


def test_after_a_real_jump_samples_are_accepted_once_they_have_agreed_for_a_while():
    check = JointPlausibility(MACHINE).check
    check(standing_joints(), 0.0, 0.0)
    verdicts = [check(np.zeros((6, 3)), 1.0 + count * DT, 1.0 + count * DT) for count in range(20)]
    settled = [count for count, verdict in enumerate(verdicts) if not verdict.reason]
    assert settled[0] * DT == pytest.approx(0.3, abs=DT)
    assert [count for count, verdict in enumerate(verdicts) if verdict.jumped] == settled[:1]
    assert settled == list(range(settled[0], 20))
    assert "jumps by" in str(verdicts[0].reason)


def test_random_samples_are_never_accepted():
    check, random = JointPlausibility(MACHINE).check, np.random.default_rng(3)
    check(standing_joints(), 0.0, 0.0)
    span = LIMITS[..., 1] - LIMITS[..., 0]
    for count in range(200):
        now = 1.0 + count * 0.03
        assert check(LIMITS[..., 0] + span * random.random((6, 3)), now, now).reason
