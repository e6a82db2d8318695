"""Emulated servos that speak `FF FF` frames; a RegisterTable holds what differs between them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import FFDecoder, FFInstruction, FFPacket
from hexapod_control.servos.bus.id_addressing import FaultBits
from hexapod_control.servos.emulator.device import DelayedReply, FrameStream, bytes_on_line
from hexapod_control.servos.emulator.servo_world import ServoWorld

DELAY_UNIT = 2e-6  # [s] of the return delay register


class RegisterTable(Protocol):
    """Registers of a kind of servo, and their effects."""

    @property
    def size(self) -> int:
        """Number of bytes of all registers."""

    @property
    def id_address(self) -> int:
        """Address of the servo id."""

    @property
    def delay_address(self) -> int:
        """Address of the return delay."""

    @property
    def level_address(self) -> int:
        """Address of the status return level."""

    @property
    def quiet_level(self) -> int:
        """Value of the level register with which only reads are answered."""

    @property
    def start(self) -> Mapping[int, bytes]:
        """Registers after power-on."""

    @property
    def fault_bits(self) -> FaultBits:
        """Bits of the error byte."""

    @property
    def sync_read(self) -> bool:
        """Whether one frame can read several servos."""

    def refresh(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Updates the status registers from the world."""

    def apply_write(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Executes a write to these addresses."""


def touched(written: range, address: int) -> bool:
    """Whether a write includes this address."""
    return address in written


def error_bits(fault: ServoFault, bits: FaultBits) -> int:
    """The error byte for these faults."""
    return sum(1 << bit for bit, name in bits.items() if name in fault and name is not ServoFault.OTHER)


class FFDevice:
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int], table: RegisterTable) -> None:
        """Servo `ids[i]` is number i of the world."""
        self.world, self._table = world, table
        self.memories = [bytearray(table.size) for _ in ids]  # registers, by index
        self._waiting: dict[int, tuple[int, bytes]] = {}  # index -> address and data of a REG_WRITE
        self._stream = FrameStream(FFDecoder())
        for servo, memory in zip(ids, self.memories, strict=True):
            for address, data in table.start.items():
                memory[address : address + len(data)] = data
            memory[table.id_address] = servo

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete frame."""
        self.world.step(now)
        return [reply for packet in self._stream.feed(data, now) for reply in self._execute(packet)]

    def _addressed(self, servo: int) -> list[int]:
        """Indices of the servos addressed by this id."""
        everyone = range(len(self.memories))
        if servo == ff_frames.BROADCAST:
            return [i for i in everyone if self.world.answers(i)]
        return [i for i in everyone if self.memories[i][self._table.id_address] == servo and self.world.answers(i)]

    def _execute(self, packet: FFPacket) -> list[DelayedReply]:
        data = packet.data
        if packet.code == FFInstruction.SYNC_WRITE:
            self._sync_write(data)
            return []
        if packet.code == FFInstruction.SYNC_READ:
            return self._sync_read(data) if self._table.sync_read and packet.id == ff_frames.BROADCAST else []
        reached = self._addressed(packet.id)
        if packet.code == FFInstruction.PING and not data:
            return [self._status(i) for i in reached]
        alone = reached if packet.id != ff_frames.BROADCAST else []
        if packet.code == FFInstruction.READ and len(data) == 2:
            return [self._status(i, self._registers(i, data[0], data[1])) for i in alone]
        if not self._apply_instruction(packet.code, reached, data):
            return []
        quiet = self._table.quiet_level
        return [self._status(i) for i in alone if self.memories[i][self._table.level_address] > quiet]

    def _apply_instruction(self, instruction: int, reached: Iterable[int], data: bytes) -> bool:
        """Executes an instruction that changes servos; False if it is another instruction."""
        if instruction not in (FFInstruction.WRITE, FFInstruction.REG_WRITE, FFInstruction.ACTION):
            return False
        if (instruction == FFInstruction.ACTION) == bool(data) or len(data) == 1:
            return False
        for index in reached:
            if instruction == FFInstruction.WRITE:
                self._write(index, data[0], data[1:])
            elif instruction == FFInstruction.REG_WRITE:
                self._waiting[index] = data[0], data[1:]
            elif index in self._waiting:
                self._write(index, *self._waiting.pop(index))
        return True

    def _sync_write(self, data: bytes) -> None:
        if len(data) < 2 or not data[1] or (len(data) - 2) % (data[1] + 1):
            return
        address, size = data[0], data[1]
        for at in range(2, len(data), size + 1):
            for index in self._addressed(data[at]) if data[at] != ff_frames.BROADCAST else ():
                self._write(index, address, data[at + 1 : at + 1 + size])

    def _sync_read(self, data: bytes) -> list[DelayedReply]:
        if len(data) < 3:
            return []
        reached = [i for servo in data[2:] if servo != ff_frames.BROADCAST for i in self._addressed(servo)]
        return [self._status(i, self._registers(i, data[0], data[1])) for i in reached]

    def _write(self, index: int, address: int, data: bytes) -> None:
        if address + len(data) <= self._table.size:
            self.memories[index][address : address + len(data)] = data
            self._table.apply_write(self.world, index, self.memories[index], range(address, address + len(data)))

    def _registers(self, index: int, address: int, length: int) -> bytes:
        self._table.refresh(self.world, index, self.memories[index])
        return bytes(self.memories[index][address : address + length])

    def _status(self, index: int, data: bytes = b"") -> DelayedReply:
        memory = self.memories[index]
        error = error_bits(self.world.fault(index), self._table.fault_bits)
        reply = ff_frames.build(memory[self._table.id_address], error, data[: ff_frames.MAX_LENGTH - 2])
        return memory[self._table.delay_address] * DELAY_UNIT, bytes_on_line(self.world, index, reply)
