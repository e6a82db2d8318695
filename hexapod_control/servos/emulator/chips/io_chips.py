# SPDX-License-Identifier: Apache-2.0
"""The emulated chips of the section `io` of a robot file: IMUs by their names, and the sensors of the supply.

An IMU has identity, reset, sleep, ranges and readings with noise. Sources as in servos.i2c.imu_chips.
"""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hexapod_control.servos.emulator.chips.i2c_wire import I2cChip, RegisterChip
from hexapod_control.servos.i2c.imu_chips import GRAVITY, IMU_CHIPS, MeasuredQuaternion, MeasuredVector
from hexapod_control.servos.i2c.supply_sensor import SupplySection

ACCELERATION_NOISE = 0.04  # [m/s^2]
RATE_NOISE = 0.002  # [rad/s] standard deviation
FULL = 32767  # counts


@dataclass(slots=True)
class ImuMotion:
    """The motion that a chip measures, in its own axes. May be changed at any time."""

    acceleration: MeasuredVector = (0.0, 0.0, GRAVITY)  # [m/s^2]
    rate: MeasuredVector = (0.0, 0.0, 0.0)  # [rad/s]
    bias: MeasuredVector = (0.02, -0.01, 0.015)  # [rad/s] of the gyro
    orientation: MeasuredQuaternion = (1.0, 0.0, 0.0, 0.0)
    frozen: bool = False  # constant readings, like those of a failed chip
    noise: random.Random = field(default_factory=lambda: random.Random(0))

    def acceleration_counts(self, scale: float) -> tuple[int, ...]:
        """Noisy accelerations in counts of `scale` [m/s^2]."""
        return _counts([value + self.noise.gauss(0.0, ACCELERATION_NOISE) for value in self.acceleration], scale)

    def rate_counts(self, scale: float) -> tuple[int, ...]:
        """Noisy, biased rates in counts of `scale` [rad/s]."""
        biased = [rate + bias for rate, bias in zip(self.rate, self.bias, strict=True)]
        return _counts([value + self.noise.gauss(0.0, RATE_NOISE) for value in biased], scale)


def _counts(values: Sequence[float], scale: float) -> tuple[int, ...]:
    return tuple(min(max(round(value / scale), -FULL - 1), FULL) for value in values)


def _units(acceleration_range: int, rate_range: int) -> tuple[float, float]:
    """[m/s^2] and [rad/s] per count in ranges 0 to 3: 2 g to 16 g, 250 deg/s to 2000 deg/s."""
    return GRAVITY / (16384 >> (acceleration_range & 3)), math.radians(1.0) / (131.0 / (1 << (rate_range & 3)))


class EmulatedMpu(RegisterChip):
    """An MPU6050 or MPU9250: asleep after power-on, readings according to its ranges."""

    def __init__(self, address: int, motion: ImuMotion, identity: int = 0x68) -> None:
        self.motion = motion
        self._last = bytes(14)
        super().__init__(address, {0x6B: 0x40, 0x75: identity}, lambda _: self._readings())

    def set(self, register: int, value: int) -> None:
        """Resets the chip by bit 7 of register 6B; the identity cannot be written."""
        if register == 0x6B and value & 0x80:
            self.power_on()
        elif register != 0x75:
            super().set(register, value)

    def _readings(self) -> Mapping[int, int]:
        if not (self.registers.get(0x6B, 0) & 0x40 or self.motion.frozen):
            acceleration_unit, rate_unit = _units(self.registers.get(0x1C, 0) >> 3, self.registers.get(0x1B, 0) >> 3)
            self._last = struct.pack(
                ">7h", *self.motion.acceleration_counts(acceleration_unit), 0, *self.motion.rate_counts(rate_unit)
            )
        return {0x3B + i: byte for i, byte in enumerate(self._last)}


class EmulatedBno055(RegisterChip):
    """A BNO055: it has readings only in a fusion mode, without the bias of the gyro."""

    def __init__(self, address: int, motion: ImuMotion) -> None:
        self.motion = motion
        self._last = bytes(32)
        super().__init__(address, {0x00: 0xA0, 0x01: 0xFB, 0x02: 0x32, 0x03: 0x0F}, lambda _: self._readings())

    def _readings(self) -> Mapping[int, int]:
        if self.registers.get(0x3D, 0) >= 0x08 and not self.motion.frozen:
            data = struct.pack("<3h6x", *self.motion.acceleration_counts(0.01))
            data += struct.pack("<3h6x", *_counts(self.motion.rate, math.radians(1.0 / 16.0)))
            self._last = data + struct.pack("<4h", *(round(q * 16384) for q in self.motion.orientation))
        return {0x08 + i: byte for i, byte in enumerate(self._last)}


