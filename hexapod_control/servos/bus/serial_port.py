# SPDX-License-Identifier: Apache-2.0
"""A serial port with one exception: every failure raises PortGoneError."""

from __future__ import annotations

import contextlib
import errno
import grp
import os
import select
import termios
import time
from pathlib import Path
from typing import Protocol

import serial

from hexapod_control.servos.bus.bus_interface import PortGoneError, transmission_time

MAX_LATENCY_S = 0.001  # of an adapter, without a warning
WRITE_TIMEOUT_S = 0.1  # without an accepted byte, after which the port counts as lost
BY_ID = Path("/dev/serial/by-id")
PORT_ERRORS = (serial.SerialException, OSError, ValueError, termios.error, TypeError)
"""Exceptions of pyserial for a missing or vanished port; TypeError if it was closed concurrently."""
BUSY = (errno.EAGAIN, errno.EBUSY)


class Port(Protocol):
    """Writes and reads bytes, with deadlines. The only exception of an operation is PortGoneError."""

    baud: int

    def write(self, data: bytes) -> None:
        """Sends one frame in one write."""

    def read(self, count: int, deadline: float) -> bytes:
        """Up to `count` bytes; fewer if they have not arrived by `deadline` (time.monotonic() [s])."""

    def clear(self) -> None:
        """Discards bytes that were received and not read."""

    def close(self) -> None:
        """Closes; never raises."""


class SerialPort:
    """A serial port of this computer, locked for this process and set to the lowest latency.

    pyserial opens and configures it. Bytes are read and written directly on its non-blocking descriptor, because
    pyserial's own `read` and `write` take as long as the transmission of a short reply.
    """

    def __init__(self, path: str, baud: int, *, exclusive: bool = True) -> None:
        """Opens the port; `exclusive` refuses other programs. Raises PortGoneError with cause and remedy."""
        self.path = path
        self.baud = baud
        try:
            self._serial = serial.Serial(path, baud, timeout=0, write_timeout=WRITE_TIMEOUT_S, exclusive=exclusive)
        except PORT_ERRORS as error:
            raise PortGoneError(reason(path, baud, error)) from error
        with contextlib.suppress(*PORT_ERRORS, NotImplementedError):
            self._serial.set_low_latency_mode(True)
        self.latency = latency(path)  # [s] latency of the adapter, None if unknown

    def write(self, data: bytes) -> None:
        """Sends one frame in one write."""
        try:
            descriptor = self._serial.fileno()
            sent = _write_some(descriptor, data)
            deadline = time.monotonic() + WRITE_TIMEOUT_S
            while sent < len(data):  # the buffer is full: rare, as a frame is shorter
                if not select.select([], [descriptor], [], _time_left(deadline))[1]:
                    raise PortGoneError(f"{self.path}: no longer accepts bytes: check the adapter, plug it in again")
                sent += _write_some(descriptor, data[sent:])
        except PortGoneError:
            raise
        except PORT_ERRORS as error:
            raise self._gone("writing", error) from error

    def read(self, count: int, deadline: float) -> bytes:
        """Reads up to `count` bytes until `deadline` (steady time [s]); may return fewer."""
        data = b""
        try:
            descriptor = self._serial.fileno()
            while missing := count - len(data):
                if data:  # the rest is still on the wire: one wake-up for all of it, instead of one for every servo
                    time.sleep(min(transmission_time(missing, self.baud), _time_left(deadline)))
                if not select.select([descriptor], [], [], _time_left(deadline))[0]:
                    break
                data += _read_some(descriptor, missing)
        except PORT_ERRORS as error:
            raise self._gone("reading", error) from error
        return data

    def clear(self) -> None:
        """Discards bytes that were received and not read."""
        try:
            termios.tcflush(self._serial.fileno(), termios.TCIFLUSH)
        except PORT_ERRORS as error:
            raise self._gone("clearing", error) from error

    def close(self) -> None:
        """Closes."""
        with contextlib.suppress(*PORT_ERRORS):
            self._serial.close()

    def _gone(self, action: str, error: BaseException) -> PortGoneError:
        cause = "it was closed" if not self._serial.is_open else "unplugged? check the cable and the adapter"
        return PortGoneError(f"{self.path}: gone while {action} ({error}): {cause}")


