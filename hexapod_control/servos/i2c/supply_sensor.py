# SPDX-License-Identifier: Apache-2.0
"""Battery sensors: the current monitors INA219 and INA226, and the converters ADS1115 and ADS7830 behind a divider.

Sources: Texas Instruments SBOS448G (INA219), SBOS547A (INA226), SBAS444D (ADS1115), SBAS302C (ADS7830).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hexapod_control.core.quantity import number
from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.i2c_port import (
    I2cPort,
    I2cRead,
    I2cWrite,
    TransferError,
    read_registers,
    write_registers,
)

Supply = tuple[float | None, float | None]
"""Voltage [V] and current [A], None where unknown."""

ADS1115_STEP = 4.096 / 32768  # [V]
ADS1115_CONTINUOUS = 0x4283  # channel 0 against ground, 4.096 V, continuous, 128 samples/s, no comparator


@dataclass(frozen=True, slots=True)
class SupplySection:
    """`io.battery` of a robot file: the wiring of the battery to a sensor."""

    chip: str
    address: int
    shunt: float = number(0.1, "ohm", 1e-5, 10.0, "resistor of an INA219 or INA226", "ohms, not milliohms? mostly 0.1")
    channel: int = number(0, "", 0, 7, "input of an ADS1115 or ADS7830", "the input to which the battery is wired")
    divider: float = number(
        1.0, "", 0.01, 100.0, "battery voltage by voltage at the input", "battery = divider * input"
    )
    reference: float = number(5.0, "V", 1.0, 6.0, "supply of an ADS7830")


class SupplyChip(NamedTuple):
    """A sensor model."""

    title: str
    address: int  # usual one
    keys: tuple[str, ...]  # fields of SupplySection that apply
    identity: tuple[int, tuple[int, ...]] | None  # register and its values in a chip of this model
    read: Callable[[I2cPort, SupplySection], Supply]
    last_channel: int = 0


def _word(port: I2cPort, address: int, register: int) -> int:
    (value,) = struct.unpack(">h", read_registers(port, address, register, 2))
    return int(value)


def _ina219(port: I2cPort, section: SupplySection) -> Supply:
    volts = ((_word(port, section.address, 0x02) & 0xFFFF) >> 3) * 4e-3
    return volts * section.divider, _word(port, section.address, 0x01) * 10e-6 / section.shunt


def _ina226(port: I2cPort, section: SupplySection) -> Supply:
    volts = (_word(port, section.address, 0x02) & 0x7FFF) * 1.25e-3
    return volts * section.divider, _word(port, section.address, 0x01) * 2.5e-6 / section.shunt


def _ads1115(port: I2cPort, section: SupplySection) -> Supply:
    wanted = ADS1115_CONTINUOUS | section.channel << 12
    if _word(port, section.address, 0x01) & 0x7FFF != wanted:
        write_registers(port, section.address, 0x01, wanted.to_bytes(2, "big"))
        return None, None  # the first value is available after 8 ms
    return _word(port, section.address, 0x00) * ADS1115_STEP * section.divider, None


def _ads7830(port: I2cPort, section: SupplySection) -> Supply:
    command = 0x84 | (section.channel << 2 & 0x4 | section.channel >> 1) << 4  # single-ended, reference off
    (value,) = port.transfer(I2cWrite(section.address, bytes([command])), I2cRead(section.address, 1))
    return value / 255.0 * section.reference * section.divider, None


SUPPLY_CHIPS: Mapping[str, SupplyChip] = {
    "ina219": SupplyChip("INA219", 0x40, ("shunt", "divider"), (0x00, (0x399F,)), _ina219),
    "ina226": SupplyChip("INA226", 0x40, ("shunt", "divider"), (0xFE, (0x5449,)), _ina226),
    "ads1115": SupplyChip(
        "ADS1115",
        0x48,
        ("channel", "divider"),
        (0x01, (0x8583, *(ADS1115_CONTINUOUS | n << 12 for n in range(4)))),
        _ads1115,
        last_channel=3,
    ),
    "ads7830": SupplyChip("ADS7830", 0x48, ("channel", "divider", "reference"), None, _ads7830, last_channel=7),
}


def check_supply(port: I2cPort, section: SupplySection) -> None:
    """Raises TransferError if another chip has the address; not every chip has an identity register."""
    chip = SUPPLY_CHIPS[section.chip]
    if chip.identity is None:
        return
    register, values = chip.identity
    found = _word(port, section.address, register) & 0xFFFF
    if found not in values and found & 0x7FFF not in values:
        raise TransferError(
            f"{port.path}: the chip at address 0x{section.address:02X} is no {chip.title}, its "
            f"register {register} is 0x{found:04X} instead of 0x{values[0]:04X}: correct io.battery, or switch "
            "its power off and on"
        )


class SupplySensor:
    """Reads the battery; opens the bus again after an error. Owned by one thread."""

    def __init__(self, section: SupplySection, bus: str) -> None:
        self.error: str | None = None  # why the battery is unknown
        self._section = section
        self._bus = bus
        self._chip = SUPPLY_CHIPS[section.chip]
        self._port: I2cPort | None = None
        self._checked = False

    def read(self) -> Supply:
        """Voltage [V] and current [A] of the battery, None if unknown."""
        try:
            if self._port is None:
                self._port = open_i2c(self._bus)
                self._checked = False
            if not self._checked:
                check_supply(self._port, self._section)
                self._checked = True
            supply = self._chip.read(self._port, self._section)
            self.error = None
        except (PortGoneError, TransferError) as error:
            self.error = f"the battery is not measured: {error}"
            if isinstance(error, PortGoneError):
                self.close()
            return None, None
        return supply

    def close(self) -> None:
        """Closes the bus."""
        if self._port is not None:
            self._port.close()
        self._port = None
