# SPDX-License-Identifier: Apache-2.0
"""The interface of an I2C bus: transfers from START to STOP, and the meaning of their errors.

Source of the error numbers: Documentation/i2c/fault-codes.rst of Linux.
"""

from __future__ import annotations

import errno
import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hexapod_control.servos.bus.bus_interface import BusError, PortGoneError

ADDRESSES = range(0x08, 0x78)  # without the reserved ones of the I2C specification
NO_ACKNOWLEDGE = (errno.ENXIO, errno.EREMOTEIO)
STUCK = (errno.ETIMEDOUT, errno.EBUSY, errno.EAGAIN)
GONE = (errno.ENODEV, errno.EBADF)


@dataclass(frozen=True, slots=True)
class I2cWrite:
    """A message with bytes to a chip."""

    address: int
    data: bytes


@dataclass(frozen=True, slots=True)
class I2cRead:
    """A message that requests bytes from a chip."""

    address: int
    count: int


I2cMessage = I2cWrite | I2cRead


class TransferError(BusError):
    """A transfer has failed; the text names bus, address, cause and remedy."""


class NoAcknowledgeError(TransferError):
    """No chip answers at the address."""


class BusStuckError(TransferError):
    """A line of the bus is held low, so that no chip can be reached."""


class I2cPort(ABC):
    """An open I2C bus. Several programs may have it open; each transfer is atomic."""

    path: str
    baud: int  # [bit/s] clock

    @abstractmethod
    def transfer(self, *messages: I2cMessage) -> bytes:
        """Sends messages with a repeated START between them and a STOP at the end. Returns all bytes read.

        Raises TransferError, and PortGoneError if the bus itself is gone.
        """

    @abstractmethod
    def close(self) -> None:
        """Closes; never raises."""


def read_registers(port: I2cPort, address: int, register: int, count: int) -> bytes:
    """Bytes of neighbouring registers. Raises TransferError or PortGoneError."""
    return port.transfer(I2cWrite(address, bytes([register])), I2cRead(address, count))


def write_registers(port: I2cPort, address: int, register: int, data: Iterable[int]) -> None:
    """Writes neighbouring registers. Raises TransferError or PortGoneError."""
    port.transfer(I2cWrite(address, bytes([register, *data])))


def scan(port: I2cPort) -> list[int]:
    """Addresses of the chips that answer a read of one byte. Raises PortGoneError or BusStuckError."""
    return [address for address in ADDRESSES if _answers(port, address)]


def _answers(port: I2cPort, address: int, tries: int = 5) -> bool:
    try:
        port.transfer(I2cRead(address, 1))
    except BusStuckError:
        if tries == 1:
            raise
        return _answers(port, address, tries - 1)
    except TransferError:
        return False
    return True


def listed(addresses: Iterable[int]) -> str:
    """Addresses as a comma-separated text."""
    return ", ".join(f"0x{address:02X}" for address in addresses)


def failure(path: str, address: int, number: int) -> TransferError | PortGoneError:
    """The error to raise for an error number of a transfer."""
    if number in NO_ACKNOWLEDGE:
        return NoAcknowledgeError(
            f"{path}: no chip answers at address 0x{address:02X}: check its power, its cable and its address jumpers"
        )
    if number in STUCK:
        return BusStuckError(
            f"{path}: the I2C bus is stuck, SDA or SCL is held low: switch the power of all boards off and on; "
            "if it stays, unplug them one by one"
        )
    if number in GONE:
        return PortGoneError(
            f"{path}: the I2C bus is gone ({os.strerror(number)}): check the adapter, plug it in again"
        )
    return TransferError(
        f"{path}: a transfer with address 0x{address:02X} failed ({os.strerror(number)}): check cables and pull-ups"
    )


def no_such_bus(path: str) -> PortGoneError:
    """The error to raise for a path without an I2C bus."""
    present = ", ".join(sorted(map(str, Path("/dev").glob("i2c-*")))) or "none"
    cause = "is not an I2C bus" if Path(path).exists() else "there is no such I2C bus"
    return PortGoneError(
        f"{path}: {cause}: on a Raspberry Pi switch it on with `dtparam=i2c_arm=on` in /boot/firmware/config.txt, then "
        f"reboot; present: {present}"
    )
