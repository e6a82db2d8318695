"""Emulated IMUs: identity, reset, sleep, ranges and readings with noise. Sources as in servos.i2c.imu_chips."""

from __future__ import annotations

import math
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hexapod_control.servos.emulator.chips.register_chip import RegisterChip
from hexapod_control.servos.i2c.imu_chips import GRAVITY, MeasuredQuaternion, MeasuredVector

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
