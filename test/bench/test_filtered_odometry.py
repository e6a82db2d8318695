# SPDX-License-Identifier: Apache-2.0
"""config/robot_localization.yaml in physics: the uncertainty of the filtered odometry is that of its errors.

The filter is robot_localization's EKF for the states that it uses here: pose in the plane, and its velocity.
"""

import math
from functools import cache

import numpy as np
import pytest
from odometry_drift import SimulatedOdometry, random_drive
from support.drives import robot_and_urdf
from support.parameter_files import sections
from support.suite.soak import SOAK

from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.se2 import wrap
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, planar_pose, standing_lockstep
from hexapod_control.nodes.odometry.odometry import MIN_VARIANCE
from hexapod_control.ros.messages import IMU_VARIANCE
from hexapod_control.sim.simulation import ImuNoise
from hexapod_control.sim.world_settings import WorldSettings

pytestmark = pytest.mark.physics

STATES = (0, 1, 5, 6, 7, 11)  # x, y, yaw, their velocities, among the 15 of robot_localization
DRIVES = range(10) if SOAK else range(1)
DRIVE_S, WINDOW_S = (60.0, 60.0) if SOAK else (20.0, 5.0)
FACTOR = 3.0  # between an uncertainty and the root mean square of the errors


class Ekf:
    """Pose and velocity in the plane, predicted with the process noise of the parameter file."""

    def __init__(self):
        noise = np.array(
            sections(share("config", "robot_localization.yaml").read_text())["ekf_filter_node"][
                "process_noise_covariance"
            ]
        ).reshape(15, 15)
        self._noise = noise[np.ix_(STATES, STATES)]
        self.state, self.covariance = np.zeros(6), 1e-9 * np.eye(6)

    def predict(self, dt):
        c, s = math.cos(self.state[2]), math.sin(self.state[2])
        vx, vy = self.state[3:5]
        motion = np.eye(6)
        motion[:3, 3:] = dt * np.array(((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)))
        slope = motion.copy()
        slope[:2, 2] = dt * (-s * vx - c * vy), dt * (c * vx - s * vy)
        self.state = motion @ self.state
        self.covariance = slope @ self.covariance @ slope.T + dt * self._noise

    def correct(self, first, values, variances):
        """Takes measurements of consecutive states."""
        row = np.eye(6)[first : first + len(values)]
        gain = self.covariance @ row.T @ np.linalg.inv(row @ self.covariance @ row.T + np.diag(variances))
        self.state = self.state + gain @ (np.array(values) - row @ self.state)
        rest = np.eye(6) - gain @ row
        self.covariance = rest @ self.covariance @ rest.T + gain @ np.diag(variances) @ gain.T


@cache
def windows():
    """Errors (k, 3) of x, y, yaw at the ends of windows, their standard deviations (k, 3), and errors of yaw rates."""
    errors, deviations, rates = [], [], []
    robot, text = robot_and_urdf()
    for seed in DRIVES:
        lockstep = standing_lockstep(robot, text, WorldSettings(seed=seed))
        simulation, legs, imu = lockstep.simulation, SimulatedOdometry(robot, "legs", seed), ImuNoise(seed)
        ekf, start, ticks = Ekf(), planar_pose(simulation), 0
        for twist, seconds in random_drive(seed, DRIVE_S):
            for _ in range(round(seconds / CONTROL_PERIOD_S)):
                lockstep.planner.command(twist)
                legs.update(simulation, lockstep.tick().support.tolist())
                rate = simulation.inertial().angular_velocity[2] + imu.step(CONTROL_PERIOD_S)[0][2]
                rates.append(rate - simulation.reading().angular_velocity[2])
                ekf.predict(CONTROL_PERIOD_S)
                ekf.correct(3, legs.odometry.twist, np.diag(legs.odometry.twist_covariance) + MIN_VARIANCE)
                ekf.correct(5, [rate], [IMU_VARIANCE])
                ticks += 1
                if ticks % round(WINDOW_S / CONTROL_PERIOD_S) == 0:
                    x, y, yaw = start.inverse() @ planar_pose(simulation)
                    errors.append((ekf.state[0] - x, ekf.state[1] - y, wrap(ekf.state[2] - yaw)))
                    deviations.append(np.sqrt(np.diag(ekf.covariance))[:3])
                    ekf, start = Ekf(), planar_pose(simulation)
    return np.array(errors), np.array(deviations), np.array(rates)


def test_soak_of_the_uncertainty_being_that_of_the_errors():
    errors, deviations, _ = windows()
    assert len(errors) == len(DRIVES) * round(DRIVE_S / WINDOW_S)
    ratio = np.sqrt((deviations**2).mean(axis=0) / (errors**2).mean(axis=0))
    assert (ratio > 1.0 / FACTOR).all() and (ratio < FACTOR).all(), ratio


def test_the_yaw_rate_of_the_imu_has_the_uncertainty_of_its_error_while_the_robot_walks():
    """Against the rate at its stamp: it is the mean of a period in which the body sways over its steps."""
    _, _, errors = windows()
    assert math.sqrt(IMU_VARIANCE) / FACTOR < np.sqrt((errors**2).mean()) < math.sqrt(IMU_VARIANCE) * FACTOR


def test_filtered_odometry_stays_with_the_robot():
    errors, _, _ = windows()
    assert np.abs(errors[:, :2]).max() < 0.05
    assert np.abs(errors[:, 2]).max() < 0.05
