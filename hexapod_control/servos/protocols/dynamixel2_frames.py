"""Dynamixel protocol 2 (X series). Raw units are steps, 4096 per turn; words are little-endian, two's complement.

Frames and byte stuffing: Robotis e-manual, "Protocol 2.0". Registers: Robotis e-manual, X series control table.
† from memory of it, not verified.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import IntEnum

from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault
from hexapod_control.servos.bus.ff_frames import FFPacket, PacketDecoder, joined_rows
from hexapod_control.servos.bus.id_addressing import FaultBits

SCALE = RawScale(unit="tick", low=0, high=4095, center=2048, per_rad=4096 / (2 * math.pi))
CRC_POLYNOMIAL = 0x8005
BAUD = 57600  # from the factory
HEADER = b"\xff\xff\xfd\x00"
BROADCAST = 0xFE
LAST_ID = 0xFC
OVERHEAD = 11  # bytes of a status without its data
MAX_FRAME_BYTES = 1024  # bytes that LEN may count
CRC_ERROR = 3  # in the error byte: the request arrived damaged
ALERT = 0x80  # in the error byte: HARDWARE_ERROR is set
VOLT = 0.1  # [V]
FULL_LOAD = 1000  # per mille
STEPS_PER_SECOND = 0.229 / 60 * 4096  # of one unit of velocity, 0.229 rpm †
TIME_BASED = 0x04  # bit of DRIVE_MODE: PROFILE_VELOCITY is a time [ms] †
FAULT_BITS: FaultBits = {
    0: ServoFault.VOLTAGE,
    2: ServoFault.HEAT,
    3: ServoFault.ENCODER,
    4: ServoFault.OTHER,  # electrical
    5: ServoFault.OVERLOAD,
}


class Dynamixel2Instruction(IntEnum):
    """Instruction of a request."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REG_WRITE = 0x04
    ACTION = 0x05
    FACTORY_RESET = 0x06
    REBOOT = 0x08
    CLEAR = 0x10
    BACKUP = 0x20
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83
    FAST_SYNC_READ = 0x8A
    BULK_READ = 0x92
    BULK_WRITE = 0x93
    FAST_BULK_READ = 0x9A


class Dynamixel2Mode(IntEnum):
    """Values of OPERATING_MODE."""

    CURRENT = 0
    VELOCITY = 1
    POSITION = 3
    EXTENDED_POSITION = 4
    CURRENT_POSITION = 5
    PWM = 16


class Dynamixel2Register(IntEnum):
    """Addresses. Registers are one byte unless noted."""

    MODEL = 0  # 2 bytes
    ID = 7
    BAUD = 8
    RETURN_DELAY = 9  # 2 us
    DRIVE_MODE = 10  # bit 0 reverse, bit 2 time-based profile †
    OPERATING_MODE = 11
    SECOND_ID = 12
    HOMING_OFFSET = 20  # 4 bytes
    MAX_TEMPERATURE = 31  # degC
    MAX_VOLTAGE = 32  # 2 bytes, 0.1 V
    MIN_VOLTAGE = 34  # 2 bytes, 0.1 V
    PWM_LIMIT = 36  # 2 bytes, 0.113 %
    VELOCITY_LIMIT = 44  # 4 bytes, 0.229 rpm
    HIGH_LIMIT = 48  # 4 bytes
    LOW_LIMIT = 52  # 4 bytes
    SHUTDOWN = 63
    TORQUE = 64
    STATUS_LEVEL = 68
    REGISTERED = 69  # a REG_WRITE waits
    HARDWARE_ERROR = 70  # latched until a reboot
    BUS_WATCHDOG = 98  # 20 ms; -1 after it has struck
    GOAL_PWM = 100  # 2 bytes
    GOAL_VELOCITY = 104  # 4 bytes
    PROFILE_ACCELERATION = 108  # 4 bytes
    PROFILE_VELOCITY = 112  # 4 bytes
    GOAL = 116  # 4 bytes
    TICK = 120  # 2 bytes, ms
    MOVING = 122
    PWM = 124  # 2 bytes, 0.113 %
    LOAD = 126  # 2 bytes, 0.1 %
    VELOCITY = 128  # 4 bytes, 0.229 rpm †
    POSITION = 132  # 4 bytes
    TRAJECTORY_VELOCITY = 136  # 4 bytes
    TRAJECTORY_POSITION = 140  # 4 bytes
    VOLTAGE = 144  # 2 bytes, 0.1 V
    TEMPERATURE = 146  # degC
    BACKUP_READY = 147


def _crc_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        remainder = byte << 8
        for _ in range(8):
            remainder = (remainder << 1 ^ (CRC_POLYNOMIAL if remainder & 0x8000 else 0)) & 0xFFFF
        table.append(remainder)
    return tuple(table)


_CRC_TABLE = _crc_table()


