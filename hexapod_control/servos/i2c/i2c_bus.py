# SPDX-License-Identifier: Apache-2.0
"""I2C buses, opened by path: one of the Linux kernel, /dev/i2c-N with smbus2, or an emulated one behind a terminal.

Several programs may have either open: a lock on the terminal serialises transfers; for its frames see adapter_frames.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hexapod_control.config.missing_modules import missing_module
from hexapod_control.servos.bus.bus_interface import PortGoneError, transmission_time
from hexapod_control.servos.bus.serial_port import Port, SerialPort, no_permission
from hexapod_control.servos.i2c.adapter_frames import (
    HEAD,
    REPLY,
    REQUEST,
    TAIL,
    AdapterDecoder,
    AdapterFrame,
    encode_messages,
    frame,
)
from hexapod_control.servos.i2c.i2c_port import I2cMessage, I2cPort, I2cRead, I2cWrite, failure, no_such_bus

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


REPLY_TIMEOUT_S = 0.03  # in addition to the time of the bytes
LOCK_TIMEOUT_S = 0.2
LOCK_PERIOD_S = 0.0005


class AdapterPort(I2cPort):
    """Transfers over a port with an emulated adapter at its other end."""

    def __init__(self, port: Port, path: str = "", lock: TerminalLock | None = None) -> None:
        """`lock` serialises the transfers of several programs."""
        self.path = path
        self.baud = port.baud
        self._port = port
        self._lock = lock
        self._tag = os.getpid() & 0xFF

    def transfer(self, *messages: I2cMessage) -> bytes:
        """Sends messages in one transfer. Returns all bytes read."""
        with self._lock.held() if self._lock else contextlib.nullcontext():
            reply = self._request(
                encode_messages(messages), sum(each.count for each in messages if isinstance(each, I2cRead))
            )
        number = reply.body[0] if reply and reply.body else errno.ETIMEDOUT
        if number or reply is None:
            raise failure(self.path, messages[0].address, number)
        return reply.body[1:]

    def _request(self, body: bytes, count: int) -> AdapterFrame | None:
        """Sends a request whose reply has `count` bytes of data. Returns the reply; None if it is not in time."""
        self._tag = (self._tag + 1) & 0xFF
        request = frame(REQUEST, self._tag, body)
        size = HEAD + 1 + count + TAIL
        self._port.write(request)
        deadline = time.monotonic() + transmission_time(len(request) + size, self.baud) + REPLY_TIMEOUT_S
        data = self._port.read(size, deadline)
        decoder = AdapterDecoder(REPLY)
        while data:
            found = next((each for each in decoder.feed(data) if each.tag == self._tag), None)
            if found:
                return found
            data = self._port.read(1, deadline)
        return None

    def close(self) -> None:
        """Closes."""
        self._port.close()
        if self._lock:
            self._lock.close()


class TerminalLock:
    """The lock of a terminal; one program holds it at a time."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Holds the lock. Raises BusStuckError if another program does not release it."""
        deadline = time.monotonic() + LOCK_TIMEOUT_S
        while not self._try_lock():
            if time.monotonic() >= deadline:
                raise failure(self._path, 0, errno.ETIMEDOUT)
            time.sleep(LOCK_PERIOD_S)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _try_lock(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Closes the terminal; may be called again."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1


def open_terminal(path: str, baud: int) -> AdapterPort:
    """The emulated bus at the path of a terminal. Raises PortGoneError."""
    return AdapterPort(SerialPort(path, baud, exclusive=False), path, TerminalLock(path))


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
