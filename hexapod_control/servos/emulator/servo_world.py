# SPDX-License-Identifier: Apache-2.0
"""State of the servos behind an emulated bus, in raw units, by index in row order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Protocol

import numpy as np

from hexapod_control.servos.bus.bus_interface import OFF_FAULTS, RawScale, ServoFault

# of servos without a fault
VOLTS = 11.1
TEMPERATURE_DEGC = 35.0
MIN_VOLTS = 6.0  # below which servos do not answer


class ServoWorld(Protocol):
    """Servos that a device moves and reads. Positions are raw units of `scale`."""

    scale: RawScale
    count: int

    def step(self, now: float) -> None:
        """Advances to a steady time [s]; earlier times are ignored."""

    def goal(self, index: int, raw: float, duration: float) -> None:
        """Moves a servo to a position [raw] within `duration` [s]; 0 s is maximum speed."""

    def torque(self, index: int, on: bool) -> None:
        """Switches the torque; a latched fault keeps it off."""

    def has_torque(self, index: int) -> bool:
        """Whether the servo has torque."""

    def answers(self, index: int) -> int:
        """Number of servos that respond to this id: 0 if unplugged or without power, 1, or 2 for a duplicate id."""

    def position(self, index: int) -> float:
        """Position [raw]."""

    def target(self, index: int) -> float:
        """Last goal [raw]; the present position before the first."""

    def speed(self, index: int) -> float:
        """Speed [raw/s]."""

    def load(self, index: int) -> float:
        """Share of its full torque, -1 to 1, + towards growing positions."""

    def voltage(self, index: int) -> float:
        """Supply voltage [V]."""

    def current(self) -> float:
        """Supply current of all servos [A]."""

    def temperature(self, index: int) -> float:
        """Temperature [degC]."""

    def fault(self, index: int) -> ServoFault:
        """Faults that it reports."""

    def reboot(self, index: int) -> None:
        """Clears latched faults; the torque stays off."""

    def power_cycles(self, index: int) -> int:
        """Number of times that the servo has been without power."""


def supply_current(loads: Iterable[float]) -> float:
    """Current [A] of servos with torque and these shares of full load: 0.05 A each, and 1 A more at full load."""
    return sum(0.05 + abs(load) for load in loads)


class LagWorld:
    """Servos with a first-order lag and a maximum speed, integrated exactly; all other state is set by the caller."""

    def __init__(
        self,
        scale: RawScale,
        count: int = 18,
        *,
        positions: Iterable[float] | None = None,
        lag: float = 0.02,
        speed: float = 6.0,
        voltage: float = VOLTS,
    ) -> None:
        """Time constant `lag` [s], no-load `speed` [rad/s], positions [raw] (default: all centered), `voltage` [V]."""
        self.scale = scale
        self.count = count
        self._lag = lag
        self._fastest = speed * scale.per_rad
        start = [float(scale.center)] * count if positions is None else list(positions)
        self.positions = np.array(start, dtype=float)
        self.goals = self.positions.copy()
        self.limits = np.full(count, self._fastest)  # [raw/s] speed limits of the present moves
        self.speeds = np.zeros(count)  # [raw/s]
        self.torques = np.zeros(count, dtype=bool)
        self.voltages = np.full(count, voltage)
        self.temperatures = np.full(count, TEMPERATURE_DEGC)
        self.loads = np.zeros(count)  # set from outside, added to the load from the position error
        self.faults = [ServoFault.NONE] * count
        self.plugs = [1] * count  # servos that respond to each id
        self.restarts = [0] * count  # times that a servo got its power back
        self._now = math.nan

    # --- for the device -----------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Advances time."""
        dt = now - self._now
        if not dt > 0.0:
            self._now = now if math.isnan(self._now) else self._now
            return
        self._now = now
        error = np.where(self.torques, self.goals - self.positions, 0.0)
        # the speed limit applies beyond `bend`
        size = np.abs(error)
        bend = self.limits * self._lag
        cruise = np.minimum(np.maximum(size - bend, 0.0) / np.maximum(self.limits, 1e-9), dt)
        left = (size - cruise * self.limits) * np.exp(-(dt - cruise) / self._lag)
        moved = np.sign(error) * (size - left)
        self.positions += moved
        self.speeds = np.sign(error) * np.minimum(left / self._lag, self.limits)

    def goal(self, index: int, raw: float, duration: float) -> None:
        """Sets a goal."""
        if not self.plugs[index]:
            return
        self.goals[index] = raw
        distance = abs(raw - self.positions[index])
        self.limits[index] = min(self._fastest, distance / duration) if duration > 0.0 else self._fastest

    def torque(self, index: int, on: bool) -> None:
        """Switches the torque."""
        if not self.plugs[index]:
            return
        if on and not self.torques[index] and math.isnan(self.goals[index]):
            self.goals[index] = self.positions[index]
        self.torques[index] = on and not self.faults[index] & OFF_FAULTS

    def has_torque(self, index: int) -> bool:
        """Whether the servo has torque."""
        return bool(self.torques[index])

    def answers(self, index: int) -> int:
        """Number of servos that respond to this id."""
        return self.plugs[index]

    def position(self, index: int) -> float:
        """Present position [raw]."""
        return float(self.positions[index])

    def target(self, index: int) -> float:
        """Last goal [raw]."""
        goal = float(self.goals[index])
        return self.position(index) if math.isnan(goal) else goal

    def speed(self, index: int) -> float:
        """Present speed [raw/s]."""
        return float(self.speeds[index])

    def load(self, index: int) -> float:
        """Share of the full load, -1 to 1: full at a position error of 0.05 rad; plus `loads`."""
        error = self.target(index) - self.position(index) if self.torques[index] else 0.0
        load = error / (0.05 * self.scale.per_rad) + float(self.loads[index])
        return min(max(load, -1.0), 1.0)

    def voltage(self, index: int) -> float:
        """Supply voltage [V]."""
        return float(self.voltages[index])

    def current(self) -> float:
        """Supply current [A]."""
        return supply_current(self.load(i) for i in range(self.count) if self.torques[i])

    def temperature(self, index: int) -> float:
        """Temperature [degC]."""
        return float(self.temperatures[index])

    def fault(self, index: int) -> ServoFault:
        """Present faults."""
        return self.faults[index]

    def reboot(self, index: int) -> None:
        """Clears latched faults; the torque stays off."""
        if self.plugs[index]:
            self.faults[index] = ServoFault.NONE
            self.torques[index] = False

    def power_cycles(self, index: int) -> int:
        """Number of times that the servo has been without power."""
        return self.restarts[index]

    # --- faults -----------------------------------------------------------------

    def latch(self, index: int, fault: ServoFault) -> None:
        """Latches a fault, which switches the servo off until it is rebooted."""
        self.faults[index] |= fault
        if fault & OFF_FAULTS:
            self.torques[index] = False

    def unplug(self, *indices: int) -> None:
        """Unplugs servos: silent and without torque."""
        for i in indices:
            self.plugs[i] = 0
            self.torques[i] = False

    def plug(self, *indices: int) -> None:
        """Plugs servos in again: no torque, no goal, no fault."""
        for i in indices:
            self.plugs[i] = 1
            self.torques[i] = False
            self.faults[i] = ServoFault.NONE
            self.goals[i] = self.positions[i]
            self.restarts[i] += 1

    def duplicate_id(self, index: int) -> None:
        """Adds a second servo with the id of this one."""
        self.plugs[index] = 2

    def power(self, volts: float) -> None:
        """Sets the supply of all servos [V]; below MIN_VOLTS they do not answer (brown-out)."""
        self.voltages[:] = volts
        for i in range(self.count):
            if volts < MIN_VOLTS and self.plugs[i]:
                self.unplug(i)
            elif volts >= MIN_VOLTS and not self.plugs[i]:
                self.plug(i)
