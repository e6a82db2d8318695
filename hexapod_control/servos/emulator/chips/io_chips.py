"""The emulated chips of the section `io` of a robot file: IMUs by their names, and the sensors of the supply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hexapod_control.servos.emulator.chips.i2c_wire import I2cChip
from hexapod_control.servos.emulator.chips.imu_chip import EmulatedBno055, EmulatedIcm20948, EmulatedMpu, ImuMotion
from hexapod_control.servos.emulator.chips.register_chip import RegisterChip
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS
from hexapod_control.servos.i2c.supply_sensor import SupplySection


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
