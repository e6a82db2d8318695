"""The driver layer without ROS: speed limit, ramp after arming, latch of the emergency stop, watchdog."""

import math

import numpy as np
import pytest
from support.phantomx import robot, standing

from hexapod_control.servos.driver.setpoint_generator import (
    ARMING_RAMP,
    CATCH_UP_TIME,
    SPEED_MARGIN,
    TARGET_TIMEOUT,
    SetpointGenerator,
)
from hexapod_control.sim.start_poses import sitting

SPEED = np.array([[joint.no_load_speed for joint in leg.joints] for leg in robot().legs])
LIMITS = np.array([[(joint.lower, joint.upper) for joint in leg.joints] for leg in robot().legs])
TICK = 0.005  # [s]


@pytest.fixture
def driver():
    return SetpointGenerator(robot(), sitting(robot()))


def test_it_starts_armed_and_holds_where_it_is(driver):
    assert driver.armed
    for _ in range(10):
        assert np.array_equal(driver.step(TICK), sitting(robot()))


@pytest.mark.parametrize("tick", [0.002, 0.005, 0.02])
def test_a_jump_of_the_targets_is_followed_at_the_greatest_speed(driver, tick):
    target = np.clip(sitting(robot()) - 1.0, *np.moveaxis(LIMITS, -1, 0))
    driver.take(target, None, 0.0)
    before, steps = driver.setpoint, []
    for _ in range(round(1.0 / tick)):
        after = driver.step(tick)
        steps.append(np.abs(after - before))
        before = after
    assert np.array_equal(before, target)
    assert (steps[0] <= SPEED_MARGIN * SPEED * max(CATCH_UP_TIME, tick) + 1e-12).all()
    assert (np.array(steps[1:]) <= SPEED_MARGIN * SPEED * tick + 1e-12).all()


def test_targets_that_come_at_50_hz_within_the_speed_are_followed_at_once(driver):
    target, step = sitting(robot()), 0.7 * SPEED * 0.02
    for count in range(1, 5):
        row = target - count * step * np.array([0, 1, 0])
        driver.take(row, None, 0.02 * count)
        assert np.allclose(driver.step(TICK), row)
        for _ in range(3):
            assert np.allclose(driver.step(TICK), row)


def test_linear_targets_are_reached_within_one_period_in_equal_steps():
    driver = SetpointGenerator(robot(), standing(), "linear")
    driver.take(standing(), None, 0.0)
    driver.take(standing() + 0.04, None, 0.02)
    ways = [driver.step(TICK)[0, 0] - standing()[0, 0] for _ in range(4)]
    assert ways == pytest.approx([0.01, 0.02, 0.03, 0.04], abs=1e-6)


def test_targets_outside_the_limits_are_clamped_and_said(driver):
    sentence = driver.take(np.full((6, 3), 3.0), None, 0.0)
    assert "outside the joint limits" in sentence
    assert (driver.target <= LIMITS[..., 1]).all()


def test_targets_that_are_not_finite_are_refused(driver):
    row = sitting(robot())
    row[2, 1] = math.nan
    assert "NaN" in driver.take(row, None, 0.0)
    assert np.isfinite(driver.step(TICK)).all()
    assert np.array_equal(driver.target, sitting(robot()))


def test_the_emergency_stop_latches_until_released_reset_and_armed(driver):
    measured = sitting(robot())
    driver.press_estop()
    assert not driver.armed
    assert "latched" in driver.arm(measured)
    assert "still true" in driver.reset_fault()
    driver.release_estop()
    assert "latched" in driver.arm(measured)
    assert driver.reset_fault() == ""
    assert not driver.armed
    assert driver.arm(measured) == ""
    assert driver.armed


def test_after_arming_the_joints_go_from_where_they_are_to_the_targets_in_a_second(driver):
    driver.disarm()
    measured = sitting(robot()) - 0.2
    driver.arm(measured)
    driver.take(sitting(robot()), None, 0.0)
    ways = []
    for _ in range(round(ARMING_RAMP / TICK)):
        ways.append(np.abs(driver.step(TICK) - measured).max())
    assert ways[0] < 1e-4
    assert ways[len(ways) // 2] == pytest.approx(0.1, abs=0.01)
    assert ways[-1] == pytest.approx(0.2, abs=1e-6)


def test_silence_while_moving_is_said_once_and_silence_at_rest_is_not(driver):
    row = sitting(robot())
    driver.take(row, np.zeros((6, 3)), 0.0)
    assert driver.watch(10.0) == ""
    driver.take(row, np.full((6, 3), 0.5), 10.0)
    assert driver.watch(10.0 + 0.9 * TARGET_TIMEOUT) == ""
    assert "holding the last row" in driver.watch(10.0 + 1.1 * TARGET_TIMEOUT)
    assert driver.watch(11.0) == ""
    driver.take(row, np.full((6, 3), 0.5), 11.0)
    assert not driver.holding


def test_a_pause_of_the_world_is_no_silence(driver):
    driver.take(sitting(robot()), np.full((6, 3), 0.5), 0.0)
    driver.extend_watchdog(5.0)
    assert driver.watch(5.1) == ""
