"""An emulated device behind a pseudo-terminal, with the timing of a real line and injectable faults.

A pty accepts any baud rate and has no delay: here a byte takes 10 / baud, the device's return delay and the USB
turnaround are simulated, and with a wrong baud rate the host sends and receives corrupt bytes.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import os
import random
import select
import termios
import threading
import time
import tty
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hexapod_control.servos.emulator.device import EmulatedDevice, UsbDevice

MAX_SLEEP_S = 0.5  # of the thread
READ_BYTES = 4096
BAUDS = {value for name, value in vars(termios).items() if name[0] == "B" and name[1:].isdigit()}  # of termios


@dataclass(slots=True)
class WireFaults:
    """Faults of the line; shares of replies are 0 to 1. May be changed at any time."""

    drop: float = 0.0  # share that is lost
    flip: float = 0.0  # share with one bit wrong
    corrupt: float = 0.0  # share of the bytes, in both directions, that are wrong
    truncate: float = 0.0  # share that is cut off
    double: float = 0.0  # share that is sent twice
    glue: bool = False  # replies wait for the next one and come in one piece
    split: bool = False  # replies come byte by byte
    echo: bool = False  # the host's bytes are echoed
    noise: bytes = b""  # before every reply
    slow: float = 0.0  # [s] before every reply, for which the line is busy
    late: float = 0.0  # [s] by which replies reach the host later
    mute: bool = False  # nothing is sent to the host


class PseudoTerminal:
    """Runs a device; `path` is what the host opens. Close it at the end (it is a context manager)."""

    def __init__(
        self, device: EmulatedDevice, baud: int, *, link: Path | None = None, turnaround: float = 0.001, seed: int = 0
    ) -> None:
        """`link` is a symbolic link to create, `turnaround` [s] the USB delay before every first reply."""
        self.device, self.baud, self.faults = device, baud, WireFaults()
        self.listener: Callable[[bytes], None] = lambda data: None  # called with all bytes that the host sent
        self._link, self._turnaround, self._random = link, turnaround, random.Random(seed)
        self._byte = 10.0 / baud
        self._order = itertools.count()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.come_back()

    def __enter__(self) -> PseudoTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        self._received_at = self._transmitted_at = 0.0
        self._held = b""
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
        start = max(time.monotonic(), self._received_at)
        self._received_at = start + len(data) * self._byte
        self.listener(data)
        end = self._received_at
        self._at(end, lambda: self._answer(data, end))

    def _answer(self, data: bytes, end: float) -> None:
        garbled = not self._same_baud()
        if self.faults.echo:
            self._transmitted_at = max(self._transmitted_at, end)
            self._transmit(data)
        received = self._garble(data) if garbled else self._corrupted(data)
        begin = max(end, self._transmitted_at)
        for i, (delay, reply) in enumerate(self.device.receive(received, time.monotonic())):
            begin += delay + (self._turnaround if i == 0 else 0.0)
            for spoken in self._disturbed(reply):
                begin += self.faults.slow + len(spoken) * self._byte
                self._schedule(begin + self.faults.late, self._garble(spoken) if garbled else spoken)
        self._transmitted_at = begin

    def _disturbed(self, reply: bytes) -> list[bytes]:
        """A reply after the faults of the line, in pieces."""
        faults, chance = self.faults, self._random.random
        if not reply or faults.mute or chance() < faults.drop:
            return []
        if chance() < faults.flip:
            bit = self._random.randrange(8 * len(reply))
            changed = bytearray(reply)
            changed[bit // 8] ^= 1 << bit % 8
            reply = bytes(changed)
        reply = self._corrupted(reply)
        if chance() < faults.truncate:
            reply = reply[: self._random.randrange(len(reply))]
        if faults.glue and not self._held:
            self._held = reply
            return []
        held, self._held = self._held, b""
        reply = held + faults.noise + reply
        return [reply, reply] if chance() < faults.double else [reply]

    def _corrupted(self, data: bytes) -> bytes:
        share, chance = self.faults.corrupt, self._random
        if not share:
            return data
        return bytes(chance.randrange(256) if chance.random() < share else byte for byte in data)

    def _schedule(self, end: float, reply: bytes) -> None:
        if not self.faults.split:
            self._at(end, lambda: self._transmit(reply))
            return
        for i in range(len(reply)):
            byte = reply[i : i + 1]
            self._at(end - (len(reply) - 1 - i) * self._byte, lambda byte=byte: self._transmit(byte))  # type: ignore[misc]

    def _transmit(self, data: bytes) -> None:
        with contextlib.suppress(OSError):  # without a reader the buffer is full
            os.write(self._master, data)

    def _same_baud(self) -> bool:
        """False only when both bauds have a termios constant and differ, and the device has a serial line at all."""
        if isinstance(self.device, UsbDevice) and self.device.ignores_baud:
            return True
        own = getattr(termios, f"B{self.baud}", None)
        asked = termios.tcgetattr(self._master)[5]
        return own is None or asked not in BAUDS or asked in (own, termios.B38400)

    def _garble(self, data: bytes) -> bytes:
        return bytes(self._random.randrange(256) for _ in data)
