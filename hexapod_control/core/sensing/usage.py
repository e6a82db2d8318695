# SPDX-License-Identifier: Apache-2.0
"""Usage of a robot: hours, distance, joint cycles, energy and cost of transport."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot

REVERSAL_RAD = 0.05  # of a half cycle; smaller reversals are noise
WALKING_SPEED_M_S = 0.005  # from which the robot counts as walking: above the drift of the odometry at rest
MAX_SPEED_M_S = 2.0  # faster than any robot: such motions are resets of the odometry
MAX_STEP_S = 0.5  # between samples; longer gaps do not count
HOUR_S = 3600.0


@dataclass(frozen=True, slots=True)
class Usage:
    """What one robot has done so far."""

    on_time: float = 0.0  # [s] with measured joints
    walking_time: float = 0.0  # [s]
    distance: float = 0.0  # [m] by the odometry
    energy: float = 0.0  # [J] used while the robot walked with known power ...
    energy_distance: float = 0.0  # [m] ... and the distance walked meanwhile
    lowest_voltage: float | None = None  # [V]
    cycles: tuple[float, ...] = ()  # full cycles of each joint

    def cost_of_transport(self, mass: float) -> float | None:
        """Returns the energy per mass and distance [J/(kg m)] of a robot with a mass [kg]; None if unknown."""
        return self.energy / (mass * self.energy_distance) if self.energy_distance > 0.0 else None

    def status(self, mass: float, joints: Sequence[str]) -> Mapping[str, object]:
        """Returns keys and values for /diagnostics; `mass` [kg] of the robot, and names of its joints."""
        cost = self.cost_of_transport(mass)
        volts = self.lowest_voltage
        cycles, joint = max(zip(self.cycles, joints, strict=False), default=(0.0, "none"))
        return {
            "hours on": f"{self.on_time / HOUR_S:.2f}",
            "hours walking": f"{self.walking_time / HOUR_S:.2f}",
            "distance [m]": f"{self.distance:.1f}",
            "most cycles": f"{cycles:.0f} {joint}",
            "cycles": " ".join(f"{count:.0f}" for count in self.cycles) or "none",
            "lowest voltage [V]": "unknown" if volts is None else f"{volts:.2f}",
            "cost of transport [J/(kg m)]": "unknown" if cost is None else f"{cost:.1f}",
        }


class UsageMeter:
    """Accumulates the usage of a robot."""

    def __init__(self, robot: Robot, usage: Usage | None = None) -> None:
        """Continues from a usage; its cycles are discarded if they are for another number of joints."""
        count = 3 * len(robot.legs)
        usage = usage or Usage()
        same = len(usage.cycles) == count
        self.usage = usage if same else replace(usage, cycles=(0.0,) * count)
        self._turning: Array | None = None  # [rad] extreme of each joint since its last reversal
        self._direction: Array = np.zeros(count)  # of the rotation of each joint: 1 or -1; 0: unknown
        self._last: Array | None = None  # [rad]

    def voltage(self, volts: float) -> None:
        """Processes the voltage [V] of the supply."""
        lowest = self.usage.lowest_voltage
        if lowest is None or volts < lowest:
            self.usage = replace(self.usage, lowest_voltage=volts)

    def step(
        self, dt: float, joints: Array, moved: float, power: float | None = None, torques: Array | None = None
    ) -> None:
        """Processes measured joints (n, 3) [rad] `dt` [s] after the last ones, and how far the robot has moved [m].

        `power` [W] of the supply; without it, the work is computed from the servo torques (n, 3) [N m].
        """
        angles = np.ravel(joints)
        last = self._last
        self._last = angles
        if last is None or not 0.0 < dt < MAX_STEP_S:
            return
        usage = self.usage
        walks = WALKING_SPEED_M_S * dt < moved < MAX_SPEED_M_S * dt
        if power is None and torques is not None:
            power = float(np.maximum(np.ravel(torques) * (angles - last), 0.0).sum()) / dt
        known = walks and power is not None
        self.usage = replace(
            usage,
            on_time=usage.on_time + dt,
            walking_time=usage.walking_time + dt * walks,
            distance=usage.distance + moved * walks,
            energy=usage.energy + (power * dt if known and power is not None else 0.0),
            energy_distance=usage.energy_distance + moved * known,
            cycles=self._counted(angles),
        )

    def _counted(self, angles: Array) -> tuple[float, ...]:
        """Returns the cycles of all joints after a sample of their angles [rad]: a reversal is half a cycle."""
        if self._turning is None:
            self._turning = angles.copy()
        change = angles - self._turning
        onwards = self._direction * change > 0.0
        turned = ~onwards & (np.abs(change) > REVERSAL_RAD)
        self._turning = np.where(onwards | turned, angles, self._turning)
        known = self._direction != 0.0
        self._direction = np.where(turned, np.sign(change), self._direction)
        if not (turned & known).any():
            return self.usage.cycles
        return tuple(
            count + 0.5 * bool(reversed_now)
            for count, reversed_now in zip(self.usage.cycles, turned & known, strict=True)
        )
