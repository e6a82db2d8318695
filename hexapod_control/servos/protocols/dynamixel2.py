# SPDX-License-Identifier: Apache-2.0
"""Dynamixel protocol 2 (X series). Raw units are steps, 4096 per turn; words are little-endian, two's complement.

Frames and byte stuffing: Robotis e-manual, "Protocol 2.0". Registers: Robotis e-manual, X series control table.
† from memory of it, not verified.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum

from hexapod_control.servos.bus.bus_interface import (
    RELAX_REPEATS,
    TRIES,
    BusTiming,
    RawScale,
    ServoFault,
    ServoQuantity,
    ServoReading,
)
from hexapod_control.servos.bus.ff_frames import FFPacket, PacketDecoder, joined_rows
from hexapod_control.servos.bus.id_addressing import FaultBits, SmartServoBus, decode_faults
from hexapod_control.servos.bus.model_numbers import robotis_model
from hexapod_control.servos.bus.registers import Register, RegisterRole, RegisterTable, status
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming

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
MAX_INT32 = 2**31 - 1
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


class Dynamixel2Register:
    """Registers of X servos; MX servos with protocol 2 have the same addresses."""

    MODEL = status(0, 2, 1060)
    MODEL_INFORMATION = status(2, 4)
    FIRMWARE = status(6, 1, 46)
    ID = Register(7, 1, 1, 0, 252, role=RegisterRole.ID)
    BAUD = Register(8, 1, 1, 0, 7)
    RETURN_DELAY = Register(9, 1, 250, 0, 254, role=RegisterRole.RETURN_DELAY)  # 2 us
    DRIVE_MODE = Register(10, 1, 0, 0, 13)  # bit 0 reverse, bit 2 time-based profile †
    OPERATING_MODE = Register(11, 1, Dynamixel2Mode.POSITION, 0, 16, values=(1, 3, 4, 16), role=RegisterRole.MODE)
    SECOND_ID = Register(12, 1, 255, 0, 255)
    PROTOCOL = Register(13, 1, 2, 1, 2)
    HOMING_OFFSET = Register(20, 4, 0, -1_044_479, 1_044_479, signed=True, role=RegisterRole.OFFSET)
    MOVING_THRESHOLD = Register(24, 4, 10, 0, 1023)
    MAX_TEMPERATURE = Register(31, 1, 72, 0, 100)  # degC
    MAX_VOLTAGE = Register(32, 2, 140, 60, 140)  # 0.1 V
    MIN_VOLTAGE = Register(34, 2, 60, 60, 140)  # 0.1 V
    PWM_LIMIT = Register(36, 2, 885, 0, 885, role=RegisterRole.FULL_TORQUE, title="PWM limit")  # 0.113 %
    VELOCITY_LIMIT = Register(44, 4, 265, 0, 1023)  # 0.229 rpm
    HIGH_LIMIT = Register(48, 4, 4095, 0, 4095, role=RegisterRole.HIGH_LIMIT, title="maximum position")
    LOW_LIMIT = Register(52, 4, 0, 0, 4095, role=RegisterRole.LOW_LIMIT, title="minimum position")
    STARTUP = Register(60, 1, 0, 0, 3)  # what happens at power-on
    SHUTDOWN = Register(63, 1, 52, 0, 63)  # faults that switch off
    TORQUE = Register(64, 1, 0, 0, 1, role=RegisterRole.TORQUE)
    LED = Register(65, 1, 0, 0, 1)
    STATUS_LEVEL = Register(68, 1, 2, 0, 2, role=RegisterRole.REPLY_LEVEL, title="status return level")
    REGISTERED = status(69, role=RegisterRole.REGISTERED)  # a REG_WRITE waits
    HARDWARE_ERROR = status(70)  # latched until a reboot
    VELOCITY_I = Register(76, 2, 1000, 0, 16383)
    VELOCITY_P = Register(78, 2, 100, 0, 16383)
    POSITION_D = Register(80, 2, 4000, 0, 16383)
    POSITION_I = Register(82, 2, 0, 0, 16383)
    POSITION_P = Register(84, 2, 640, 0, 16383)
    FEED_FORWARD_2 = Register(88, 2, 0, 0, 16383)
    FEED_FORWARD_1 = Register(90, 2, 0, 0, 16383)
    BUS_WATCHDOG = Register(98, 1, 0, 0, 127, signed=True)  # 20 ms; -1 after it has struck
    GOAL_PWM = Register(100, 2, 885, signed=True, copies=PWM_LIMIT)
    GOAL_VELOCITY = Register(104, 4, signed=True)
    PROFILE_ACCELERATION = Register(108, 4, 0, 0, 32767)
    PROFILE_VELOCITY = Register(112, 4, 0, 0, 32767)
    GOAL = Register(116, 4, 2048, -MAX_INT32, MAX_INT32, signed=True, role=RegisterRole.GOAL)
    TICK = status(120, 2)  # ms
    MOVING = status(122)
    MOVING_STATUS = status(123)
    PWM = status(124, 2)  # 0.113 %
    LOAD = status(126, 2)  # 0.1 %
    VELOCITY = status(128, 4)  # 0.229 rpm †
    POSITION = status(132, 4)
    TRAJECTORY_VELOCITY = status(136, 4)
    TRAJECTORY_POSITION = status(140, 4)
    VOLTAGE = status(144, 2)  # 0.1 V
    TEMPERATURE = status(146)  # degC
    BACKUP_READY = status(147)


INDIRECT = ((168, 224, 28), (578, 634, 28))  # addresses of the first indirect address and of its data byte, and count
_LAST = 661  # address
TABLE = RegisterTable(
    Dynamixel2Register,
    others=(
        *(Register(at + 2 * i, 2, data + i, 64, _LAST) for at, data, count in INDIRECT for i in range(count)),
        *(Register(data + i) for _, data, count in INDIRECT for i in range(count)),
    ),
    size=_LAST + 1,
    eeprom=64,
    modes={
        Dynamixel2Mode.VELOCITY: "velocity mode, the servo turns without end",
        Dynamixel2Mode.PWM: "PWM mode, the servo turns without end",
        Dynamixel2Mode.EXTENDED_POSITION: "extended position mode, without angle limits",
        -1: "not position mode",
    },
)


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

    header = HEADER
    head = 8
    id_at = 4

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


RegisterRows = dict[int, bytes]
"""Servo id -> error byte and registers."""

MOTION = ServoQuantity.POSITION | ServoQuantity.SPEED | ServoQuantity.LOAD
HEALTH = ServoQuantity.VOLTAGE | ServoQuantity.TEMPERATURE


class Dynamixel2Bus(SmartServoBus):
    """An open bus of X servos.

    Their profiles are not changed. If all are time-based, the duration of goals is sent whenever it changes; otherwise
    they move to each goal as fast as their profile allows, which suits frequent goals.
    """

    last_id = LAST_ID
    protocol = "dynamixel2"
    features = replace(SmartServoBus.features, registers=TABLE, jumps=True)
    scale = SCALE
    can_read = ~ServoQuantity.NONE

    def __init__(
        self,
        port: Port,
        ids: Sequence[int],
        wait: ReplyTiming | None = None,
        read: str = "sync",
        force_model: bool = False,
    ) -> None:
        """Servos with these ids on a port; `read` is "sync" or "fast" (recent firmware).

        `force_model` accepts any model. Raises ValueError for invalid ids.
        """
        if read not in ("sync", "fast"):
            raise ValueError(f"read must be sync or fast, is {read}")
        super().__init__(port, ids, wait, force_model=force_model)
        self._fast = read == "fast"
        self._timed = False  # the profiles are time-based
        self._duration = -1  # [ms] last duration sent

    def identify(self) -> Mapping[int, str]:
        """As in Bus; also finds out whether the servos jump to their goals: all but those with time-based profiles."""
        found = super().identify()
        modes = self._sync(Dynamixel2Register.DRIVE_MODE, 1, list(found))
        time_based = [i for i in modes if modes[i][1] & TIME_BASED]
        self._timed = bool(found) and set(found) <= set(time_based)
        self.features = replace(self.features, jumps=not self._timed)
        self._duration = -1
        return found

    def _ask_model(self, servo: int) -> str | None:
        row = self._ask_blocking(servo, build(servo, Dynamixel2Instruction.PING), 3)
        return None if row is None else self.models.note(servo, robotis_model(int.from_bytes(row[1:3], "little")))

    def registers(self, servo: int, address: int, length: int) -> bytes | None:
        """Registers of a servo, None if it does not answer."""
        row = self._ask_blocking(servo, read_request(servo, address, length), length)
        return None if row is None else row[1:]

    def write_registers(self, servo: int, address: int, data: bytes) -> None:
        """Writes registers of a servo, also in its EEPROM; the torque should be off."""
        self._confirm(servo, write_request(servo, address, data))

    def write_goals(self, goals: Mapping[int, int], duration: float) -> None:
        """Sends goals in one frame, preceded by the duration if the profiles are time-based and it has changed."""
        if not goals:
            return
        milliseconds = max(round(duration * 1000), 0)
        if self._timed and milliseconds != self._duration:
            profile = milliseconds.to_bytes(4, "little")
            self.exchange.send(write_request(BROADCAST, Dynamixel2Register.PROFILE_VELOCITY, profile))
            self._duration = milliseconds
        rows = {servo: goal_row(self.scale.clamp_goal(raw)) for servo, raw in goals.items()}
        self.exchange.send(sync_write_request(Dynamixel2Register.GOAL, rows))

    def torque(self, ids: Sequence[int], on: bool) -> None:
        """Switches torque in one frame."""
        if ids:
            self.exchange.send(sync_write_request(Dynamixel2Register.TORQUE, {servo: bytes((on,)) for servo in ids}))

    def received_goals(self, ids: Sequence[int]) -> dict[int, int]:
        """Raw goals as the servos have received them; silent servos are missing from the result."""
        rows = self._sync(Dynamixel2Register.GOAL, 4, ids)
        return {servo: int.from_bytes(row[1:], "little", signed=True) for servo, row in rows.items()}

    def torques(self, ids: Sequence[int]) -> dict[int, bool]:
        """Whether the torque of these servos is on; silent servos are missing from the result."""
        return {servo: bool(row[1]) for servo, row in self._sync(Dynamixel2Register.TORQUE, 1, ids).items()}

    def relax(self) -> None:
        """Switches the torque of all servos off by broadcast."""
        for _ in range(RELAX_REPEATS):
            self.exchange.send(write_request(BROADCAST, Dynamixel2Register.TORQUE, b"\x00"))

    def read(self, ids: Sequence[int], quantities: ServoQuantity) -> dict[int, ServoReading]:
        """One transaction for motion, one for voltage and temperature, one for the faults of servos that report any."""
        alert: set[int] = set() if quantities & (MOTION | HEALTH) else set(ids)
        readings: dict[int, ServoReading] = {}
        if quantities & MOTION:
            address, length = _motion_block(quantities)
            for servo, row in self._sync(address, length, ids).items():
                readings[servo] = _motion(row[1:])
                alert |= {servo} if row[0] & ALERT else set()
        if quantities & HEALTH:
            for servo, row in self._sync(
                Dynamixel2Register.VOLTAGE, 3, list(readings) if quantities & MOTION else ids
            ).items():
                volts = int.from_bytes(row[1:3], "little") * VOLT
                readings[servo] = readings.get(servo, ServoReading())._replace(voltage=volts, temperature=row[3])
                alert |= {servo} if row[0] & ALERT else set()
        if quantities & ServoQuantity.FAULT:
            for servo, row in self._sync(Dynamixel2Register.HARDWARE_ERROR, 1, sorted(alert)).items():
                faults = decode_faults(row[1], FAULT_BITS)
                readings[servo] = readings.get(servo, ServoReading())._replace(fault=faults)
        return readings

    def timing(self, count: int, quantities: ServoQuantity = ServoQuantity.POSITION) -> BusTiming:
        """Wire time of goals and readings of `count` servos."""
        blocks = [_motion_block(quantities)[1]] if quantities & MOTION else []
        blocks += [3] if quantities & HEALTH else []
        replies = [fast_size(n, count) if self._fast else count * (OVERHEAD + n) for n in blocks]
        return BusTiming(
            write=self.exchange.seconds(14 + 5 * count),
            read=self.exchange.seconds(sum(replies) + (14 + count) * len(blocks))
            + count * len(blocks) * self.exchange.wait.return_delay,
            turnarounds=len(blocks),
        )

    def _write_id(self, old: int, new: int) -> None:
        self.write_registers(old, Dynamixel2Register.TORQUE, b"\x00")  # the EEPROM is locked under torque
        self.write_registers(old, Dynamixel2Register.ID, bytes((new,)))

    def recover(self, servo: int) -> None:
        """Reboots a servo, which clears a latched fault; its torque is off and its profile reset afterwards."""
        self._confirm(servo, build(servo, Dynamixel2Instruction.REBOOT))
        self._duration = -1

    def _sync(self, address: int, length: int, ids: Sequence[int]) -> RegisterRows:
        if not ids:
            return {}
        if self._fast:
            rows = self._fast_sync(address, length, ids)
            if len(rows) == len(ids) or self.exchange.awaited:
                return rows
            self._fast = False  # a missing servo breaks the common status: individual replies from now on
        return self._ask(sync_read_request(address, length, ids), ids, length)

    def _fast_sync(self, address: int, length: int, ids: Sequence[int]) -> RegisterRows:
        size = fast_size(length, len(ids))
        decoder = Dynamixel2Decoder([BROADCAST], size - 10)
        packet = self.exchange.ask_once(fast_sync_read_request(address, length, ids), size, decoder)
        rows = fast_rows(packet.data, length) if packet else {}
        if self.exchange.awaited:
            self.exchange.awaited = frozenset(ids)
        return {servo: row for servo, row in rows.items() if servo in ids}

    def _ask(self, frame: bytes, ids: Sequence[int], length: int) -> RegisterRows:
        decoder = Dynamixel2Decoder(ids, length + 1)
        answers = self.exchange.ask(frame, ids, length + OVERHEAD, decoder)
        return {servo: packet.data for servo, packet in answers.items()}

    def _confirm(self, servo: int, frame: bytes) -> None:
        """Sends a request to one servo and waits for its status; again if the servo reports that it arrived damaged."""
        for _ in range(TRIES):
            row = self._ask_blocking(servo, frame, 0)
            if row is None or row[0] & ~ALERT != CRC_ERROR:
                return

    def _ask_blocking(self, servo: int, frame: bytes, length: int) -> bytes | None:
        decoder = Dynamixel2Decoder([servo], length + 1)
        packet = self.exchange.ask_blocking(frame, [servo], length + OVERHEAD, decoder).get(servo)
        return None if packet is None else packet.data


def _motion_block(quantities: ServoQuantity) -> tuple[int, int]:
    """Address and length of a block with the requested ones of position, velocity and load."""
    start = Dynamixel2Register.POSITION
    if quantities & ServoQuantity.LOAD:
        start = Dynamixel2Register.LOAD
    elif quantities & ServoQuantity.SPEED:
        start = Dynamixel2Register.VELOCITY
    return start, Dynamixel2Register.POSITION + 4 - start


def _motion(data: bytes) -> ServoReading:
    """Decodes registers that end with the position."""

    def number(register: Register, size: int) -> int | None:
        at = len(data) - 4 - (Dynamixel2Register.POSITION - register)
        return int.from_bytes(data[at : at + size], "little", signed=True) if at >= 0 else None

    load = number(Dynamixel2Register.LOAD, 2)
    velocity = number(Dynamixel2Register.VELOCITY, 4)
    return ServoReading(
        position=number(Dynamixel2Register.POSITION, 4),
        speed=None if velocity is None else velocity * STEPS_PER_SECOND,
        load=None if load is None else load / FULL_LOAD,
    )


def open_bus(
    port: Port, ids: Sequence[int], wait: ReplyTiming | None = None, read: str = "sync", force_model: bool = False
) -> Dynamixel2Bus:
    """A bus of X servos."""
    return Dynamixel2Bus(port, ids, wait, read, force_model)
