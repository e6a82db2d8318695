"""The `FF FF` frames shared by Dynamixel protocol 1 and Feetech ST and SC: `FF FF ID LEN CODE DATA... CHECKSUM`.

CODE is the instruction in a request and the error bits in a status; LEN counts CODE, DATA and CHECKSUM;
CHECKSUM = ~(sum of everything from ID on). Sources: Robotis "Dynamixel Protocol 1.0", Feetech SDK.
Requests and statuses have the same form, so the echo of a request looks like a status: the decoder drops frames that
are identical to the request. Only a ping (`FF FF ID 02 01 ck`) and its status with error 1 are identical, so the first
registers are read instead of sending a ping.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

HEADER = b"\xff\xff"
BROADCAST = 0xFE
LAST_ID = 0xFD
OVERHEAD = 6  # bytes of a frame without its data
MAX_LENGTH = 0xFF


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


def read(servo: int, address: int, length: int) -> bytes:
    """Request to read registers of a servo."""
    return build(servo, FFInstruction.READ, bytes((address, length)))


def write(servo: int, address: int, data: bytes) -> bytes:
    """Request to write registers of a servo, or of all (BROADCAST: no status comes back)."""
    return build(servo, FFInstruction.WRITE, bytes((address,)) + data)


def sync_write(address: int, rows: Mapping[int, bytes]) -> bytes:
    """Request to write the same registers of several servos (id -> data, all of one length) in one frame."""
    sizes = {len(data) for data in rows.values()}
    if len(sizes) != 1:
        raise ValueError(f"all rows of a sync write must be of one length, have {sorted(sizes)}")
    data = b"".join(bytes((servo,)) + row for servo, row in rows.items())
    return build(BROADCAST, FFInstruction.SYNC_WRITE, bytes((address, sizes.pop())) + data)


def sync_read(address: int, length: int, ids: Iterable[int]) -> bytes:
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
    """The longest end of `rest` that may be the beginning of a header."""
    sizes = range(min(len(header) - 1, len(rest)), 0, -1)
    return next((rest[-size:] for size in sizes if header.startswith(rest[-size:])), b"")


def find_packets(
    stream: bytes, header: bytes, head: int, size: Callable[[bytes], int], decode: Callable[[bytes], FFPacket | None]
) -> tuple[list[FFPacket], bytes]:
    """Finds the packets in a byte stream with noise and broken frames. Returns them and the unfinished rest.

    A frame starts with `header`; `size` returns its length in bytes from its first `head` bytes, or 0 if they are
    implausible; `decode` returns its packet, or None if it is broken. After implausible or broken bytes the search
    continues one byte later, so a broken frame never hides a good one.
    """
    packets: list[FFPacket] = []
    start = 0
    while True:
        at = stream.find(header, start)
        if at < 0:
            return packets, tail(stream[start:], header)
        if len(stream) < at + head:
            return packets, stream[at:]
        end = at + size(stream[at : at + head])
        if len(stream) < end:
            return packets, stream[at:]
        packet = decode(stream[at:end]) if end > at else None
        if packet is None:
            start = at + 1
        else:
            packets.append(packet)
            start = end


class FFDecoder:
    """Finds frames in a byte stream, see `find_packets`."""

    def __init__(self, ids: Iterable[int] | None = None, size: int | None = None, echo: bytes = b"") -> None:
        """Accepts only statuses of these ids with `size` bytes of data (None: any), and drops copies of `echo`."""
        self._ids = frozenset(range(BROADCAST + 1) if ids is None else ids)
        self._length = None if size is None else size + 2
        self._echo_head = echo[2:4]  # id and length
        self._echo = _packet(echo) if echo else None
        self._buffer = b""
        self.bad = 0  # headers without a good frame
        self.echoes = 0

    def feed(self, data: bytes) -> list[FFPacket]:
        """The packets that these bytes complete."""
        found, self._buffer = find_packets(self._buffer + data, HEADER, 4, self._size, self._decode)
        packets = [packet for packet in found if packet != self._echo]
        self.echoes += len(found) - len(packets)
        return packets

    def forget(self) -> None:
        """Drops an unfinished frame, as servos do after a pause on the line."""
        self._buffer = b""

    def _size(self, head: bytes) -> int:
        servo, length = head[2], head[3]
        plausible = servo in self._ids and length >= 2 and self._length in (None, length)
        return 4 + length if plausible or head[2:4] == self._echo_head else 0

    def _decode(self, frame: bytes) -> FFPacket | None:
        if checksum(frame[2:-1]) == frame[-1]:
            return _packet(frame)
        self.bad += 1
        return None


def _packet(frame: bytes) -> FFPacket:
    """The content of a frame whose checksum is correct."""
    return FFPacket(frame[2], frame[4], frame[5:-1])
