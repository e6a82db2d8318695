# SPDX-License-Identifier: Apache-2.0
"""Runs planner and physics in lock step, with contact forces and IMU as inputs of the planner.

Contact forces are measured at the feet, or estimated from servo loads as in servo_driver.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import TickPlan
from hexapod_control.core.sensing.foot_force_estimator import FootForceEstimator
from hexapod_control.core.sensing.sensor_inputs import Adaptation
from hexapod_control.evaluation.lockstep import CONTROL_PERIOD_S, Lockstep, planar_pose
from hexapod_control.sim.simulation import RATE_NOISE_RAD_S, ImuNoise, Simulation, SimulationReading

ALL_SENSORS = ("imu", "joints", "contacts")
TILT_NOISE_RAD = math.radians(0.1)  # [rad] of roll and pitch
# Units of the AX-12A, the coarsest of the servos that report a load (ROBOTIS e-Manual).
POSITION_UNIT_RAD = math.radians(300.0 / 1023.0)  # [rad]
SPEED_UNIT_RAD_S = 0.111 * math.tau / 60.0  # [rad/s]
LOAD_UNIT_SHARE = 1.0 / 1023.0  # of the stall torque


class SensingLockstep(Lockstep):
    """A lock step whose planner receives contact forces, tilt and measured joints."""

    def __init__(self, simulation: Simulation, planner: Planner, adaptation: Adaptation, seed: int = 0) -> None:
        """`seed` determines the errors of the IMU."""
        super().__init__(simulation, planner)
        planner.sensors.adaptation = adaptation
        self._noise = ImuNoise(seed)
        self.sensors: tuple[str, ...] = ALL_SENSORS

    def tick(self, observe: Callable[[Simulation], None] | None = None) -> TickPlan:
        """Runs one control period with the sensor values at its start."""
        self.sense()
        return super().tick(observe)

    def sense(self) -> None:
        """Passes one sample of every sensor to the planner."""
        senses = self.planner.sensors
        reading = self.simulation.reading()
        forces = self.foot_forces(reading)
        if forces is not None and "contacts" in self.sensors:
            senses.contacts.take(forces.tolist())
        turning, acceleration = self._noise.step(CONTROL_PERIOD_S)
        roll, pitch = tilt(self.simulation)
        wrong_roll, wrong_pitch, _ = turning / RATE_NOISE_RAD_S * TILT_NOISE_RAD
        rates = reading.angular_velocity + turning
        accelerations = reading.acceleration + acceleration
        heading = planar_pose(self.simulation).yaw + self._noise.heading
        measured = (roll + wrong_roll, pitch + wrong_pitch)
        if "imu" in self.sensors:
            senses.imu.take_reading(measured, rates.tolist(), accelerations.tolist(), heading)
        if "joints" in self.sensors:
            senses.joints.take(reading.joints.ravel().tolist())

    def foot_forces(self, reading: SimulationReading) -> Array | None:
        """Returns the contact forces (n,) [N] on the feet; None if unknown."""
        return reading.foot_forces


class ServoSensingLockstep(SensingLockstep):
    """A lock step whose planner receives contact forces estimated from servo loads."""

    def __init__(self, simulation: Simulation, planner: Planner, adaptation: Adaptation, seed: int = 0) -> None:
        """As SensingLockstep."""
        super().__init__(simulation, planner, adaptation, seed)
        self.loads = FootForceEstimator(simulation.robot)

    def foot_forces(self, reading: SimulationReading) -> Array | None:
        """Returns contact forces estimated from the loads of the servos, with their resolution."""
        joints = _quantised(reading.joints, POSITION_UNIT_RAD)
        speeds = _quantised(reading.joint_velocity, SPEED_UNIT_RAD_S)
        torques = _quantised(reading.joint_torque, LOAD_UNIT_SHARE * self.simulation.world.stall_torque)
        return self.loads.update(joints, speeds, torques, np.full_like(joints, reading.time))


def _quantised(values: Array, unit: float | Array) -> Array:
    """Rounds values to multiples of a unit."""
    rounded: Array = np.round(values / unit) * unit
    return rounded


def tilt(simulation: Simulation) -> tuple[float, float]:
    """Returns the true roll and pitch [rad] of the body."""
    rotation = simulation.data.xmat[simulation.world.base].reshape(3, 3)
    return math.atan2(rotation[2, 1], rotation[2, 2]), -math.asin(max(-1.0, min(1.0, rotation[2, 0])))
