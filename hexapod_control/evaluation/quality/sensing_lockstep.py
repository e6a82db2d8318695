"""A lock step in which the planner has senses: contact forces and a small IMU, as the nodes would hand them over.

Contact forces are measured at the feet, or found from what the servos tell, as servo_driver does.
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
from hexapod_control.evaluation.quality.lockstep import CONTROL_PERIOD, Lockstep
from hexapod_control.sim.imu_noise import RATE, ImuNoise
from hexapod_control.sim.simulation import Simulation, SimulationReading

TILT_NOISE = math.radians(0.1)  # [rad] of roll and pitch
# Units of the AX-12A, whose registers are the coarsest of those that tell a load (ROBOTIS e-Manual).
POSITION_UNIT = math.radians(300.0 / 1023.0)  # [rad]
SPEED_UNIT = 0.111 * math.tau / 60.0  # [rad/s]
LOAD_UNIT = 1.0 / 1023.0  # of the stall torque


class SensingLockstep(Lockstep):
    """A planner that feels its simulated feet and tilt."""

    def __init__(self, simulation: Simulation, planner: Planner, adaptation: Adaptation, seed: int = 0) -> None:
        """`seed` is that of the IMU's errors."""
        super().__init__(simulation, planner)
        planner.sensors.adaptation = adaptation
        self._noise = ImuNoise(seed)

    def tick(self, observe: Callable[[Simulation], None] | None = None) -> TickPlan:
        """One control period, with what was sensed at its start."""
        self.sense()
        return super().tick(observe)

    def sense(self) -> None:
        """Hands the planner a sample of every sensor."""
        senses, reading = self.planner.sensors, self.simulation.reading()
        forces = self.foot_forces(reading)
        if forces is not None:
            senses.contacts.take(forces.tolist())
        turning, acceleration = self._noise.step(CONTROL_PERIOD)
        roll, pitch = tilt(self.simulation)
        wrong_roll, wrong_pitch, _ = turning / RATE * TILT_NOISE
        rest = (*(reading.angular_velocity + turning), *(reading.acceleration + acceleration))
        senses.tilt.take((roll + wrong_roll, pitch + wrong_pitch, *rest))

    def foot_forces(self, reading: SimulationReading) -> Array | None:
        """What is known of the forces (n,) [N] on the feet."""
        return reading.foot_forces


class ServoSensingLockstep(SensingLockstep):
    """A planner that feels its feet by the loads of its servos."""

    def __init__(self, simulation: Simulation, planner: Planner, adaptation: Adaptation, seed: int = 0) -> None:
        """As Sensing."""
        super().__init__(simulation, planner, adaptation, seed)
        self.loads = FootForceEstimator(simulation.robot)

    def foot_forces(self, reading: SimulationReading) -> Array | None:
        """What is found from the servos."""
        joints, speeds = _told(reading.joints, POSITION_UNIT), _told(reading.joint_velocity, SPEED_UNIT)
        torques = _told(reading.joint_torque, LOAD_UNIT * self.simulation.world.stall_torque)
        return self.loads.update(joints, speeds, torques, np.full_like(joints, reading.time))


def _told(values: Array, unit: float | Array) -> Array:
    """Values in whole units."""
    rounded: Array = np.round(values / unit) * unit
    return rounded


def tilt(simulation: Simulation) -> tuple[float, float]:
    """Roll and pitch [rad] of the body in the world."""
    rotation = simulation.data.xmat[simulation.world.base].reshape(3, 3)
    return math.atan2(rotation[2, 1], rotation[2, 2]), -math.asin(max(-1.0, min(1.0, rotation[2, 0])))
