"""Emulated Dynamixel X servos."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import FFPacket
from hexapod_control.servos.emulator.device import DelayedReply, FrameStream, bytes_on_line
from hexapod_control.servos.emulator.devices.ff_device import DELAY_UNIT, error_bits
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import dynamixel2_frames as codec
from hexapod_control.servos.protocols.dynamixel2_frames import BROADCAST, Dynamixel2Instruction, Dynamixel2Register

SIZE = 147  # bytes of the registers
FIRMWARE = 46
START = {
    Dynamixel2Register.MODEL: (1060).to_bytes(2, "little"),
    6: bytes((FIRMWARE,)),
    Dynamixel2Register.HIGH_LIMIT: (4095).to_bytes(4, "little"),
    Dynamixel2Register.STATUS_LEVEL: b"\x02",
}
FULL_STATUS = 2
EEPROM = range(0, 64)  # locked while the torque is on
OK, BAD_INSTRUCTION, BAD_RANGE, NO_ACCESS = 0, 2, 4, 7  # errors


class Dynamixel2Device:
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int]) -> None:
        """Servo `ids[i]` is number i of the world."""
        self.world = world
        self.memories = [bytearray(SIZE) for _ in ids]
        self._waiting: dict[int, tuple[int, bytes]] = {}
        self._stream = FrameStream(codec.Dynamixel2Decoder())
        for servo, memory in zip(ids, self.memories, strict=True):
            for address, data in START.items():
                memory[address : address + len(data)] = data
            memory[Dynamixel2Register.ID] = servo

    def receive(self, data: bytes, now: float) -> list[DelayedReply]:
        """Executes every complete frame."""
        self.world.step(now)
        return [reply for packet in self._stream.feed(data, now) for reply in self._execute(packet)]

    def _addressed(self, servo: int) -> list[int]:
        """Indices of the servos addressed by this id."""
        everyone = [i for i in range(len(self.memories)) if self.world.answers(i)]
        return (
            everyone
            if servo == BROADCAST
            else [i for i in everyone if self.memories[i][Dynamixel2Register.ID] == servo]
        )

    def _execute(self, packet: FFPacket) -> list[DelayedReply]:
        code, data = packet.code, packet.data
        if code == Dynamixel2Instruction.STATUS:
            return []
        if packet.id == BROADCAST and len(data) > 4:
            if code == Dynamixel2Instruction.SYNC_WRITE:
                self._sync_write(data)
                return []
            if code in (Dynamixel2Instruction.SYNC_READ, Dynamixel2Instruction.FAST_SYNC_READ):
                return self._sync_read(data, code)
        reached = self._addressed(packet.id)
        if code == Dynamixel2Instruction.PING:
            return [
                self._status(i, OK, self._registers(i, Dynamixel2Register.MODEL, 2) + bytes((FIRMWARE,)))
                for i in reached
            ]
        alone = reached if packet.id != BROADCAST else []
        if code == Dynamixel2Instruction.READ and len(data) == 4:
            address, length = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:], "little")
            if address + length > SIZE:
                return [self._status(i, BAD_RANGE) for i in alone]
            return [self._status(i, OK, self._registers(i, address, length)) for i in alone]
        answers = [(i, self._apply_instruction(code, i, data)) for i in reached]
        return [
            self._status(i, error)
            for i, error in answers
            if i in alone and self.memories[i][Dynamixel2Register.STATUS_LEVEL] == FULL_STATUS
        ]

    def _apply_instruction(self, instruction: int, index: int, data: bytes) -> int:
        """Executes an instruction that changes the servo; returns the error code."""
        if instruction == Dynamixel2Instruction.WRITE and len(data) > 2:
            return self._write(index, int.from_bytes(data[:2], "little"), data[2:])
        if instruction == Dynamixel2Instruction.REG_WRITE and len(data) > 2:
            self._waiting[index] = int.from_bytes(data[:2], "little"), data[2:]
        elif instruction == Dynamixel2Instruction.ACTION and not data:
            return self._write(index, *self._waiting.pop(index)) if index in self._waiting else OK
        elif instruction == Dynamixel2Instruction.REBOOT and not data:
            self.world.reboot(index)
            self.memories[index][Dynamixel2Register.TORQUE] = 0
            self.memories[index][Dynamixel2Register.PROFILE_ACCELERATION : Dynamixel2Register.GOAL] = bytes(8)
        else:
            return BAD_INSTRUCTION
        return OK

    def _sync_write(self, data: bytes) -> None:
        address, size = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:4], "little")
        if not size or (len(data) - 4) % (size + 1):
            return
        for at in range(4, len(data), size + 1):
            for index in self._addressed(data[at]) if data[at] != BROADCAST else ():
                self._write(index, address, data[at + 1 : at + 1 + size])

    def _sync_read(self, data: bytes, instruction: int) -> list[DelayedReply]:
        address, length = int.from_bytes(data[:2], "little"), int.from_bytes(data[2:4], "little")
        named = [self._addressed(servo) if servo != BROADCAST else [] for servo in data[4:]]
        if address + length > SIZE:
            return []
        if instruction == Dynamixel2Instruction.SYNC_READ:
            return [self._status(i, OK, self._registers(i, address, length)) for group in named for i in group]
        return self._together(named, address, length)

    def _together(self, named: Sequence[Sequence[int]], address: int, length: int) -> list[DelayedReply]:
        """One status made by all servos; it ends at the first missing servo."""
        size = codec.fast_size(length, len(named)) - 7
        status = bytearray(codec.HEADER + bytes((BROADCAST, size & 0xFF, size >> 8, Dynamixel2Instruction.STATUS)))
        for group in named:
            if not group:
                break
            status += bytes((self._error(group[0]), self.memories[group[0]][Dynamixel2Register.ID]))
            status += self._registers(group[0], address, length)
            status += codec.crc(bytes(status)).to_bytes(2, "little")
        delay = self.memories[named[0][0]][Dynamixel2Register.RETURN_DELAY] * DELAY_UNIT if named[0] else 0.0
        return [(delay, bytes(status))] if len(status) > 8 else []

    def _write(self, index: int, address: int, data: bytes) -> int:
        memory, end = self.memories[index], address + len(data)
        if end > SIZE:
            return BAD_RANGE
        if address in EEPROM and memory[Dynamixel2Register.TORQUE]:
            return NO_ACCESS
        memory[address:end] = data
        written = range(address, end)
        if Dynamixel2Register.TORQUE in written:
            self.world.torque(index, bool(memory[Dynamixel2Register.TORQUE]))
            memory[Dynamixel2Register.TORQUE] = self.world.has_torque(index)
        if Dynamixel2Register.GOAL in written:
            raw = int.from_bytes(memory[Dynamixel2Register.GOAL : Dynamixel2Register.GOAL + 4], "little", signed=True)
            self.world.goal(index, min(max(raw, codec.SCALE.low), codec.SCALE.high), self._duration(index, raw))
        return OK

    def _duration(self, index: int, raw: int) -> float:
        """Duration [s] of a move with the servo's profile; 0 is at greatest speed."""
        memory = self.memories[index]
        velocity = int.from_bytes(
            memory[Dynamixel2Register.PROFILE_VELOCITY : Dynamixel2Register.PROFILE_VELOCITY + 4], "little"
        )
        if not velocity or memory[Dynamixel2Register.DRIVE_MODE] & codec.TIME_BASED:
            return velocity / 1000.0
        return abs(raw - self.world.position(index)) / (velocity * codec.STEPS_PER_SECOND)

    def _registers(self, index: int, address: int, length: int) -> bytes:
        world, memory = self.world, self.memories[index]
        memory[Dynamixel2Register.TORQUE] = world.has_torque(index)
        memory[Dynamixel2Register.HARDWARE_ERROR] = error_bits(world.fault(index), codec.FAULT_BITS)
        values = (
            (Dynamixel2Register.LOAD, 2, world.load(index) * codec.FULL_LOAD),
            (Dynamixel2Register.VELOCITY, 4, world.speed(index) / codec.STEPS_PER_SECOND),
            (Dynamixel2Register.POSITION, 4, world.position(index)),
            (Dynamixel2Register.VOLTAGE, 2, world.voltage(index) / codec.VOLT),
            (Dynamixel2Register.TEMPERATURE, 1, world.temperature(index)),
        )
        for register, size, value in values:
            memory[register : register + size] = round(value).to_bytes(size, "little", signed=True)
        return bytes(memory[address : address + length])

    def _error(self, index: int, error: int = OK) -> int:
        return error | (codec.ALERT if self.world.fault(index) is not ServoFault.NONE else 0)

    def _status(self, index: int, error: int, data: bytes = b"") -> DelayedReply:
        memory = self.memories[index]
        reply = codec.build(
            memory[Dynamixel2Register.ID], Dynamixel2Instruction.STATUS, bytes((self._error(index, error),)) + data
        )
        return memory[Dynamixel2Register.RETURN_DELAY] * DELAY_UNIT, bytes_on_line(self.world, index, reply)


def device(world: ServoWorld, ids: Sequence[int]) -> Dynamixel2Device:
    """A bus of X servos."""
    return Dynamixel2Device(world, ids)