def _time_left(deadline: float) -> float:
    return max(deadline - time.monotonic(), 0.0)


def _write_some(descriptor: int, data: bytes) -> int:
    """Writes the bytes that the port accepts at once. Returns their number."""
    try:
        return os.write(descriptor, data)
    except BlockingIOError:
        return 0


def _read_some(descriptor: int, count: int) -> bytes:
    """Available bytes of a readable port. Raises OSError if there are none: then the port is lost."""
    try:
        data = os.read(descriptor, count)
    except BlockingIOError:  # another reader was faster
        return b""
    if not data:
        raise OSError(errno.EIO, "it is readable but has no bytes")
    return data


def latency(path: str) -> float | None:
    """Time [s] for which the adapter holds received bytes back; None if unknown (only FTDI chips report it)."""
    timer = Path("/sys/class/tty") / Path(path).resolve().name / "device" / "latency_timer"
    try:
        return int(timer.read_text()) / 1000.0
    except (OSError, ValueError):
        return None


def slow_adapter(path: str, latency_s: float | None) -> str:
    """A warning about an adapter with this latency; empty if that is short or unknown."""
    if latency_s is None or latency_s <= MAX_LATENCY_S:
        return ""
    return f"{path} holds bytes back for {1000.0 * latency_s:.0f} ms: install the udev rule, then plug it in again"


def _may_be_terminal(path: str) -> bool:
    """Whether a device is a terminal, as serial ports are; also True if it cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        return os.isatty(descriptor)
    finally:
        os.close(descriptor)


def reason(path: str, baud: int, error: BaseException) -> str:
    """Why a port cannot be opened, with the remedy, in one line."""
    file = Path(path)
    if not file.exists():
        return f"{path}: there is no such port: plug the adapter in and switch it on; {_present_ports()}"
    if not file.is_char_device():
        return f"{path}: is not a serial port; {_present_ports()}"
    if not os.access(path, os.R_OK | os.W_OK):
        return no_permission(file, "dialout")
    if isinstance(error, OSError) and error.errno in BUSY:
        return f"{path}: is in use by {_holder(file) or 'another program'}: end that first"
    if isinstance(error, ValueError):
        return f"{path}: does not support {baud} baud: {error}"
    if not _may_be_terminal(path):
        return f"{path}: is not a serial port; {_present_ports()}"
    return f"{path}: cannot be opened: {error}"


def adapter_id(port: str) -> str:
    """Name of the USB adapter behind a port, with its serial number, as the system gives it; empty without one."""
    with contextlib.suppress(OSError):
        return next((entry.name for entry in BY_ID.iterdir() if entry.samefile(port)), "")
    return ""


def _present_ports() -> str:
    try:
        found = sorted(str(entry) for entry in BY_ID.iterdir())
    except OSError:
        found = []
    found += sorted(str(entry) for pattern in ("ttyUSB*", "ttyACM*") for entry in Path("/dev").glob(pattern))
    return f"present: {', '.join(found)}" if found else "no USB serial port is present"


def no_permission(file: Path, usual: str) -> str:
    """The remedy for a device without permission; `usual` is its group unless a udev rule sets another one."""
    group = usual
    with contextlib.suppress(OSError, KeyError):
        group = grp.getgrgid(file.stat().st_gid).gr_name
    if group == "root":
        group = usual
    return f"{file}: no permission: join its group with `sudo usermod -aG {group} $USER`, then log in again"


def _holder(file: Path) -> str | None:
    """The program that has locked the port, else one that has it open; None if unknown to this user."""
    with contextlib.suppress(OSError):
        stat = file.stat()
        inode = f"{os.major(stat.st_dev):02x}:{os.minor(stat.st_dev):02x}:{stat.st_ino}"
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()  # number, kind, mode, access, process, device:inode, ...
            if fields[1] == "FLOCK" and fields[5] == inode and fields[4] != "0":  # 0: outside this container
                return _program(fields[4])
    device = os.path.realpath(file)
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if any(os.readlink(link) == device for link in (entry / "fd").iterdir()):
                return _program(entry.name)
    return None


def _program(process: str) -> str:
    if process == str(os.getpid()):
        return "this program itself"
    try:
        return f"{Path('/proc', process, 'comm').read_text().strip()} (process {process})"
    except OSError:
        return f"process {process}"
