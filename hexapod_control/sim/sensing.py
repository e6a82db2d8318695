"""A lock step in which the planner has senses: contact forces and a small IMU, as the nodes would hand them over."""

from __future__ import annotations

import math
from collections.abc import Callable

from hexapod_control.core.plan import Plan
from hexapod_control.core.planner import Planner
from hexapod_control.core.senses import Adaptation
from hexapod_control.sim.imu import RATE, ImuNoise
from hexapod_control.sim.lockstep import CONTROL_PERIOD, Lockstep
from hexapod_control.sim.simulation import Simulation

TILT_NOISE = math.radians(0.1)  # [rad] of roll and pitch


class Sensing(Lockstep):
    """A planner that feels its simulated feet and tilt."""

    def __init__(self, simulation: Simulation, planner: Planner, adaptation: Adaptation, seed: int = 0) -> None:
        """`seed` is that of the IMU's errors."""
        super().__init__(simulation, planner)
        planner.senses.adaptation = adaptation
        self._noise = ImuNoise(seed)

    def tick(self, observe: Callable[[Simulation], None] | None = None) -> Plan:
        """One control period, with what was sensed at its start."""
        self.sense()
        return super().tick(observe)

    def sense(self) -> None:
        """Hands the planner a sample of every sensor."""
        senses, reading = self.planner.senses, self.simulation.reading()
        senses.contacts.take(reading.foot_forces.tolist())
        turning, acceleration = self._noise.step(CONTROL_PERIOD)
        roll, pitch = tilt(self.simulation)
        wrong_roll, wrong_pitch, _ = turning / RATE * TILT_NOISE
        rest = (*(reading.angular_velocity + turning), *(reading.acceleration + acceleration))
        senses.tilt.take((roll + wrong_roll, pitch + wrong_pitch, *rest))


def tilt(simulation: Simulation) -> tuple[float, float]:
    """Roll and pitch [rad] of the body in the world."""
    rotation = simulation.data.xmat[simulation.world.base].reshape(3, 3)
    return math.atan2(rotation[2, 1], rotation[2, 2]), -math.asin(max(-1.0, min(1.0, rotation[2, 0])))
