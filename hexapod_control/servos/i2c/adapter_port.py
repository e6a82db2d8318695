"""An emulated I2C bus behind a pseudo-terminal, in place of a bus of the kernel; see adapter_frames.

Several programs may have it open, like a bus of the kernel: a lock on the terminal serialises their transfers.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator

from hexapod_control.servos.bus.bus_interface import transmission_time
from hexapod_control.servos.bus.serial_port import Port, SerialPort
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
from hexapod_control.servos.i2c.i2c_port import I2cMessage, I2cPort, I2cRead, failure

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
