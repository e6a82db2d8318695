# SPDX-License-Identifier: Apache-2.0
"""Sensors on an I2C bus, recognised by their addresses and, where they have one, by their identity register."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from hexapod_control.servos.i2c.foot_switches import SWITCH_CHIPS
from hexapod_control.servos.i2c.i2c_port import I2cPort, TransferError, scan
from hexapod_control.servos.i2c.imu_chips import IMU_CHIPS, check_imu
from hexapod_control.servos.i2c.supply_sensor import SUPPLY_CHIPS, SupplySection, check_supply


def sensors_on(port: I2cPort) -> dict[str, int]:
    """The address of each chip that answers, by its name. Raises PortGoneError or BusStuckError."""
    found: dict[str, int] = {}
    for address in scan(port):
        checks = {
            name: partial(check_imu, port, chip, address)
            for name, chip in IMU_CHIPS.items()
            if address - chip.address in (0, 1)
        }
        checks |= {
            name: partial(check_supply, port, SupplySection(name, address))
            for name, chip in SUPPLY_CHIPS.items()
            if address == chip.address
        }
        switches = [name for name, chip in SWITCH_CHIPS.items() if address == chip.address]
        known = next((name for name, check in checks.items() if _passes(check)), next(iter(switches), ""))
        if known:
            found.setdefault(known, address)
    return found


def _passes(check: Callable[[], None]) -> bool:
    try:
        check()
    except TransferError:
        return False
    return True
