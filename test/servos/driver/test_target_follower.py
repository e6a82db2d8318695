# SPDX-License-Identifier: Apache-2.0
"""From joint targets to servo commands: joint limits, interpolation, ramp after arming, watchdog, speed limit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.phantomx import robot, standing_joints

from hexapod_control.servos.driver.target_follower import (
    ARMING_RAMP_S,
    SPEED_MARGIN,
    TARGET_TIMEOUT_S,
    Interpolation,
    TargetFollower,
)
from hexapod_control.sim.start_poses import sitting_pose

SPEED = np.array([[joint.no_load_speed for joint in leg.joints] for leg in robot().legs])
LIMITS = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in robot().legs])
TICK_S = 0.005
CATCH_UP_S = 0.02  # targets come at 50 Hz, steps are shorter


@pytest.fixture
def follower():
    return TargetFollower(robot(), sitting_pose(robot()), catch_up_s=CATCH_UP_S)


def test_joints_hold_where_they_start(follower):
    for _ in range(10):
        assert np.array_equal(follower.step(TICK_S), sitting_pose(robot()))


ROWS = arrays(np.float64, (6, 3), elements=st.one_of(st.floats(), st.floats(-2.0, 2.0)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(ROWS, st.one_of(st.none(), ROWS)), min_size=1, max_size=4))
def test_commands_stay_within_position_and_speed_limits_for_any_targets(targets):
    made = TargetFollower(robot(), standing_joints(), catch_up_s=CATCH_UP_S)
    before = made.command
    for count, (row, velocity) in enumerate(targets):
        assert len(made.take(row, velocity, 0.02 * count) or "") < 200
        for _ in range(4):
            after = made.step(TICK_S)
            assert (after >= LIMITS[..., 0]).all() and (after <= LIMITS[..., 1]).all()
            assert (np.abs(after - before) <= SPEED_MARGIN * SPEED * CATCH_UP_S + 1e-12).all()
            before = after


@pytest.mark.parametrize("tick", [0.002, 0.005, 0.02])
def test_a_jump_of_the_targets_is_followed_at_the_maximum_speed(follower, tick):
    target = np.clip(sitting_pose(robot()) - 1.0, *np.moveaxis(LIMITS, -1, 0))
    follower.take(target, None, 0.0)
    before, steps = follower.command, []
    for _ in range(round(1.0 / tick)):
        after = follower.step(tick)
        steps.append(np.abs(after - before))
        before = after
    assert np.array_equal(before, target)
    assert (steps[0] <= SPEED_MARGIN * SPEED * max(CATCH_UP_S, tick) + 1e-12).all()
    assert (np.array(steps[1:]) <= SPEED_MARGIN * SPEED * tick + 1e-12).all()


def test_targets_that_come_at_50_hz_within_the_speed_are_followed_at_once(follower):
    target, step = sitting_pose(robot()), 0.7 * SPEED * 0.02
    for count in range(1, 5):
        row = target - count * step * np.array([0, 1, 0])
        follower.take(row, None, 0.02 * count)
        assert np.allclose(follower.step(TICK_S), row)
        for _ in range(3):
            assert np.allclose(follower.step(TICK_S), row)


def test_linear_targets_are_reached_within_one_period_in_equal_steps():
    follower = TargetFollower(robot(), standing_joints(), Interpolation.LINEAR, CATCH_UP_S)
    follower.take(standing_joints(), None, 0.0)
    follower.take(standing_joints() + 0.04, None, 0.02)
    ways = [follower.step(TICK_S)[0, 0] - standing_joints()[0, 0] for _ in range(4)]
    assert ways == pytest.approx([0.01, 0.02, 0.03, 0.04], abs=1e-6)


def test_targets_outside_the_limits_are_clamped_and_reported(follower):
    complaint = follower.take(np.full((6, 3), 3.0), None, 0.0)
    assert "outside the joint limits: clamped; does another program publish joint_targets?" in complaint
    assert (follower.target <= LIMITS[..., 1]).all()


def test_targets_that_are_not_finite_are_refused(follower):
    row = sitting_pose(robot()).copy()
    row[2, 1] = math.nan
    assert "joint_targets contains NaN or infinity: the message is ignored" in follower.take(row, None, 0.0)
    assert np.isfinite(follower.step(TICK_S)).all()
    assert np.array_equal(follower.target, sitting_pose(robot()))


def test_after_arming_the_joints_go_from_where_they_are_to_the_targets_in_a_second(follower):
    measured = sitting_pose(robot()) - 0.2
    follower.start(measured)
    follower.take(sitting_pose(robot()), None, 0.0)
    ways = []
    for _ in range(round(ARMING_RAMP_S / TICK_S)):
        ways.append(np.abs(follower.step(TICK_S) - measured).max())
    assert ways[0] < 1e-4
    assert ways[len(ways) // 2] == pytest.approx(0.1, abs=0.01)
    assert ways[-1] == pytest.approx(0.2, abs=1e-6)


def test_silence_while_moving_is_reported_once_and_silence_at_rest_is_not(follower):
    row = sitting_pose(robot())
    follower.take(row, np.zeros((6, 3)), 0.0)
    assert follower.watch(10.0) is None
    follower.take(row, np.full((6, 3), 0.5), 10.0)
    assert follower.watch(10.0 + 0.9 * TARGET_TIMEOUT_S) is None
    assert "holding the last joint angles" in str(follower.watch(10.0 + 1.1 * TARGET_TIMEOUT_S))
    assert follower.watch(11.0) is None
    follower.take(row, np.full((6, 3), 0.5), 11.0)
    assert not follower.holding


def test_first_targets_at_rest_beside_the_angles_that_were_found_are_no_motion_but_later_ones_are(follower):
    row = sitting_pose(robot())
    follower.take(row + 0.05, np.zeros((6, 3)), 0.0)
    assert follower.watch(10.0) is None
    follower.take(row, np.zeros((6, 3)), 10.0)
    assert "while moving" in str(follower.watch(10.0 + 1.1 * TARGET_TIMEOUT_S))


def test_a_pause_of_the_world_is_no_silence(follower):
    follower.take(sitting_pose(robot()), np.full((6, 3), 0.5), 0.0)
    follower.extend_watchdog(5.0)
    assert follower.watch(5.1) is None


def test_a_hold_keeps_the_commanded_pose_until_the_next_targets(follower):
    follower.take(sitting_pose(robot()) - 0.3, np.ones((6, 3)), 0.0)
    held = follower.step(TICK_S)
    follower.hold()
    for _ in range(10):
        assert np.allclose(follower.step(TICK_S), held, rtol=0.0, atol=1e-12)
    assert follower.watch(9.0) is None  # missing targets are no fault then
    follower.take(sitting_pose(robot()) - 0.3, None, 9.0)
    assert np.abs(follower.step(TICK_S) - held).max() > 0.01


def test_a_hold_during_the_ramp_moves_no_joint_back(follower):
    follower.start(sitting_pose(robot()))
    follower.take(sitting_pose(robot()) - 0.3, None, 0.0)
    for _ in range(round(0.5 * ARMING_RAMP_S / TICK_S)):
        held = follower.step(TICK_S)
    follower.hold()
    for _ in range(round(ARMING_RAMP_S / TICK_S)):
        assert np.allclose(follower.step(TICK_S), held, rtol=0.0, atol=1e-12)


def test_a_start_outside_the_joint_limits_fades_into_them(follower):
    outside = np.array(sitting_pose(robot()))
    outside[1, 1] = LIMITS[1, 1, 0] - 0.2  # [rad] below the lower limit
    follower.start(outside)
    assert np.array_equal(follower.step(0.0), outside)
    assert follower.slack[1, 1] == pytest.approx(0.2)
    for _ in range(round(3.0 / TICK_S)):
        command = follower.step(TICK_S)
    assert command[1, 1] == pytest.approx(LIMITS[1, 1, 0], abs=1e-9)
    assert not follower.slack.any()


def test_half_the_speed_share_halves_the_speed(follower):
    far = np.clip(sitting_pose(robot()) - 1.0, *np.moveaxis(LIMITS, -1, 0))
    follower.take(far, None, 0.0)
    follower.step(TICK_S)  # uses up what may be caught up
    before = follower.command
    step = np.abs(follower.step(TICK_S, 0.5) - before).max(axis=0)
    assert step == pytest.approx(0.5 * SPEED_MARGIN * SPEED.max(axis=0) * TICK_S)


def test_holding_is_timed_until_targets_come_again(follower):
    follower.take(sitting_pose(robot()), np.full((6, 3), 0.5), 0.0)
    assert follower.held_for(0.3) == 0.0
    assert follower.watch(0.3)
    assert follower.holding
    assert follower.held_for(2.3) == pytest.approx(2.0)
    follower.take(sitting_pose(robot()), None, 2.4)
    assert follower.held_for(2.5) == 0.0


def test_a_new_start_forgets_that_targets_were_moving(follower):
    follower.take(sitting_pose(robot()) - 0.1, None, 1.0)
    assert follower.watch(1.3) is not None and follower.holding
    follower.start(sitting_pose(robot()))
    assert not follower.holding
    assert follower.watch(2.0) is None
    assert follower.held_for(2.0) == 0.0
