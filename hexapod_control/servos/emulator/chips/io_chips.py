"""The emulated chips of the section `io` of a robot file."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hexapod_control.servos.emulator.chips.i2c_wire import I2cChip
from hexapod_control.servos.emulator.chips.imu_chip import EmulatedBno055, EmulatedIcm20948, EmulatedMpu, ImuMotion
from hexapod_control.servos.emulator.chips.register_chip import RegisterChip
from hexapod_control.servos.emulator.chips.supply_chips import EmulatedAds7830, EmulatedSupply, ads1115, ina219, ina226
from hexapod_control.servos.emulator.servo_world import VOLTS
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS
from hexapod_control.servos.i2c.supply_sensor import SupplySection
from hexapod_control.servos.settings.io_section import IoSettings

NO_IO = IoSettings()
AMPERES = 2.0  # of the emulated battery
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


def io_chips(io: IoSettings) -> list[I2cChip]:
    """One chip for each device of the section; the robot is at rest."""
    chips = [imu_chip(io.imu.chip, io.imu.address, ImuMotion())] if io.imu else []
    if io.battery:
        chips.append(supply_chip(io.battery, EmulatedSupply(VOLTS / io.battery.divider, AMPERES * io.battery.shunt)))
    if io.feet and io.feet.chip == "mcp23017":
        chips.append(RegisterChip(io.feet.address, {0x00: 0xFF, 0x01: 0xFF}, lambda chip: {0x12: 0xFF, 0x13: 0xFF}))
    return chips
