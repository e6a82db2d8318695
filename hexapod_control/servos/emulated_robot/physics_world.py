# SPDX-License-Identifier: Apache-2.0
"""Emulated servos that drive the joints of a simulated robot.

The lag of the servos is in the physics; this file computes only their motion profiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault
from hexapod_control.servos.emulator.servo_world import TEMPERATURE_DEGC, VOLTS, supply_current
from hexapod_control.servos.settings.joint_calibration import JointCalibration


class SimulatedRobot(Protocol):
    """A simulated robot: state and torque of its servos (k,), those of the legs before those of extra joints."""

    @property
    def servo_angles(self) -> Array:
        """Angles (k,) [rad]."""

    @property
    def servo_speeds(self) -> Array:
        """Speeds (k,) [rad/s]."""

    @property
    def servo_efforts(self) -> Array:
        """Torques (k,) as shares of the full torque."""

    @property
    def supply_share(self) -> float:
        """Supply voltage under load, as a share of that without."""

    @property
    def temperature_rise(self) -> Array:
        """Temperatures of the servos of the legs above the air (n, 3) [K]."""

    def hold(self, on: NDArray[np.bool_]) -> None:
        """Switches the torque of the servos (k,) on or off."""


class PhysicsWorld:
    """A ServoWorld whose servos are the joints of a simulated robot."""

    def __init__(
        self,
        calibrations: Sequence[JointCalibration],
        scale: RawScale,
        body: Callable[[], SimulatedRobot],
        advance: Callable[[float], None],
    ) -> None:
        """`body` returns the present simulated robot; `advance` runs the physics to a steady time [s]."""
        self.scale = scale
        self.count = len(calibrations)
        self._joints = tuple(calibrations)
        self._body = body
        self._advance = advance
        self.torques = np.zeros(self.count, dtype=bool)
        self._references = body().servo_angles  # [rad] present references of the profiles
        self._goals = self._references.copy()  # [rad]
        self._left = np.zeros(self.count)  # [s] until the goals are reached
        self._sample()

    def _sample(self) -> None:
        """Samples the state of the body once for all servos."""
        body = self._body()
        self._angles: list[float] = body.servo_angles.tolist()
        self._speeds: list[float] = body.servo_speeds.tolist()
        self._loads: list[float] = body.servo_efforts.tolist()

    # --- for the physics ----------------------------------------------------------------------------

    @property
    def references(self) -> Array:
        """Present references of the servos (k,) [rad]."""
        return self._references.copy()

    def reference(self, dt: float) -> Array:
        """References (k,) [rad] `dt` [s] later; those of servos without torque follow the joints."""
        part = np.where(self._left > dt, dt / np.maximum(self._left, 1e-9), 1.0)
        moved = self._references + part * (self._goals - self._references)
        self._left = np.maximum(self._left - dt, 0.0)
        self._references = np.where(self.torques, moved, self._body().servo_angles)
        return self.references

    def engage(self) -> None:
        """Applies the torque state to the body's servos; call it after the body was replaced."""
        self._body().hold(self.torques)

    # --- for the device -----------------------------------------------------------------------------

    def step(self, now: float) -> None:
        """Advances to a steady time [s]."""
        self._advance(now)
        self._sample()

    def goal(self, index: int, raw: float, duration: float) -> None:
        """Sets a goal [raw], to be reached in `duration` [s]."""
        self._goals[index] = self._joints[index].angle(raw)
        self._left[index] = duration

    def torque(self, index: int, on: bool) -> None:
        """Switches the torque; the reference starts at the present position."""
        if on == self.torques[index]:
            return
        self.torques[index] = on
        self._references[index] = self._body().servo_angles[index]
        self.engage()

    def has_torque(self, index: int) -> bool:
        """Whether the servo has torque."""
        return bool(self.torques[index])

    def answers(self, index: int) -> int:
        """Always 1: all servos are present."""
        return 1

    def position(self, index: int) -> float:
        """Present position [raw]."""
        return self._joints[index].raw(self._angles[index])

    def target(self, index: int) -> float:
        """Last goal [raw]."""
        return self._joints[index].raw(float(self._goals[index]))

    def speed(self, index: int) -> float:
        """Present speed [raw/s]."""
        joint, angle = self._joints[index], self._angles[index]
        units = joint.units_per_rad if angle >= joint.q_center + joint.trim else joint.units_per_rad_neg
        return joint.direction * units * self._speeds[index]

    def load(self, index: int) -> float:
        """Share of the full torque."""
        return self._joints[index].direction * self._loads[index]

    def voltage(self, index: int) -> float:
        """Supply voltage [V]."""
        return VOLTS * self._body().supply_share

    def current(self) -> float:
        """Supply current [A]."""
        return supply_current(load for load, on in zip(self._loads, self.torques, strict=True) if on)

    def temperature(self, index: int) -> float:
        """Temperature [degC]."""
        temperature_rise = self._body().temperature_rise
        return TEMPERATURE_DEGC + (float(temperature_rise.flat[index]) if index < temperature_rise.size else 0.0)

    def fault(self, index: int) -> ServoFault:
        """Never a fault."""
        return ServoFault.NONE

    def reboot(self, index: int) -> None:
        """Switches the torque off; there is no fault to clear."""
        self.torque(index, False)

    def power_cycles(self, index: int) -> int:
        """Always 0: the power stays on."""
        return 0
