# SPDX-License-Identifier: Apache-2.0
"""Emulated servos with `FF FF` frames; an FFServoKind has the differences between series."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import DAMAGED, FFDecoder, FFInstruction, FFPacket
from hexapod_control.servos.bus.id_addressing import FaultBits
from hexapod_control.servos.bus.registers import RegisterRole
from hexapod_control.servos.emulator.device import DelayedReply, EmulatedDevice, FrameStream, at_once, bytes_on_line
from hexapod_control.servos.emulator.devices.servo_memory import DELAY_UNIT, ControlTable, ServoMemories, error_bits
from hexapod_control.servos.emulator.servo_world import ServoWorld

RESET = 0x06  # instruction: factory settings


class FFServoKind(Protocol):
    """A servo type: its registers, and the effects of writes."""

    table: ControlTable
    read_level: int  # least value of the register REPLY_LEVEL for replies to reads
    write_level: int  # the same for replies to all other instructions; a ping is always answered
    fault_bits: FaultBits  # of the error byte
    instruction_error: int  # error byte after an unknown instruction; 0: no reply
    checksum_error: int  # after a frame with a wrong checksum; 0: no reply
    read_error: int  # after a read beyond the last register; 0: the reply ends with that register
    reset_keeps_id: bool
    sync_read: bool  # one frame can read several servos

    def refresh(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Updates the status registers from the world."""

    def refusal(self, memory: bytearray, address: int, data: bytes) -> int | None:
        """None if the servo accepts a write, else the error byte of its reply."""

    def apply_write(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Executes a write to these addresses."""

    def persists(self, memory: bytearray) -> bool:
        """Whether a write to the EEPROM is retained without power."""


class FFDevice(EmulatedDevice):
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int], kind: FFServoKind) -> None:
        """Servo `ids[i]` is number i of the world."""
        self.world = world
        self._kind = kind
        self._servos = ServoMemories(world, ids, kind.table)
        registers = kind.table.table
        self._id = registers[RegisterRole.ID]
        self._delay = registers[RegisterRole.RETURN_DELAY]
        self._level = registers[RegisterRole.REPLY_LEVEL]
        self._registered = registers.get(RegisterRole.REGISTERED)
        self._waiting: dict[int, tuple[int, bytes]] = {}  # index -> address and data of a REG_WRITE
        self._stream = FrameStream(FFDecoder())

    @property
    def memories(self) -> list[bytearray]:
        """Registers, by index."""
        return self._servos.memories

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete frame."""
        self.world.step(now)
        return [reply for packet in self._stream.feed(data, now) for reply in self._execute(packet)]

    def _execute(self, packet: FFPacket) -> list[DelayedReply]:
        data = packet.data
        if packet.code == FFInstruction.SYNC_WRITE:
            self._sync_write(data)
            return []
        if packet.code == FFInstruction.SYNC_READ:
            return self._sync_read(data) if self._kind.sync_read and packet.id == ff_frames.BROADCAST else []
        reached = self._servos.powered() if packet.id == ff_frames.BROADCAST else self._servos.with_id(packet.id)
        if packet.code == FFInstruction.PING and not data:
            answers = [self._status(i) for i in reached]
            return answers if packet.id == ff_frames.BROADCAST else at_once(answers)
        alone = reached if packet.id != ff_frames.BROADCAST else []
        if packet.code == FFInstruction.READ and len(data) == 2:
            return at_once([self._read(i, data[0], data[1]) for i in alone if self._replies(i, self._kind.read_level)])
        errors = self._apply_instruction(packet.code, reached, data)
        confirmed = [
            self._status(i, error=error, servo=packet.id)  # a servo that gets another id replies with the old one
            for i, error in errors.items()
            if i in alone and self._replies(i, self._kind.write_level)
        ]
        return at_once(confirmed)

    def _replies(self, index: int, level: int) -> bool:
        return self.memories[index][self._level] >= level

    def _read(self, index: int, address: int, length: int) -> DelayedReply:
        if address + length > self._kind.table.size and self._kind.read_error:
            return self._status(index, error=self._kind.read_error)
        return self._status(index, self._registers(index, address, length))

    def rename(self, index: int, servo: int) -> None:
        """Gives a servo another id."""
        self._servos.write(index, self._id, bytes((servo,)), persists=True)

    def _apply_instruction(self, instruction: int, reached: Iterable[int], data: bytes) -> dict[int, int]:
        """Executes an instruction that changes servos. Returns the error byte of each servo that replies, by index."""
        if instruction == FFInstruction.WRITE and len(data) > 1:
            return {index: self._write(index, data[0], data[1:]) for index in reached}
        if instruction == FFInstruction.REG_WRITE and len(data) > 1:
            return {index: self._stage(index, data[0], data[1:]) for index in reached}
        if instruction == FFInstruction.ACTION and not data:
            return {index: self._act(index) for index in reached}
        if instruction == RESET and not data:
            return {index: self._reset(index) for index in reached}
        unknown = self._kind.checksum_error if instruction == DAMAGED else self._kind.instruction_error
        return dict.fromkeys(reached, unknown) if unknown else {}

    def _stage(self, index: int, address: int, data: bytes) -> int:
        refusal = self._kind.refusal(self.memories[index], address, data)
        if refusal is None:
            self._waiting[index] = address, data
            self._flag(index, True)
        return refusal or 0

    def _act(self, index: int) -> int:
        lost = self._registered is not None and not self.memories[index][self._registered]  # with the power
        if lost or index not in self._waiting:
            return self._kind.instruction_error
        self._flag(index, False)
        return self._write(index, *self._waiting.pop(index))

    def _flag(self, index: int, waits: bool) -> None:
        """Sets the register that tells of a waiting REG_WRITE, if the servos have one."""
        if self._registered is not None:
            self.memories[index][self._registered] = waits

    def _reset(self, index: int) -> int:
        self.world.torque(index, False)
        start = self._id
        self._servos.reset(index, range(start, start + self._kind.reset_keeps_id))
        return 0

    def _sync_write(self, data: bytes) -> None:
        if len(data) < 2 or not data[1] or (len(data) - 2) % (data[1] + 1):
            return
        address, size = data[0], data[1]
        for at in range(2, len(data), size + 1):
            for index in self._servos.with_id(data[at]):
                self._write(index, address, data[at + 1 : at + 1 + size])

    def _sync_read(self, data: bytes) -> list[DelayedReply]:
        if len(data) < 3:
            return []
        address, length = data[0], data[1]
        named = [self._servos.with_id(servo) for servo in data[2:]]
        answers = [at_once([self._status(i, self._registers(i, address, length)) for i in each]) for each in named]
        return [reply for each in answers for reply in each]

    def _write(self, index: int, address: int, data: bytes) -> int:
        """Returns the error byte."""
        memory = self.memories[index]
        end = address + len(data)
        refusal = self._kind.refusal(memory, address, data)
        if refusal is not None:
            return refusal
        self._servos.write(index, address, data, persists=self._kind.persists(memory))
        self._kind.apply_write(self.world, index, memory, range(address, end))
        return 0

    def _registers(self, index: int, address: int, length: int) -> bytes:
        self._kind.refresh(self.world, index, self.memories[index])
        return bytes(self.memories[index][address : address + length])

    def _status(self, index: int, data: bytes = b"", error: int = 0, servo: int | None = None) -> DelayedReply:
        memory = self.memories[index]
        fault = self.world.fault(index)
        if fault is not ServoFault.NONE:
            error |= error_bits(fault, self._kind.fault_bits)
        own = memory[self._id] if servo is None else servo
        reply = ff_frames.build(own, error, data)
        return memory[self._delay] * DELAY_UNIT, bytes_on_line(self.world, index, reply)
