# SPDX-License-Identifier: Apache-2.0
"""The last limit before the servos: no joint is commanded faster than it can turn, and none jumps to its setpoint."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.phantomx import LIMITS, lying, robot

from hexapod_control.servos.driver.target_follower import CommandLimiter

SPEED = LIMITS[..., 2]  # [rad/s] no-load
TICK_S, SECOND = 0.02, 1.0  # [s]


@given(st.lists(st.tuples(st.floats(0.001, 0.3), st.integers(0, 17), st.floats(-3, 3)), min_size=1, max_size=40))
def test_no_setpoint_makes_a_joint_faster_than_it_can_turn(steps):
    limiter = CommandLimiter(robot(), lying())
    limiter.start(lying() + 0.3, lying())
    setpoint = np.array(lying())
    for dt, index, angle in steps:
        setpoint[divmod(index, 3)] = angle
        before = limiter.command
        step = np.abs(limiter.step(setpoint, dt) - before)
        assert (step <= 1.05 * SPEED * dt + 1e-12).all()  # protects the gears


@pytest.mark.parametrize("offset", [-0.5, 0.05])
def test_a_returning_joint_fades_to_its_setpoint_in_a_second(offset):
    limiter = CommandLimiter(robot(), lying())
    limiter.rejoin(4, lying()[1, 1] + offset, lying())
    left = [(limiter.step(lying(), TICK_S)[1, 1] - lying()[1, 1]) / offset for _ in range(round(SECOND / TICK_S))]
    assert left[0] == pytest.approx(1.0, abs=0.02)
    assert left[len(left) // 2] == pytest.approx(0.5, abs=0.1)
    assert left[-2] > 0.0  # not before a second has passed
    assert left[-1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("offset", [0.01, 0.3, 1.0, 2.5])
def test_joints_found_away_from_their_setpoints_take_a_second_at_least_and_a_share_of_their_speed_at_most(offset):
    """At any distance: small ones are not abrupt, large ones not fast."""
    limiter = CommandLimiter(robot(), lying())
    limiter.start(lying() + offset, lying())
    commands = [lying() + offset]
    while np.abs(commands[-1] - lying()).max() > 1e-12 and len(commands) < 2000:
        commands.append(limiter.step(lying(), TICK_S))
    assert (len(commands) - 1) * TICK_S >= SECOND - 1e-9
    speeds = np.abs(np.diff(commands, axis=0)) / TICK_S
    assert (speeds <= 0.3 * SPEED * (1.0 + 1e-6)).all()


def test_a_start_repeats_where_the_joints_are():
    limiter = CommandLimiter(robot(), lying())
    limiter.start(lying() - 0.2, lying())
    assert np.array_equal(limiter.command, lying() - 0.2)
    assert limiter.slack == pytest.approx(np.full((6, 3), 0.2))
    assert limiter.reached == pytest.approx(lying())


def test_a_long_pause_is_not_caught_up():
    limiter = CommandLimiter(robot(), lying())
    step = np.abs(limiter.step(lying() - 2.0, 5.0) - lying())
    assert step == pytest.approx(np.minimum(1.05 * SPEED * 0.1, 2.0))


@pytest.mark.parametrize("share", [1.0, 0.5])
def test_a_share_of_the_speed_limits_every_joint_in_proportion(share):
    limiter = CommandLimiter(robot(), lying())
    step = np.abs(limiter.step(lying() - 2.0, TICK_S, share) - lying())
    assert step == pytest.approx(1.05 * SPEED * TICK_S * share)