def crc(data: bytes) -> int:
    """CRC-16/BUYPASS: polynomial 0x8005, highest bit first, starts at 0, no final XOR.

    Source: Robotis e-manual, "CRC Calculation" of protocol 2.0.
    """
    remainder = 0
    for byte in data:
        remainder = (remainder << 8 & 0xFFFF) ^ _CRC_TABLE[remainder >> 8 ^ byte]
    return remainder


def stuffed(body: bytes) -> bytes:
    """The bytes from the instruction on, with byte stuffing, so that they contain no header."""
    return body.replace(HEADER[:3], HEADER[:3] + b"\xfd")


def unstuffed(body: bytes) -> bytes:
    """The bytes from the instruction on, with the stuffing removed."""
    return body.replace(HEADER[:3] + b"\xfd", HEADER[:3])


def build(servo: int, instruction: int, data: bytes = b"") -> bytes:
    """One frame: `FF FF FD 00 ID LEN_L LEN_H INSTRUCTION DATA... CRC_L CRC_H`. Raises ValueError if it is too long."""
    body = stuffed(bytes((instruction,)) + data)
    if len(body) + 9 > MAX_FRAME_BYTES:
        raise ValueError(f"{len(body)} bytes do not fit into a frame, at most {MAX_FRAME_BYTES - 9}")
    frame = HEADER + bytes((servo,)) + words(len(body) + 2) + body
    return frame + words(crc(frame))


def words(*values: int) -> bytes:
    """Encodes numbers as little-endian words."""
    return b"".join(value.to_bytes(2, "little") for value in values)


def read_request(servo: int, address: int, length: int) -> bytes:
    """Request to read registers of a servo."""
    return build(servo, Dynamixel2Instruction.READ, words(address, length))


def write_request(servo: int, address: int, data: bytes) -> bytes:
    """Request to write registers of a servo, or of all (BROADCAST: no status comes back)."""
    return build(servo, Dynamixel2Instruction.WRITE, words(address) + data)


def sync_write_request(address: int, rows: Mapping[int, bytes]) -> bytes:
    """Request to write the same registers of several servos (id -> data, all of one length) in one frame."""
    size, data = joined_rows(rows)
    return build(BROADCAST, Dynamixel2Instruction.SYNC_WRITE, words(address, size) + data)


def sync_read_request(address: int, length: int, ids: Iterable[int]) -> bytes:
    """Request to read the same registers of several servos; each sends its own status."""
    return build(BROADCAST, Dynamixel2Instruction.SYNC_READ, words(address, length) + bytes(ids))


def fast_sync_read_request(address: int, length: int, ids: Iterable[int]) -> bytes:
    """Request to read the same registers of several servos, which together send one status."""
    return build(BROADCAST, Dynamixel2Instruction.FAST_SYNC_READ, words(address, length) + bytes(ids))


def fast_size(length: int, count: int) -> int:
    """Number of bytes of the common status of a fast sync read."""
    return 8 + count * (length + 4)


def fast_rows(data: bytes, length: int) -> dict[int, bytes]:
    """Servo id -> error byte and registers, from the common status of a fast sync read."""
    starts = range(0, len(data) - 1 - length, length + 4)  # of error, id, registers, CRC up to there
    return {data[at + 1]: data[at : at + 1] + data[at + 2 : at + 2 + length] for at in starts}


def goal_row(goal: int) -> bytes:
    """Register GOAL."""
    return goal.to_bytes(4, "little", signed=True)


class Dynamixel2Decoder(PacketDecoder):
    """Finds frames of protocol 2; the data of a status begin with the error byte."""

    header, head, id_at = HEADER, 8, 4

    def __init__(self, ids: Iterable[int] | None = None, size: int | None = None) -> None:
        """Accepts only statuses of these ids with `size` bytes after the instruction (None: any frame)."""
        super().__init__()
        self._ids = frozenset(range(BROADCAST + 1) if ids is None else ids)
        self._size = size

    def _frame_size(self, head: bytes) -> int:
        length = int.from_bytes(head[5:7], "little")
        return 7 + length if self._plausible(head[4], length, head[7]) else 0

    def _plausible(self, servo: int, length: int, instruction: int) -> bool:
        if servo not in self._ids or not 3 <= length <= MAX_FRAME_BYTES:
            return False
        if self._size is None:
            return True
        plain = self._size + 3
        return instruction == Dynamixel2Instruction.STATUS and plain <= length <= plain + self._size // 3

    def _decode(self, frame: bytes) -> FFPacket | None:
        if crc(frame[:-2]) != int.from_bytes(frame[-2:], "little"):
            return None
        body = frame[7:-2]
        fast = frame[4] == BROADCAST and frame[7] == Dynamixel2Instruction.STATUS  # the one kind without stuffing
        if not fast:
            plain = unstuffed(body)
            if stuffed(plain) != body:
                return None
            body = plain
        return FFPacket(frame[4], body[0], body[1:]) if self._size in (None, len(body) - 1) else None
