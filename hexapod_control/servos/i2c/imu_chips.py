# SPDX-License-Identifier: Apache-2.0
"""IMUs on I2C: configuration and layout of the readings. Vectors are in the axes of the chip.

Sources: InvenSense register maps RM-MPU-6000A (4.2), RM-MPU-9250A (1.6) and DS-000189 (ICM-20948, 1.3); Bosch
BST-BNO055-DS000 (1.8).
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hexapod_control.servos.i2c.i2c_port import (
    I2cPort,
    I2cRead,
    I2cWrite,
    TransferError,
    read_registers,
    write_registers,
)

MeasuredVector = tuple[float, float, float]
MeasuredQuaternion = tuple[float, float, float, float]  # w, x, y, z
GRAVITY = 9.81  # [m/s^2] of 1 g, as in the core


class RegisterWrite(NamedTuple):
    """A value to write to a register."""

    register: int
    value: int
    wait: float = 0.0  # [s] that the chip needs afterwards


class ImuSample(NamedTuple):
    """One reading of an IMU."""

    acceleration: MeasuredVector  # [m/s^2] including gravity: + up at rest
    rate: MeasuredVector  # [rad/s]
    orientation: MeasuredQuaternion | None  # None unless the chip estimates it
    raw: bytes  # as read from the chip


@dataclass(frozen=True, slots=True)
class ImuChip:
    """An IMU model. Positions are byte offsets in the block of readings."""

    title: str
    address: int  # usual one
    identity: tuple[int, int]  # register and value
    setup: tuple[RegisterWrite, ...]
    block: tuple[int, int]  # first register and length of the readings
    order: str  # of bytes: > high first, < low first
    acceleration: tuple[int, float]  # position, [m/s^2] per count
    rate: tuple[int, float]  # position, [rad/s] per count
    orientation: int | None = None  # position of four numbers, 2^14 counts each


# per g, per deg/s
_COUNTS_4_G = 8192.0
_COUNTS_500_DEG_S = 65.5
_MOTION = (GRAVITY / _COUNTS_4_G, math.radians(1.0 / _COUNTS_500_DEG_S))


def _mpu(title: str, identity: int, *more: RegisterWrite) -> ImuChip:
    """An MPU: reset, clock of the gyro, 44 Hz low-pass filter, 200 Hz output, 500 deg/s, 4 g."""
    setup = (
        RegisterWrite(0x6B, 0x80, 0.1),
        RegisterWrite(0x6B, 0x01, 0.03),
        RegisterWrite(0x1A, 0x03),
        RegisterWrite(0x19, 0x04),
        RegisterWrite(0x1B, 0x08),
        RegisterWrite(0x1C, 0x08, 0.05),
        *more,
    )
    return ImuChip(title, 0x68, (0x75, identity), setup, (0x3B, 14), ">", (0, _MOTION[0]), (8, _MOTION[1]))


IMU_CHIPS: Mapping[str, ImuChip] = {
    "mpu6050": _mpu("MPU6050", 0x68),
    "mpu9250": _mpu("MPU9250", 0x71, RegisterWrite(0x1D, 0x03)),
    "icm20948": ImuChip(
        "ICM-20948",
        0x68,
        (0x00, 0xEA),
        (
            RegisterWrite(0x7F, 0x00),  # bank 0
            RegisterWrite(0x06, 0x80, 0.1),
            RegisterWrite(0x06, 0x01, 0.03),
            RegisterWrite(0x7F, 0x20),  # bank 2
            RegisterWrite(0x00, 0x04),
            RegisterWrite(0x01, 0x1B),
            RegisterWrite(0x11, 0x04),
            RegisterWrite(0x14, 0x1B),
            RegisterWrite(0x7F, 0x00, 0.05),
        ),
        (0x2D, 12),
        ">",
        (0, _MOTION[0]),
        (6, _MOTION[1]),
    ),
    "bno055": ImuChip(
        "BNO055",
        0x28,
        (0x00, 0xA0),
        (
            RegisterWrite(0x3D, 0x00, 0.025),  # mode CONFIG
            RegisterWrite(0x3B, 0x00),  # m/s^2, deg/s
            RegisterWrite(0x3D, 0x08, 0.025),  # mode IMU: fusion without magnetometer
        ),
        (0x08, 32),
        "<",
        (0, 1.0 / 100.0),
        (12, math.radians(1.0 / 16.0)),
        24,
    ),
}


class ImuDevice:
    """One IMU on a bus. Life cycle: `configure`, then `read`. All methods raise TransferError or PortGoneError."""

    def __init__(self, port: I2cPort, chip: ImuChip, address: int) -> None:
        self._port = port
        self._chip = chip
        self._address = address
        first, count = chip.block
        self._request = I2cWrite(address, bytes([first])), I2cRead(address, count)

    def configure(self) -> None:
        """Checks the identity of the chip, resets it and sets its ranges; takes 0.2 s."""
        check_imu(self._port, self._chip, self._address)
        for each in self._chip.setup:
            write_registers(self._port, self._address, each.register, [each.value])
            time.sleep(each.wait)

    def read(self) -> ImuSample:
        """The newest readings."""
        chip = self._chip
        data = self._port.transfer(*self._request)
        orientation = None
        if chip.orientation is not None:
            w, x, y, z = struct.unpack_from(f"{chip.order}4h", data, chip.orientation)
            norm = math.hypot(w, x, y, z)
            orientation = (w / norm, x / norm, y / norm, z / norm) if norm else None
        return ImuSample(_vector(chip, data, *chip.acceleration), _vector(chip, data, *chip.rate), orientation, data)


def check_imu(port: I2cPort, chip: ImuChip, address: int) -> None:
    """Raises TransferError if another chip has the address."""
    register, expected = chip.identity
    found = read_registers(port, address, register, 1)[0]
    if found != expected:
        raise TransferError(
            f"{port.path}: the chip at address 0x{address:02X} is no {chip.title}, its identity "
            f"is 0x{found:02X} instead of 0x{expected:02X}: correct io.imu.chip{_hint(register, found)}"
        )


def _vector(chip: ImuChip, data: bytes, position: int, scale: float) -> MeasuredVector:
    x, y, z = struct.unpack_from(f"{chip.order}3h", data, position)
    return x * scale, y * scale, z * scale


def _hint(register: int, found: int) -> str:
    names = [name for name, chip in IMU_CHIPS.items() if chip.identity == (register, found)]
    return f" to {names[0]}" if names else " or the address"
