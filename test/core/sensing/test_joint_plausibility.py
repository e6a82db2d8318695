"""Measured joint angles are accepted only within the limits and speeds of the joints."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.drives import DT, drive, fitting, robot, standing_planner
from support.phantomx import LIMITS, standing_joints

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.sensing.joint_plausibility import (
    BURST_PERIOD_S,
    LIMIT_MARGIN,
    MAX_GAP_S,
    SETTLING_TIME_S,
    JointPlausibility,
)

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


def rows(seconds=4.0):
    """Joint angles of a fast tripod, tick by tick."""
    planner = standing_planner(MACHINE, "tripod")
    return [
        plan.joint_angles for plan in drive(planner, fitting(planner, Twist(1.0, 0.0, 0.5), 1.0, "tripod"), seconds)
    ]


@pytest.mark.parametrize("name", FOREIGN)
def test_joint_samples_of_another_robot_are_rejected_and_those_of_a_walking_robot_are_not(name):
    check = JointPlausibility(MACHINE).check
    for count, row in enumerate(rows()):
        now = count * DT
        own = check(row, now, now)
        assert (own.reason, own.jumped) == ("", False)
        for stamp in (now + 0.001, 0.0, now + 1e6):
            assert check(FOREIGN[name], stamp, now + 0.001).reason


@given(joint=st.integers(0, 17), value=st.floats())
def test_no_angle_beyond_the_limits_and_the_margin_is_ever_accepted(joint, value):
    row = standing_joints()
    row.flat[joint] = value
    lower, upper, _ = LIMITS.reshape(-1, 3)[joint]
    if not lower - LIMIT_MARGIN <= value <= upper + LIMIT_MARGIN:
        check = JointPlausibility(MACHINE).check
        verdicts = [check(row, 0.1 * count, 0.1 * count) for count in range(10)]
        assert all("far outside its limits" in verdict.reason for verdict in verdicts)


def test_samples_that_arrive_in_a_burst_are_judged_by_their_stamps():
    check = JointPlausibility(MACHINE).check
    for count, row in enumerate(rows()):
        arrival = DT * (count - count % 20)
        assert check(row, count * DT, arrival).reason == ""


def test_a_pause_permits_a_step_as_large_as_the_joint_turns_in_a_tenth_of_a_second_and_no_larger():
    speed = LIMITS[0, 2, 2]
    for factor, accepted in ((1.0, True), (2.0, False)):
        check = JointPlausibility(MACHINE).check
        start, later = standing_joints(), standing_joints()
        later[0, 2] += factor * speed * MAX_GAP_S
        check(start, 0.0, 0.0)
        assert (check(later, 5.0, 5.0).reason == "") == accepted


def test_after_a_real_jump_samples_are_accepted_once_they_have_agreed_for_a_while():
    check = JointPlausibility(MACHINE).check
    check(standing_joints(), 0.0, 0.0)
    verdicts = [check(np.zeros((6, 3)), 1.0 + count * DT, 1.0 + count * DT) for count in range(20)]
    settled = [count for count, verdict in enumerate(verdicts) if not verdict.reason]
    assert settled[0] * DT == pytest.approx(SETTLING_TIME_S, abs=DT)
    assert [count for count, verdict in enumerate(verdicts) if verdict.jumped] == settled[:1]
    assert settled == list(range(settled[0], 20))
    assert "jumps by" in verdicts[0].reason


def test_random_samples_are_never_accepted():
    check, random = JointPlausibility(MACHINE).check, np.random.default_rng(3)
    check(standing_joints(), 0.0, 0.0)
    span = LIMITS[..., 1] - LIMITS[..., 0]
    for count in range(200):
        now = 1.0 + count * BURST_PERIOD_S
        assert check(LIMITS[..., 0] + span * random.random((6, 3)), now, now).reason
