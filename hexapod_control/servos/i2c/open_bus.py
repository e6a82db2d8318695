"""Opens an I2C bus by its path: a bus of the kernel, or an emulated one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.bus.serial_port import no_permission
from hexapod_control.servos.i2c.adapter_port import open_terminal
from hexapod_control.servos.i2c.i2c_port import I2cPort, no_such_bus
from hexapod_control.servos.i2c.smbus_port import SmbusPort, is_kernel_bus

SENSOR_BAUD = 400_000  # [bit/s] of an emulated bus with sensors; the system sets the clock of a bus of the kernel
TERMINALS = range(136, 144)  # device numbers of pseudo terminals


def open_i2c(path: str, baud: int = SENSOR_BAUD) -> I2cPort:
    """The I2C bus at a path; `baud` [bit/s] is its clock. Raises PortGoneError."""
    try:
        status = os.stat(path)
    except OSError:
        raise no_such_bus(path) from None
    kernel = stat.S_ISCHR(status.st_mode) and is_kernel_bus(status.st_rdev)
    if not kernel and not (stat.S_ISCHR(status.st_mode) and os.major(status.st_rdev) in TERMINALS):
        raise no_such_bus(path)
    if not os.access(path, os.R_OK | os.W_OK):
        raise PortGoneError(no_permission(Path(path), "i2c"))
    return SmbusPort(path, baud) if kernel else open_terminal(path, baud)
