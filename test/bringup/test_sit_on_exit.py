# SPDX-License-Identifier: Apache-2.0
"""A complete robot that is stopped, as by Ctrl-C or systemd: it sits down, then its torque is switched off."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from support.phantomx import lying, robot, standing_joints
from support.real_time.wires import START

from hexapod_control.core.kinematics.leg_kinematics import forward

pytestmark = pytest.mark.heavy


def assert_sat_down(robot_, angles, text):
    robot_.bench.until(lambda: robot_.states[-1].data in ("sitting", "unknown"), 2.0, "the last state")
    states = [state.data for state in robot_.states]
    assert np.abs(angles - lying()).max() < 0.05, (states, text)
    assert not robot_.world.torques.any()
    assert "Traceback" not in text and "ERROR" not in text, text


def test_the_robot_sits_down_before_its_torque_is_switched_off_at_the_end(launched):
    """Also half way up. The test below ends a robot that walks."""
    robot_ = launched(lying(), without="odometry")
    robot_.begin_to_stand()
    angles, text = robot_.end(signal.SIGINT)
    assert_sat_down(robot_, angles, text)
    assert robot_.process.returncode == 0, text


def test_in_one_process_a_walking_robot_sits_down_too_and_after_a_crash_the_servos_hold_unarmed(launched):
    robot_ = launched(standing_joints(), one_process="true")
    robot_.walk()
    (process,) = robot_.nodes()
    held = len(robot_.holds)
    os.kill(process, signal.SIGKILL)
    robot_.bench.until(lambda: len(robot_.holds) > held and robot_.nodes() != [process], START, "the restart")
    assert not robot_.holds[-1].data
    robot_.call("arm")
    robot_.walk()
    angles, text = robot_.end(signal.SIGINT)
    assert_sat_down(robot_, angles, text)
    assert "robot_process died with exit code -9 (SIGKILL): it starts again" in text
    assert robot_.process.returncode == 0, text


def test_a_walking_robot_sits_down_when_all_processes_are_signalled_at_once_as_by_systemd(launched):
    robot_ = launched(standing_joints())
    robot_.walk()
    assert len(robot_.nodes()) == 5
    angles, text = robot_.end(signal.SIGTERM, *robot_.nodes(), robot_.process.pid)
    assert_sat_down(robot_, angles, text)
    assert robot_.process.returncode == 0 and "died" not in text, text


def test_without_sit_on_exit_the_feet_come_down_and_the_torque_is_switched_off(launched):
    robot_ = launched(standing_joints(), sit_on_exit="false", one_process="true")
    robot_.walk()
    angles, text = robot_.end(signal.SIGTERM)
    assert robot_.height(angles) > 0.9 * robot_.height(standing_joints())
    assert np.ptp(forward(robot(), angles)[:, 2]) < 5e-3
    assert robot_.process.returncode == 0, text
    assert not robot_.world.torques.any() and "Traceback" not in text


def test_a_driver_signalled_alone_makes_the_robot_sit_down_first(launched):
    robot_ = launched(standing_joints(), without="odometry", planning="shared")
    robot_.stand()
    driver = robot_.nodes()[0]
    assert b"nodes.servo_driver" in Path(f"/proc/{driver}/cmdline").read_bytes()
    angles, text = robot_.end(signal.SIGTERM, driver)
    assert robot_.process.returncode == 1 and "servo_driver died with exit code 0" in text
    assert_sat_down(robot_, angles, text)