class EmulatedIcm20948(RegisterChip):
    """An ICM-20948: four banks of registers; the first one has the readings."""

    def __init__(self, address: int, motion: ImuMotion) -> None:
        self.motion = motion
        self._last = bytes(12)
        self._bank = 0
        self._ranges = [0x01, 0x01]  # of gyro and acceleration
        super().__init__(address, {0x00: 0xEA, 0x06: 0x41}, lambda _: self._readings())

    def set(self, register: int, value: int) -> None:
        """Changes the bank by register 7F; resets the chip by bit 7 of register 06."""
        if register == 0x7F:
            self._bank = value >> 4 & 3
        elif self._bank == 2 and register in (0x01, 0x14):
            self._ranges[register == 0x14] = value
        elif self._bank == 0 and register == 0x06 and value & 0x80:
            self.power_on()
        elif self._bank == 0 and register:
            super().set(register, value)

    def _readings(self) -> Mapping[int, int]:
        if not (self.registers.get(0x06, 0) & 0x40 or self.motion.frozen):
            acceleration_unit, rate_unit = _units(self._ranges[1] >> 1, self._ranges[0] >> 1)
            self._last = struct.pack(
                ">6h", *self.motion.acceleration_counts(acceleration_unit), *self.motion.rate_counts(rate_unit)
            )
        return {0x2D + i: byte for i, byte in enumerate(self._last)}


@dataclass(slots=True)
class EmulatedSupply:
    """The voltages that a sensor measures. May be changed at any time."""

    volts: float = 11.98  # [V] at its input
    shunt: float = 0.02  # [V] across the shunt


def _shown(value: float, unit: float) -> int:
    """A signed 16-bit register for a value in steps of `unit`, clamped to its range."""
    return min(max(round(value / unit), -0x8000), 0x7FFF) & 0xFFFF


def ina219(address: int, supply: EmulatedSupply) -> RegisterChip:
    """An INA219: 10 uV and 4 mV per count."""
    return RegisterChip(
        address,
        {0x00: 0x399F},
        lambda _: {0x01: _shown(supply.shunt, 10e-6), 0x02: round(supply.volts / 4e-3) << 3 | 0x2},
        width=2,
    )


def ina226(address: int, supply: EmulatedSupply) -> RegisterChip:
    """An INA226: 2.5 uV and 1.25 mV per count."""
    return RegisterChip(
        address,
        {0x00: 0x4127, 0xFE: 0x5449, 0xFF: 0x2260},
        lambda _: {0x01: _shown(supply.shunt, 2.5e-6), 0x02: _shown(supply.volts, 1.25e-3)},
        width=2,
    )


def ads1115(address: int, supply: EmulatedSupply, channel: int = 0) -> RegisterChip:
    """An ADS1115 whose input `channel` has the voltage; the others have 0 V. It converts only in continuous mode."""

    def conversion(chip: RegisterChip) -> dict[int, int]:
        config = chip.registers[0x01]
        full = (6.144, 4.096, 2.048, 1.024, 0.512, 0.256, 0.256, 0.256)[config >> 9 & 7]
        wired = config >> 12 & 7 == 4 + channel and not config & 0x100
        return {0x00: _shown(supply.volts, full / 32768) if wired else 0}

    return RegisterChip(address, {0x01: 0x8583, 0x02: 0x8000, 0x03: 0x7FFF}, conversion, width=2)


class EmulatedAds7830:
    """An ADS7830: the command byte selects a channel, a read converts it. Channel `channel` has the voltage."""

    def __init__(self, address: int, supply: EmulatedSupply, channel: int = 0, reference: float = 5.0) -> None:
        self.address = address
        self._supply = supply
        self._channel = channel
        self._reference = reference
        self.power_on()

    def power_on(self) -> None:
        """Deselects all channels."""
        self._command = 0

    def acknowledges(self, address: int) -> bool:
        """Whether an address is its own."""
        return address == self.address

    def write(self, address: int, data: bytes) -> None:
        """Stores the command."""
        self._command = data[-1] if data else self._command

    def read(self, count: int) -> bytes:
        """Counts of the selected channel; 0 for one that is not wired and for a difference of two channels."""
        code = self._command >> 4 & 7
        channel = (code & 3) << 1 | code >> 2
        wired = self._command & 0x80 and channel == self._channel
        value = min(max(round(self._supply.volts / self._reference * 255), 0), 255) if wired else 0
        return bytes([value]) * count

    def stop(self) -> None:
        """Does nothing at the end of a transfer."""


_IMUS: Mapping[str, Callable[[int, ImuMotion], I2cChip]] = {
    "mpu6050": EmulatedMpu,
    "mpu9250": lambda address, motion: EmulatedMpu(address, motion, IMU_CHIPS["mpu9250"].identity[1]),
    "icm20948": EmulatedIcm20948,
    "bno055": EmulatedBno055,
}


def imu_chip(name: str, address: int, motion: ImuMotion) -> I2cChip:
    """An emulated IMU of a model of IMU_CHIPS, which measures `motion`."""
    return _IMUS[name](address, motion)


def supply_chip(section: SupplySection, supply: EmulatedSupply) -> I2cChip:
    """An emulated sensor of the battery, wired as in the section."""
    if section.chip == "ads7830":
        return EmulatedAds7830(section.address, supply, section.channel, section.reference)
    if section.chip == "ads1115":
        return ads1115(section.address, supply, section.channel)
    return (ina219 if section.chip == "ina219" else ina226)(section.address, supply)
