# SPDX-License-Identifier: Apache-2.0
"""Which velocity commands are accepted: finite, timely, in order; without ROS."""

import math

import pytest

from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.nodes.gait_planner.velocity_filter import VelocityFilter

TIMEOUT_S = 0.5
STILL = (0.0, 0.0, 0.0)


FIELDS = ("linear.x", "linear.y", "angular.z", "linear.z", "angular.x", "angular.y")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("field", range(6))
def test_a_number_that_is_not_finite_is_refused_and_does_not_refresh_the_timer(bad, field):
    command = VelocityFilter(TIMEOUT_S)
    assert command.offer(Twist(0.1, 0.0, 0.0), STILL, None, 0.0, 0.0).accepted
    values = [0.1] * 6
    values[field] = bad
    verdict = command.offer(Twist(*values[:3]), tuple(values[3:]), None, 0.0, 0.4)
    assert not verdict.accepted
    assert f"{FIELDS[field]} is {bad}: refused; send finite numbers" == str(verdict.report)
    assert not command.expire(0.49)
    assert command.expire(0.51)


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324, 1e-310])
def test_extreme_finite_values_are_clamped_so_that_their_squares_are_finite(value):
    command = VelocityFilter(TIMEOUT_S)
    assert command.offer(Twist(value, value, 0.0), STILL, None, 0.0, 0.0).accepted
    assert max(map(abs, command.twist)) <= 100.0
    assert command.twist.vx == command.twist.vy


@pytest.mark.parametrize(
    ("stamp", "accepted", "reason"),
    [
        (90.0, False, "the stamp is 10 s old, more than cmd_vel_timeout 0.5 s: refused; "),
        (99.4, False, "0.6 s old"),
        (99.6, True, ""),
        (100.15, True, ""),
        (100.25, False, "s in the future"),
        (100.3, False, "0.3 s in the future: refused; synchronise the clocks"),
        (3700.0, False, "3.6e+03 s in the future"),
        (0.0, True, "the stamp is zero: accepted, but only its arrival time is checked"),
    ],
)
def test_stamps_are_compared_with_the_clock(stamp, accepted, reason):
    verdict = VelocityFilter(TIMEOUT_S).offer(Twist(0.1, 0.0, 0.0), STILL, stamp, 100.0, 5.0)
    assert verdict.accepted is accepted
    assert reason in str(verdict.report)


def test_the_age_of_a_stamp_counts_against_the_timeout():
    command = VelocityFilter(TIMEOUT_S)
    assert command.offer(Twist(0.1, 0.0, 0.0), STILL, 99.7, 100.0, 5.0).accepted
    assert command.expire(5.19) is False
    assert command.expire(5.21) is True
    assert command.expire(5.22) is False


def test_of_commands_out_of_order_the_newest_counts():
    command = VelocityFilter(TIMEOUT_S)
    assert command.offer(Twist(0.1, 0.0, 0.0), STILL, 100.0, 100.0, 5.0).accepted
    late = command.offer(Twist(0.2, 0.0, 0.0), STILL, 99.9, 100.0, 5.0)
    assert not late.accepted and "older than the newest: dropped; send in order" in str(late.report)
    assert command.offer(Twist(0.3, 0.0, 0.0), STILL, 100.0, 100.0, 5.0).accepted
    assert command.twist.vx == 0.3


@pytest.mark.parametrize("jump", [-100.0, 1000.0])
def test_a_jump_of_the_clock_does_not_block_commands(jump):
    command = VelocityFilter(TIMEOUT_S)
    for tick in range(10):
        now = 1000.0 + 0.05 * tick + (jump if tick >= 5 else 0.0)
        assert command.offer(Twist(0.1, 0.0, 0.0), STILL, now, now, 0.05 * tick).accepted
        assert not command.expire(0.05 * tick + 0.04)


def test_after_a_stop_before_any_command_the_first_one_counts():
    command = VelocityFilter(TIMEOUT_S)
    command.block()
    assert command.offer(Twist(0.1, 0.0, 0.0), STILL, None, 0.0, 0.1).accepted
