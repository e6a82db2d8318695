# SPDX-License-Identifier: Apache-2.0
"""Emulated Dynamixel X servos: the instructions of protocol 2. dynamixel2_servos has the effects of registers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import DAMAGED, FFPacket
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice, FrameStream, at_once, bytes_on_line
from hexapod_control.servos.emulator.devices.dynamixel2_servos import (
    BAD_CRC,
    BAD_INSTRUCTION,
    KEEP_NOTHING,
    NO_ACCESS,
    OK,
    RESTORE,
    STORE,
    X_TABLE,
    XServos,
)
from hexapod_control.servos.emulator.devices.servo_memory import DELAY_UNIT, word
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import dynamixel2 as codec
from hexapod_control.servos.protocols.dynamixel2 import BROADCAST, Dynamixel2Instruction, Dynamixel2Register

# status return levels from which reads, and all instructions, are answered
READ_STATUS = 1
FULL_STATUS = 2
WRITES = (Dynamixel2Instruction.SYNC_WRITE, Dynamixel2Instruction.BULK_WRITE)
READS = (
    Dynamixel2Instruction.SYNC_READ,
    Dynamixel2Instruction.BULK_READ,
    Dynamixel2Instruction.FAST_SYNC_READ,
    Dynamixel2Instruction.FAST_BULK_READ,
)
FAST = (Dynamixel2Instruction.FAST_SYNC_READ, Dynamixel2Instruction.FAST_BULK_READ)
CLEAR_TURNS = b"\x01DXL\x22"
BACKUPS = {bytes((order,)) + b"CTRL": order for order in (STORE, RESTORE)}


class RegisterRange(NamedTuple):
    """Registers of a servo that one frame reads or writes."""

    servo: int
    address: int
    length: int
    data: bytes = b""


def _ranges(instruction: int, data: bytes) -> Iterator[RegisterRange]:
    """The registers that a frame for several servos reads or writes; nothing if its size is wrong."""
    if instruction in (Dynamixel2Instruction.SYNC_READ, Dynamixel2Instruction.FAST_SYNC_READ):
        address, length = word(data, 0), word(data, 2)
        yield from (RegisterRange(servo, address, length) for servo in data[4:])
    elif instruction == Dynamixel2Instruction.SYNC_WRITE:
        address, size = word(data, 0), word(data, 2)
        if size and (len(data) - 4) % (size + 1) == 0:
            for at in range(4, len(data), size + 1):
                yield RegisterRange(data[at], address, size, data[at + 1 : at + 1 + size])
    elif instruction == Dynamixel2Instruction.BULK_WRITE:
        yield from _bulk_writes(data)
    elif len(data) % 5 == 0:
        for at in range(0, len(data), 5):
            yield RegisterRange(data[at], word(data, at + 1), word(data, at + 3))


def _bulk_writes(data: bytes) -> Iterator[RegisterRange]:
    at = 0
    while at + 5 <= len(data):
        size = word(data, at + 3)
        yield RegisterRange(data[at], word(data, at + 1), size, data[at + 5 : at + 5 + size])
        at += 5 + size


class Dynamixel2Device(EmulatedDevice):
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int]) -> None:
        """Servo `ids[i]` is number i of the world."""
        self.world = world
        self._servos = XServos(world, ids)
        self._waiting: dict[int, tuple[int, bytes]] = {}  # index -> address and data of a REG_WRITE
        self._stream = FrameStream(codec.Dynamixel2Decoder())

    @property
    def memories(self) -> list[bytearray]:
        """Registers, by index."""
        return self._servos.memories

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete frame."""
        self._servos.watch(now)
        self.world.step(now)
        packets = self._stream.feed(data, now)
        if packets:
            self._servos.heard(now)
        return [reply for packet in packets for reply in self._execute(packet)]

    def _execute(self, packet: FFPacket) -> list[DelayedReply]:
        code, data = packet.code, packet.data
        if code == Dynamixel2Instruction.STATUS:
            return []
        if packet.id == BROADCAST and len(data) > 4:
            if code in WRITES:
                self._write_several(code, data)
                return []
            if code in READS:
                return self._read_several(code, data)
        reached = self._servos.all.powered() if packet.id == BROADCAST else self._servos.all.with_id(packet.id)
        if code == Dynamixel2Instruction.PING:
            pinged = [self._pinged(i) for i in reached]
            return pinged if packet.id == BROADCAST else at_once(pinged)
        alone = reached if packet.id != BROADCAST else []
        if code == Dynamixel2Instruction.READ and len(data) == 4:
            return at_once([reply for i in alone for reply in self._read(i, word(data, 0), word(data, 2))])
        if packet.id == BROADCAST and code == Dynamixel2Instruction.FACTORY_RESET and data == bytes((KEEP_NOTHING,)):
            return []  # all servos would have one id
        answers = [(i, self._apply_instruction(code, i, data)) for i in reached]
        for i in self._servos.with_second_id(packet.id):
            if i not in reached:
                self._apply_shared(code, i, data)
        confirmed = [
            self._status(i, error, servo=packet.id)  # a servo that gets another id replies with the old one
            for i, error in answers
            if i in alone and self._level(i) >= FULL_STATUS
        ]
        return at_once(confirmed)

    def _level(self, index: int) -> int:
        return self.memories[index][Dynamixel2Register.STATUS_LEVEL]

    def _apply_shared(self, instruction: int, index: int, data: bytes) -> None:
        """Executes an instruction to a second id, through which the EEPROM cannot be written."""
        if instruction == Dynamixel2Instruction.ACTION or (len(data) > 2 and word(data, 0) >= X_TABLE.eeprom):
            self._apply_instruction(instruction, index, data)

    def rename(self, index: int, servo: int) -> None:
        """Gives a servo another id."""
        self._servos.all.write(index, Dynamixel2Register.ID, bytes((servo,)), persists=True)

    def _pinged(self, index: int) -> DelayedReply:
        model = self._servos.registers(index, Dynamixel2Register.MODEL, 2)
        return self._status(index, OK, model + bytes((Dynamixel2Register.FIRMWARE.default,)))

    def _apply_instruction(self, instruction: int, index: int, data: bytes) -> int:
        """Executes an instruction that changes the servo; returns the error code."""
        if instruction == Dynamixel2Instruction.WRITE and len(data) > 2:
            return self._servos.write(index, word(data, 0), data[2:])
        if instruction == Dynamixel2Instruction.REG_WRITE and len(data) > 2:
            return self._stage(index, word(data, 0), data[2:])
        if instruction == Dynamixel2Instruction.ACTION and not data:
            return self._act(index)
        if instruction == Dynamixel2Instruction.REBOOT and not data:
            return self._servos.reboot(index)
        if instruction == Dynamixel2Instruction.FACTORY_RESET and len(data) == 1:
            return self._servos.factory_reset(index, data[0])
        if instruction == Dynamixel2Instruction.CLEAR and data == CLEAR_TURNS:
            return self._servos.clear_turns(index)
        if instruction == Dynamixel2Instruction.BACKUP and data in BACKUPS:
            return self._servos.back_up(index, BACKUPS[data])
        return BAD_CRC if instruction == DAMAGED else BAD_INSTRUCTION

    def _stage(self, index: int, address: int, data: bytes) -> int:
        error = self._servos.refusal(index, address, data)
        if error == OK:
            self._waiting[index] = address, data
            self.memories[index][Dynamixel2Register.REGISTERED] = 1
        return error

    def _act(self, index: int) -> int:
        if not self.memories[index][Dynamixel2Register.REGISTERED]:
            return BAD_INSTRUCTION
        self.memories[index][Dynamixel2Register.REGISTERED] = 0
        return self._servos.write(index, *self._waiting.pop(index))

    def _write_several(self, instruction: int, data: bytes) -> None:
        for row in _ranges(instruction, data):
            for index in self._servos.all.with_id(row.servo):
                self._servos.write(index, row.address, row.data)

    def _read_several(self, instruction: int, data: bytes) -> list[DelayedReply]:
        rows = list(_ranges(instruction, data))
        if instruction in FAST:
            return self._fast_read(rows)
        named = [(row, self._servos.all.with_id(row.servo)) for row in rows]
        answers = [[each for i in indices for each in self._read(i, row.address, row.length)] for row, indices in named]
        return [reply for each in answers for reply in at_once(each)]

    def _fast_read(self, rows: Sequence[RegisterRange]) -> list[DelayedReply]:
        """The one status to which all servos contribute; it ends at the first missing servo."""
        size = 1 + sum(row.length + 4 for row in rows)
        status = bytearray(codec.HEADER + bytes((BROADCAST, size & 0xFF, size >> 8, Dynamixel2Instruction.STATUS)))
        delay = None
        for row in rows:
            named = self._servos.all.with_id(row.servo)
            if not named or not X_TABLE.defines(row.address, row.length):
                break
            index = named[0]
            if delay is None:
                delay = self.memories[index][Dynamixel2Register.RETURN_DELAY] * DELAY_UNIT
            status += bytes((self._error(index), row.servo))
            status += self._servos.registers(index, row.address, row.length)
            status += codec.crc(bytes(status)).to_bytes(2, "little")
        return [] if delay is None else [(delay, bytes(status))]

    def _read(self, index: int, address: int, length: int) -> list[DelayedReply]:
        if self._level(index) < READ_STATUS:
            return []
        if not X_TABLE.defines(address, length):
            return [self._status(index, NO_ACCESS)]
        return [self._status(index, OK, self._servos.registers(index, address, length))]

    def _error(self, index: int, error: int = OK) -> int:
        return error | (codec.ALERT if self.world.fault(index) is not ServoFault.NONE else 0)

    def _status(self, index: int, error: int, data: bytes = b"", servo: int | None = None) -> DelayedReply:
        memory = self.memories[index]
        own = memory[Dynamixel2Register.ID] if servo is None else servo
        reply = codec.build(own, Dynamixel2Instruction.STATUS, bytes((self._error(index, error),)) + data)
        return memory[Dynamixel2Register.RETURN_DELAY] * DELAY_UNIT, bytes_on_line(self.world, index, reply)


DEVICES = {"dynamixel2": Dynamixel2Device}
