# SPDX-License-Identifier: Apache-2.0
"""The emulated sensors of the section `io` of a robot file: they measure an emulated robot on flat ground."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hexapod_control.core.reality import Reality
from hexapod_control.core.robot import Vector
from hexapod_control.core.sensing.imu_estimator import from_roll_pitch_yaw, inverse, product, rotated
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.servos.emulated_robot.weight import RobotWorld
from hexapod_control.servos.emulator.chips.i2c_wire import I2cChip, RegisterChip
from hexapod_control.servos.emulator.chips.io_chips import EmulatedSupply, ImuMotion, imu_chip, supply_chip
from hexapod_control.servos.emulator.device import EmulatedDevice
from hexapod_control.servos.emulator.devices.servo2040_device import Servo2040Device
from hexapod_control.servos.emulator.servo_world import VOLTS
from hexapod_control.servos.settings.io_section import IoSettings

AMPERES = 2.0  # of the battery before the first measurement
HIGH_COUNT = 1023  # of a touch input of a Servo2040
GPIO = 0x12  # register of the first eight inputs of an MCP23017; the others are in the next one


class RobotSensors:
    """The chips of one robot, and what they measure: at first a robot that lies level and still."""

    def __init__(self, io: IoSettings, errors: Reality | None = None) -> None:
        """Of the errors, that of the mounting of the IMU counts."""
        self._io = io
        self._motion = ImuMotion()
        self._supply = EmulatedSupply()
        self._mounting = from_roll_pitch_yaw(io.imu.mounting if io.imu else (0.0, 0.0, 0.0))
        if errors is not None:
            roll, pitch, yaw = errors.imu_mounting.tolist()
            self._mounting = product(from_roll_pitch_yaw((roll, pitch, yaw)), self._mounting)
        self._angles: Vector = (0.0, 0.0, 0.0)  # [rad] roll, pitch, yaw
        self._pressed: Sequence[bool] = ()  # whether each foot switch is closed
        self._measure_supply(VOLTS, AMPERES)
        self._measure_motion(self._angles, (0.0, 0.0, 0.0))
        self.chips: list[I2cChip] = []
        if io.imu:
            self.chips.append(imu_chip(io.imu.chip, io.imu.address, self._motion))
        if io.battery:
            self.chips.append(supply_chip(io.battery, self._supply))
        if io.feet and io.feet.chip == "mcp23017":
            defaults = {0x00: 0xFF, 0x01: 0xFF}  # all pins are inputs
            self.chips.append(RegisterChip(io.feet.address, defaults, lambda chip: self._levels()))

    def measure(self, world: RobotWorld, device: EmulatedDevice, dt: float) -> None:
        """Measures a robot, `dt` [s] after the last time; the touch inputs of its board are set."""
        before = self._angles
        self._angles = world.support.roll, world.support.pitch, math.remainder(before[2] + world.turn, math.tau)
        changes = (*(now - was for now, was in zip(self._angles[:2], before[:2], strict=True)), world.turn)
        self._measure_motion(self._angles, (changes[0] / dt, changes[1] / dt, changes[2] / dt))
        self._measure_supply(world.voltage(0), world.current())
        self._pressed = world.pressed
        if self._io.touch and self._io.feet and isinstance(device, Servo2040Device):
            for pin, high in zip(self._io.feet.pins, self._high(), strict=True):
                device.touch[pin] = HIGH_COUNT * high

    def _measure_motion(self, angles: Vector, rates: Vector) -> None:
        """Attitude [rad] and rates [rad/s] of the body, as the chip measures them in its own axes."""
        body = from_roll_pitch_yaw(angles)
        in_chip = inverse(self._mounting)
        self._motion.rate = rotated(in_chip, rates)
        self._motion.acceleration = rotated(in_chip, rotated(inverse(body), (0.0, 0.0, GRAVITY)))
        self._motion.orientation = product(body, self._mounting)

    def _measure_supply(self, volts: float, amperes: float) -> None:
        if self._io.battery:
            self._supply.volts = volts / self._io.battery.divider
            self._supply.shunt = amperes * self._io.battery.shunt

    def _high(self) -> list[bool]:
        """Whether the input of each foot is high."""
        feet = self._io.feet
        pressed = self._pressed or [False] * len(feet.pins if feet else ())
        return [down == (feet is not None and feet.pressed == "high") for down in pressed]

    def _levels(self) -> dict[int, int]:
        """The inputs of an MCP23017; those without a switch are high."""
        pins = self._io.feet.pins if self._io.feet else ()
        low = sum(1 << pin for pin, high in zip(pins, self._high(), strict=True) if not high)
        return {GPIO: ~low & 0xFF, GPIO + 1: ~(low >> 8) & 0xFF}
