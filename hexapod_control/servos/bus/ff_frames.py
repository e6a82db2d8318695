"""The `FF FF` frames shared by Dynamixel protocol 1 and Feetech ST and SC: `FF FF ID LEN CODE DATA... CHECKSUM`.

CODE is the instruction in a request and the error bits in a status; LEN counts CODE, DATA and CHECKSUM;
CHECKSUM = ~(sum of everything from ID on). Sources: Robotis "Dynamixel Protocol 1.0", Feetech SDK.
Requests and statuses have the same form, so on a line with echo a request comes back looking like a status:
the decoder drops what is identical to the request. Only a ping (`FF FF ID 02 01 ck`) and its status with error 1
are identical; so the first registers are read instead of sending a ping.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    """One frame. Raises ValueError if the data do not fit into one."""
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
    """Encodes a number as sign (`bit`) and magnitude, clamped to what fits."""
    magnitude = min(abs(value), (1 << bit) - 1)
    return magnitude | (1 << bit if value < 0 else 0)


def tail(rest: bytes, header: bytes) -> bytes:
    """The end of bytes without a header that may be the start of one."""
    sizes = range(min(len(header) - 1, len(rest)), 0, -1)
    return next((rest[-size:] for size in sizes if header.startswith(rest[-size:])), b"")


class FFDecoder:
    """Finds frames in a byte stream with noise and broken frames.

    A frame is accepted if it has a plausible header and a correct checksum; else the search continues one byte later,
    so a broken frame never hides a good one.
    """

    def __init__(self, ids: Iterable[int] | None = None, size: int | None = None, echo: bytes = b"") -> None:
        """Accepts only statuses of these ids with `size` bytes of data (None: any), and drops copies of `echo`."""
        self._ids = frozenset(range(BROADCAST + 1) if ids is None else ids)
        self._length = None if size is None else size + 2
        self._echo = echo
        self._buffer = b""
        self.bad = 0  # headers without a good frame
        self.echoes = 0

    def feed(self, data: bytes) -> list[FFPacket]:
        """The packets that these bytes complete."""
        buffer = self._buffer + data
        packets: list[FFPacket] = []
        start = 0
        while (at := buffer.find(HEADER, start)) >= 0 and len(buffer) >= at + 4:
            if not self._plausible(buffer[at + 2], buffer[at + 3]):
                start = at + 1
                continue
            end = at + 4 + buffer[at + 3]
            if len(buffer) < end:
                break
            if checksum(buffer[at + 2 : end - 1]) != buffer[end - 1]:
                self.bad += 1
                start = at + 1
                continue
            if buffer[at:end] == self._echo:
                self.echoes += 1
            else:
                packets.append(FFPacket(buffer[at + 2], buffer[at + 4], buffer[at + 5 : end - 1]))
            start = end
        self._buffer = buffer[at:] if at >= 0 else tail(buffer[start:], HEADER)
        return packets

    def forget(self) -> None:
        """Drops an unfinished frame, as servos do after a pause on the line."""
        self._buffer = b""

    def _plausible(self, servo: int, length: int) -> bool:
        if self._echo and (servo, length) == (self._echo[2], self._echo[3]):
            return True
        return servo in self._ids and length >= 2 and self._length in (None, length)
