"""The emulated chips of the section `io` of a robot file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hexapod_control.servos.emulator.chips.i2c_wire import I2cChip
from hexapod_control.servos.emulator.chips.imu_chip import EmulatedBno055, EmulatedIcm20948, EmulatedMpu, ImuMotion
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS
from hexapod_control.servos.settings.io_section import IoSettings

NO_IO = IoSettings()
_IMUS: Mapping[str, Callable[[int, ImuMotion], I2cChip]] = {
    "mpu6050": EmulatedMpu,
    "mpu9250": lambda address, motion: EmulatedMpu(address, motion, IMU_CHIPS["mpu9250"].identity[1]),
    "icm20948": EmulatedIcm20948,
    "bno055": EmulatedBno055,
}


def imu_chip(name: str, address: int, motion: ImuMotion) -> I2cChip:
    """An emulated IMU."""
    return _IMUS[name](address, motion)


def io_chips(io: IoSettings) -> list[I2cChip]:
    """One chip for each device of the section; the robot is at rest."""
    return [imu_chip(io.imu.chip, io.imu.address, ImuMotion())] if io.imu else []
