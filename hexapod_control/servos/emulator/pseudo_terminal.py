# SPDX-License-Identifier: Apache-2.0
"""An emulated device behind a pseudo-terminal, with the timing of a real line and injectable faults.

A pty accepts any baud rate and has no delay. Here a byte takes 10 / baud [s], the device's return delay and the USB
turnaround are simulated, and with a wrong baud rate the host sends and receives corrupt bytes.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import select
import termios
import threading
import time
import tty
from collections.abc import Callable
from pathlib import Path

from hexapod_control.servos.emulator.device import EmulatedDevice
from hexapod_control.servos.emulator.emulated_line import EmulatedLine, WireFaults

MAX_SLEEP_S = 0.5  # of the thread between events
READ_BYTES = 4096
BAUDS = {value for name, value in vars(termios).items() if name[0] == "B" and name[1:].isdigit()}  # of termios


class PseudoTerminal:
    """Runs a device in a thread; the host opens `path`. A context manager: `close` at the end."""

    def __init__(
        self, device: EmulatedDevice, baud: int, *, link: Path | None = None, turnaround: float = 0.001, seed: int = 0
    ) -> None:
        """`link` is a symbolic link to create, `turnaround` [s] the USB delay before every first reply."""
        self.device = device
        self.baud = baud
        device.baud = baud
        self.listener: Callable[[bytes], None] = lambda data: None  # called with all bytes that the host sends
        self._link = link
        self._line = EmulatedLine(baud, turnaround, seed)
        self._any_baud = device.ignores_baud
        self._order = itertools.count()
        self._thread: threading.Thread | None = None
        self.come_back()

    def __enter__(self) -> PseudoTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def faults(self) -> WireFaults:
        """Faults of the line."""
        return self._line.faults

    @faults.setter
    def faults(self, faults: WireFaults) -> None:
        self._line.faults = faults

    @property
    def path(self) -> str:
        """Path for the host to open."""
        return str(self._link) if self._link else self._name

    def come_back(self) -> None:
        """Plugs the device in (again): a new terminal, the same link."""
        if self._thread is not None:
            return
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self._name = os.ttyname(self._slave)
        self._wake, self._bell = os.pipe()
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._line.clear()
        if self._link:
            self._unlink()
            self._link.symlink_to(self._name)
        self._thread = threading.Thread(target=self._run, name="emulator", daemon=True)
        self._thread.start()

    def hang_up(self) -> None:
        """Pulls the cable: the terminal and the link are gone."""
        if self._thread is None:
            return
        if self._link:
            self._unlink()
        os.write(self._bell, b"x")
        self._thread.join()
        self._thread = None
        for descriptor in (self._master, self._slave, self._wake, self._bell):
            os.close(descriptor)

    close = hang_up

    def _unlink(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            assert self._link is not None
            self._link.unlink()

    # --- the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            now = time.monotonic()
            while self._events and self._events[0][0] <= now:
                heapq.heappop(self._events)[2]()
            wait = min(MAX_SLEEP_S, max(0.0, self._events[0][0] - time.monotonic())) if self._events else MAX_SLEEP_S
            ready, _, _ = select.select([self._master, self._wake], [], [], wait)
            if self._wake in ready:
                return
            if self._master in ready:
                with contextlib.suppress(OSError):
                    self._receive(os.read(self._master, READ_BYTES))

    def _at(self, when: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (when, next(self._order), action))

    def _receive(self, data: bytes) -> None:
        """Schedules bytes from the host: the device receives them when the last one is transmitted."""
        end = self._line.sent(data, time.monotonic())
        self.listener(data)
        self._at(end, lambda: self._answer(data, end))

    def _answer(self, data: bytes, end: float) -> None:
        garbled = not self._same_baud()
        if self.faults.echo:
            self._transmit(data)
        replies = self.device.receive(self._line.received(data, garbled=garbled), time.monotonic())
        for when, reply in self._line.schedule(replies, end, garbled=garbled):
            self._at(when, lambda reply=reply: self._transmit(reply))  # type: ignore[misc]

    def _transmit(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # without a reader the buffer is full
            os.write(self._master, data)

    def _same_baud(self) -> bool:
        """False only when both baud rates have a termios constant and differ, and the device has a serial line."""
        if self._any_baud:
            return True
        own = getattr(termios, f"B{self.baud}", None)
        host = termios.tcgetattr(self._master)[5]
        return own is None or host not in BAUDS or host in (own, termios.B38400)
