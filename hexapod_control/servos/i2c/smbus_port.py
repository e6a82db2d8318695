"""An I2C bus of the Linux kernel, /dev/i2c-N, with smbus2."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Callable
from typing import Any

from hexapod_control.config.missing_modules import missing_module
from hexapod_control.servos.bus.bus_interface import PortGoneError
from hexapod_control.servos.i2c.i2c_port import I2cMessage, I2cPort, I2cWrite, failure

SET_TIMEOUT = 0x0702  # ioctl I2C_TIMEOUT of linux/i2c-dev.h
TIMEOUT = 3  # [10 ms]; the kernel's default of 1 s would stop the driver's cycle


class SmbusPort(I2cPort):
    """A bus of the kernel, which serialises the transfers of several programs."""

    def __init__(self, path: str, baud: int) -> None:
        """Opens the bus; `baud` [bit/s] is the clock that the system has set. Raises PortGoneError."""
        try:
            import smbus2
        except ModuleNotFoundError as error:
            raise PortGoneError(f"{path}: {missing_module(error)}") from None
        self.path = path
        self.baud = baud
        self._write: Callable[..., Any] = smbus2.i2c_msg.write
        self._read: Callable[..., Any] = smbus2.i2c_msg.read
        try:
            self._bus: Any = smbus2.SMBus(path)
        except OSError as error:
            raise PortGoneError(f"{path}: the I2C bus cannot be opened ({error}): check dmesg for its driver") from None
        if self._bus.fd is not None:  # always while the bus is open
            with contextlib.suppress(OSError):
                fcntl.ioctl(self._bus.fd, SET_TIMEOUT, TIMEOUT)

    def transfer(self, *messages: I2cMessage) -> bytes:
        """Sends messages in one transfer. Returns all bytes read."""
        native = [
            self._write(each.address, each.data) if isinstance(each, I2cWrite) else self._read(each.address, each.count)
            for each in messages
        ]
        try:
            self._bus.i2c_rdwr(*native)
        except OSError as error:
            raise failure(self.path, messages[0].address, error.errno or errno.EIO) from None
        except TypeError:  # the descriptor of a closed bus is None
            raise failure(self.path, messages[0].address, errno.EBADF) from None
        pairs = zip(messages, native, strict=True)
        return b"".join(bytes(list(message)) for each, message in pairs if not isinstance(each, I2cWrite))

    def close(self) -> None:
        """Closes."""
        with contextlib.suppress(OSError):
            self._bus.close()


def is_kernel_bus(device: int) -> bool:
    """Whether a device number is that of an I2C bus of the kernel."""
    return os.major(device) == 89
