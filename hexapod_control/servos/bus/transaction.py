"""A request and its replies over a port, for every protocol: deadlines, partial answers, counters."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from hexapod_control.servos.bus.bus_interface import BusCounters, BusError
from hexapod_control.servos.bus.ff_frames import FFPacket
from hexapod_control.servos.bus.serial_port import Port

BITS_PER_BYTE = 10  # on the wire per byte: 8N1


@dataclass(frozen=True, slots=True)
class ReplyTiming:
    """Time that a reply may take beyond its bytes on the wire."""

    return_delay: float = 0.0  # [s] of a servo between request and reply, as configured
    turnaround: float = 0.001  # [s] of the adapter between the last byte in and the first byte out
    margin: float = 0.008  # [s] for the scheduler of this machine


class FrameDecoder(Protocol):
    """Turns bytes into packets; one for each protocol."""

    bad: int

    def feed(self, data: bytes) -> list[FFPacket]:
        """The packets that these bytes complete."""


class Transaction:
    """Sends frames and collects the statuses that come back."""

    def __init__(self, port: Port, wait: ReplyTiming | None = None) -> None:
        """Uses this port; `wait` is the time that replies may take beyond their transmission."""
        self.port = port
        self.wait = wait or ReplyTiming()
        self.counters = BusCounters()
        self.received_bytes = 0  # since the start, good or not
        self._received = b""  # since the last request
        self._busy_until = 0.0  # when the last byte sent has been transmitted (time.monotonic() [s])

    def send(self, frame: bytes, count: int = 1) -> None:
        """Sends `count` frames in ONE write, which returns long before they are transmitted."""
        self._busy_until = max(self._busy_until, time.monotonic()) + self.seconds(len(frame))
        self.port.write(frame)
        self.counters.sent += count

    def ask(self, frame: bytes, ids: Collection[int], size: int, decoder: FrameDecoder) -> dict[int, FFPacket]:
        """Sends a request that these servos answer with `size` bytes each. Late answers are missing from the result."""
        self.port.clear()
        self.send(frame)
        deadline = self._busy_until + self.reply_timeout(size, len(ids))
        missing = set(ids)
        answers: dict[int, FFPacket] = {}
        self._received = b""
        while missing:
            packets, more = self._listen(size * len(missing), deadline, decoder)
            for packet in packets:
                if packet.id in missing:
                    missing.remove(packet.id)
                    answers[packet.id] = packet
            if not more:
                break
        echoed = frame in self._received
        self.counters.echoes += echoed
        garbled = not answers and len(self._received) > echoed * len(frame)  # not even the header of a frame
        self._count(ids, missing, max(decoder.bad, garbled))
        return answers

    def ask_once(self, frame: bytes, size: int, decoder: FrameDecoder) -> FFPacket | None:
        """Sends a request that is answered by one packet of `size` bytes; None if it does not come in time."""
        self.port.clear()
        self.send(frame)
        deadline = self._busy_until + self.reply_timeout(size, 1)
        packets: list[FFPacket] = []
        self._received, more = b"", True
        while more and not packets:
            packets, more = self._listen(size, deadline, decoder)
        self._count((), (), decoder.bad)
        return packets[0] if packets else None

    def reply_timeout(self, size: int, count: int) -> float:
        """Time [s] after the request that `count` replies of `size` bytes may take."""
        return self.seconds(size * count) + self.wait.turnaround + count * self.wait.return_delay + self.wait.margin

    def seconds(self, size: int) -> float:
        """Time of `size` bytes on the wire [s]."""
        return size * BITS_PER_BYTE / self.port.baud

    def no_answer(self) -> BusError:
        """The error to raise when no servo has answered."""
        if self.counters.echoes:
            return BusError(
                f"only the echo of what is sent comes back at {self.port.baud} baud; no servo answers: check the "
                "servos' power supply, that TX and RX are not merely joined, the baud and the ids"
            )
        if self.received_bytes:
            return BusError(
                f"bytes arrive at {self.port.baud} baud, but no valid frame: wrong baud or protocol, "
                "or two servos with one id; check both against the robot file"
            )
        return BusError(
            f"no servo answers at {self.port.baud} baud: check the servos' power supply, the data line and its "
            "direction, the baud and the ids"
        )

    def _listen(self, size: int, deadline: float, decoder: FrameDecoder) -> tuple[list[FFPacket], bool]:
        """The packets in the next `size` bytes, and whether the deadline has not passed."""
        data = self.port.read(size, deadline)
        self._received += data
        self.received_bytes += len(data)
        return decoder.feed(data), len(data) == size

    def _count(self, ids: Collection[int], missing: Collection[int], bad: int) -> None:
        self.counters.bad += bad
        self.counters.received += len(ids) - len(missing)
        self.counters.timeouts += len(missing)
        for servo in ids:
            self.counters.misses[servo] = self.counters.misses.get(servo, 0) + 1 if servo in missing else 0
