# SPDX-License-Identifier: Apache-2.0
"""The `FF FF` frames shared by Dynamixel protocol 1 and Feetech ST and SC: `FF FF ID LEN CODE DATA... CHECKSUM`.

CODE is the instruction in a request and the error bits in a status; LEN counts CODE, DATA and CHECKSUM;
CHECKSUM = ~(sum of everything from ID on). Sources: Robotis "Dynamixel Protocol 1.0", Feetech SDK.
Requests and statuses have the same form, so the echo of a request looks like a status: the decoder drops frames that
are identical to the request. Only a ping (`FF FF ID 02 01 ck`) and its status with error 1 are identical, so the first
registers are read instead of sending a ping.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

HEADER = b"\xff\xff"
BROADCAST = 0xFE
LAST_ID = 0xFD
OVERHEAD = 6  # bytes of a frame without its data
MAX_LENGTH = 0xFF
DAMAGED = -1  # code of a frame whose checksum is wrong, for servos, which report it


class FFInstruction(IntEnum):
    """Instruction of a request."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    SYNC_READ = 0x82  # Feetech ST only
    SYNC_WRITE = 0x83


class FFPacket(NamedTuple):
    """Content of a frame: servo id, instruction or error bits, data."""

    id: int
    code: int
    data: bytes


def checksum(body: bytes) -> int:
    """Checksum of the bytes from ID to the last of DATA."""
    return ~sum(body) & 0xFF


def build(servo: int, code: int, data: bytes = b"") -> bytes:
    """The frame of an instruction or a status. Raises ValueError for too many data."""
    if len(data) + 2 > MAX_LENGTH:
        raise ValueError(f"{len(data)} bytes of data do not fit into a frame, at most {MAX_LENGTH - 2}")
    body = bytes((servo, len(data) + 2, code)) + data
    return HEADER + body + bytes((checksum(body),))


def read_request(servo: int, address: int, length: int) -> bytes:
    """Request to read registers of a servo."""
    return build(servo, FFInstruction.READ, bytes((address, length)))


def write_request(servo: int, address: int, data: bytes) -> bytes:
    """Request to write registers of a servo, or of all (BROADCAST: no status comes back)."""
    return build(servo, FFInstruction.WRITE, bytes((address,)) + data)


def sync_write_request(address: int, rows: Mapping[int, bytes]) -> bytes:
    """Request to write the same registers of several servos (id -> data, all of one length) in one frame."""
    size, data = joined_rows(rows)
    return build(BROADCAST, FFInstruction.SYNC_WRITE, bytes((address, size)) + data)


def joined_rows(rows: Mapping[int, bytes]) -> tuple[int, bytes]:
    """The length of the rows (id -> data) of a sync write, and each id followed by its row. Raises ValueError."""
    sizes = {len(row) for row in rows.values()}
    if len(sizes) != 1:
        raise ValueError(f"all rows of a sync write must be of one length, have {sorted(sizes)}")
    return sizes.pop(), b"".join(bytes((servo,)) + row for servo, row in rows.items())


def sync_read_request(address: int, length: int, ids: Iterable[int]) -> bytes:
    """Request to read the same registers of several servos; each sends its own status (Feetech ST only)."""
    return build(BROADCAST, FFInstruction.SYNC_READ, bytes((address, length, *ids)))


def signed(value: int, bit: int) -> int:
    """Decodes sign and magnitude: `bit` is the sign, the bits below it the magnitude."""
    magnitude = value & ((1 << bit) - 1)
    return -magnitude if value >> bit & 1 else magnitude


def sign_magnitude(value: int, bit: int) -> int:
    """Encodes a number as sign (`bit`) and magnitude, which is clamped to the bits below."""
    magnitude = min(abs(value), (1 << bit) - 1)
    return magnitude | (1 << bit if value < 0 else 0)


def tail(rest: bytes, header: bytes) -> bytes:
    """The longest end of `rest` that may be the beginning of a header, without a whole one."""
    sizes = range(min(len(header) - 1, len(rest)), 0, -1)
    return next((rest[-size:] for size in sizes if header.startswith(rest[-size:])), b"")


class PacketDecoder(ABC):
    """Finds packets in a byte stream with noise and broken frames.

    After bytes that are no frame the search continues one byte later, so a broken frame never hides a good one.
    """

    header: bytes  # at the start of every frame
    head: int  # number of first bytes that show its length
    id_at: int = 2  # index of the id

    def __init__(self) -> None:
        self._buffer = b""
        self.bad = 0  # frames with a wrong checksum or content
        self.reports_damage = False  # yields a packet DAMAGED for every such frame

    @abstractmethod
    def _frame_size(self, head: bytes) -> int:
        """Length of the frame with these first bytes; 0 if they are implausible."""

    @abstractmethod
    def _decode(self, frame: bytes) -> FFPacket | None:
        """The packet of a frame; None if it is broken."""

    def feed(self, data: bytes) -> list[FFPacket]:
        """The packets that these bytes complete."""
        packets: list[FFPacket] = []
        stream = self._buffer + data
        header = self.header
        start = 0
        while True:
            at = stream.find(header, start)
            if at < 0:
                self._buffer = tail(stream[start:], header)
                return packets
            first = stream[at : at + self.head]
            size = self._frame_size(first) if len(first) == self.head else self.head
            if len(stream) < at + size:
                self._buffer = stream[at:]
                return packets
            packet = self._decode(stream[at : at + size]) if size else None
            if packet is None:
                self.bad += size > 0
                if size and self.reports_damage:
                    packets.append(FFPacket(first[self.id_at], DAMAGED, b""))
                start = at + 1
            else:
                packets.append(packet)
                start = at + size

    def forget(self) -> None:
        """Drops an unfinished frame, as servos do after a pause on the line."""
        self._buffer = b""


class FFDecoder(PacketDecoder):
    """Finds `FF FF` frames."""

    header = HEADER
    head = 4

    def __init__(self, ids: Iterable[int] | None = None, size: int | None = None, echo: bytes = b"") -> None:
        """Accepts only statuses of these ids with `size` bytes of data (None: any), and drops copies of `echo`."""
        super().__init__()
        self._ids = frozenset(range(BROADCAST + 1) if ids is None else ids)
        self._length = None if size is None else size + 2
        self._echo_head = echo[2:4]  # id and length
        self._echo = _packet(echo) if echo else None

    def feed(self, data: bytes) -> list[FFPacket]:
        """The packets that these bytes complete, without the echo."""
        return [packet for packet in super().feed(data) if packet != self._echo]

    def _frame_size(self, head: bytes) -> int:
        servo, length = head[2], head[3]
        plausible = servo in self._ids and length >= 2 and self._length in (None, length)
        return 4 + length if plausible or head[2:4] == self._echo_head else 0

    def _decode(self, frame: bytes) -> FFPacket | None:
        return _packet(frame) if checksum(frame[2:-1]) == frame[-1] else None


def _packet(frame: bytes) -> FFPacket:
    """The content of a frame whose checksum is correct."""
    return FFPacket(frame[2], frame[4], frame[5:-1])
