# SPDX-License-Identifier: Apache-2.0
"""The line between a host and an emulated device: arrival times of bytes, and faults. No I/O, no clock."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from hexapod_control.servos.bus.bus_interface import transmission_time
from hexapod_control.servos.emulator.device import DelayedReply


@dataclass(slots=True)
class WireFaults:
    """Faults of the line; shares of replies are 0 to 1. May be changed at any time."""

    drop: float = 0.0  # share of lost replies
    flip: float = 0.0  # share of replies with one wrong bit
    corrupt: float = 0.0  # share of wrong bytes, in both directions
    truncate: float = 0.0  # share of replies that are cut off
    double: float = 0.0  # share of replies that are sent twice
    glue: bool = False  # two replies arrive in one piece
    split: bool = False  # replies arrive byte by byte
    echo: bool = False  # the host's bytes are echoed
    noise: bytes = b""  # sent before every reply
    slow: float = 0.0  # [s] before every reply, for which the line is busy
    late: float = 0.0  # [s] additional delay until replies reach the host
    mute: bool = False  # nothing is sent to the host


class EmulatedLine:
    """A line with a fixed baud. Times are steady [s]."""

    def __init__(self, baud: int, turnaround: float, seed: int) -> None:
        """`turnaround` [s] is the USB delay before every first reply."""
        self.faults = WireFaults()
        self._byte = transmission_time(1, baud)  # [s]
        self._turnaround = turnaround
        self._random = random.Random(seed)
        self.clear()

    def clear(self) -> None:
        """Discards all bytes on the line."""
        self._received_at = self._transmitted_at = 0.0
        self._held = b""

    def sent(self, data: bytes, now: float) -> float:
        """Records bytes that the host sends. Returns the time at which the device has received the last one."""
        self._received_at = max(now, self._received_at) + len(data) * self._byte
        return self._received_at

    def received(self, data: bytes, *, garbled: bool) -> bytes:
        """The bytes as the device receives them; `garbled` if the host has another baud."""
        return self._garble(data) if garbled else self._corrupted(data)

    def schedule(self, replies: Iterable[DelayedReply], end: float, *, garbled: bool) -> list[tuple[float, bytes]]:
        """Times and bytes that the host receives, for the replies to a request that was received at `end`."""
        arrivals: list[tuple[float, bytes]] = []
        begin = max(end, self._transmitted_at)
        for i, (delay, reply) in enumerate(replies):
            begin += delay + (self._turnaround if i == 0 else 0.0)
            for sent in self._disturbed(reply):
                begin += self.faults.slow + len(sent) * self._byte
                arrivals += self._pieces(self._garble(sent) if garbled else sent, begin + self.faults.late)
        self._transmitted_at = begin
        return arrivals

    def _pieces(self, reply: bytes, end: float) -> list[tuple[float, bytes]]:
        if not self.faults.split:
            return [(end, reply)]
        last = len(reply) - 1
        return [(end - (last - i) * self._byte, reply[i : i + 1]) for i in range(len(reply))]

    def _disturbed(self, reply: bytes) -> list[bytes]:
        """A reply after the faults of the line, in pieces."""
        faults = self.faults
        chance = self._random.random
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
        held = self._held
        self._held = b""
        reply = held + faults.noise + reply
        return [reply, reply] if chance() < faults.double else [reply]

    def _corrupted(self, data: bytes) -> bytes:
        share = self.faults.corrupt
        chance = self._random
        if not share:
            return data
        return bytes(chance.randrange(256) if chance.random() < share else byte for byte in data)

    def _garble(self, data: bytes) -> bytes:
        return bytes(self._random.randrange(256) for _ in data)
