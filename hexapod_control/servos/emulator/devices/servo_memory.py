# SPDX-License-Identifier: Apache-2.0
"""Parts shared by emulated servos with control tables: memories by id, loss of power, continuous rotation.

The memory of a servo has defaults, limits and access rights of its registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.id_addressing import FaultBits
from hexapod_control.servos.bus.registers import Register, RegisterRole, RegisterTable
from hexapod_control.servos.emulator.servo_world import ServoWorld

DELAY_UNIT = 2e-6  # [s] of the return delay register
SPIN_TIME_S = 1000.0  # of rotation in wheel mode without a new command


@dataclass(frozen=True, slots=True)
class RegisterSpan:
    """Properties of the registers that a write covers."""

    limited: tuple[Register, ...]  # fully covered registers with limits
    read_only: bool  # at least one byte cannot be written
    cut: bool  # the write begins or ends inside a register
    stored: bool  # at least one byte is in the EEPROM
    empty: bool  # no register has any of the bytes


class ControlTable:
    """The memory of an emulated servo, laid out as in the table of its type."""

    def __init__(self, table: RegisterTable) -> None:
        self.table = table
        self.size = table.size
        self.eeprom = table.eeprom
        self._spans: dict[tuple[int, int], RegisterSpan] = {}

    def defaults(self) -> bytearray:
        """The memory of a new servo."""
        memory = bytearray(self.size)
        for register in self.table.registers:
            self.put(memory, register, register.size, register.default)
        return memory

    def powered_on(self, stored: bytes | bytearray) -> bytearray:
        """The memory at power-on, with the `stored` EEPROM."""
        memory = self.defaults()
        memory[: self.eeprom] = stored[: self.eeprom]
        for register in self.table.registers:
            if register.copies is not None:
                source = memory[register.copies : register.copies + register.size]
                memory[register : register + register.size] = source
        return memory

    def defines(self, address: int, size: int) -> bool:
        """Whether `size` bytes from an address on exist and contain a register."""
        touched = self.span(address, size)
        return address + size <= self.size and not touched.empty

    def number(self, memory: bytes | bytearray, address: int, size: int, *, signed: bool = False) -> int:
        """The number in a register."""
        return int.from_bytes(memory[address : address + size], self.table.byteorder, signed=signed)

    def put(self, memory: bytearray, address: int, size: int, value: int) -> None:
        """Sets the number in a register; negative numbers are in two's complement."""
        memory[address : address + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, self.table.byteorder)

    def span(self, address: int, size: int) -> RegisterSpan:
        """The registers in `size` bytes from an address on; computed once for each combination."""
        span = self._spans.get((address, size))
        if span is None:
            span = self._spans[address, size] = self._compute_span(address, address + size)
        return span

    def _compute_span(self, start: int, end: int) -> RegisterSpan:
        touched = [r for r in self.table.registers if r < end and start < r + r.size]
        writable = sum(min(r + r.size, end) - max(r, start) for r in touched if r.writable)
        return RegisterSpan(
            limited=tuple(r for r in touched if r.high is not None and start <= r and r + r.size <= end),
            read_only=writable < end - start,
            cut=any(r < start or r + r.size > end for r in touched),
            stored=start < self.eeprom,
            empty=not touched,
        )

    def beyond_limits(self, span: RegisterSpan, address: int, data: bytes) -> bool:
        """Whether a write to this span has a value outside the limits of its register."""
        for register in span.limited:
            value = self.number(data, register - address, register.size, signed=register.signed)
            if not register.permits(value):
                return True
        return False


class ServoMemories:
    """The registers of all servos of a bus. The EEPROM keeps its values without power, all else is reset."""

    def __init__(self, world: ServoWorld, ids: Sequence[int], table: ControlTable) -> None:
        """Servo `ids[i]` is number i of the world.

        Its owner has set its id, and its return delay to 0, as docs/servos.md says.
        """
        self.memories = [table.defaults() for _ in ids]
        self._world = world
        self._table = table
        self._id = table.table[RegisterRole.ID]
        delay = table.table[RegisterRole.RETURN_DELAY]
        for servo, memory in zip(ids, self.memories, strict=True):
            memory[self._id] = servo
            memory[delay] = 0
        self._stored = [bytes(memory[: table.eeprom]) for memory in self.memories]
        self._power_cycles = [world.power_cycles(i) for i in range(len(ids))]
        self._index_by_id()

    def _index_by_id(self) -> None:
        self._indices: dict[int, list[int]] = {}
        for index, memory in enumerate(self.memories):
            self._indices.setdefault(memory[self._id], []).append(index)

    def with_id(self, servo: int) -> list[int]:
        """Indices of the servos with this id that have power."""
        return [i for i in self._indices.get(servo, ()) if self._has_power(i)]

    def powered(self) -> list[int]:
        """Indices of all servos that have power."""
        return [i for i in range(len(self.memories)) if self._has_power(i)]

    def _has_power(self, index: int) -> bool:
        if not self._world.answers(index):
            return False
        if self._world.power_cycles(index) != self._power_cycles[index]:
            self._power_cycles[index] = self._world.power_cycles(index)
            self._replace(index, self._table.powered_on(self._stored[index]))
        return True

    def _replace(self, index: int, memory: bytearray) -> None:
        self.memories[index][:] = memory
        self._index_by_id()

    def write(self, index: int, address: int, data: bytes, *, persists: bool) -> None:
        """Sets registers; those in the EEPROM are kept without power if the write `persists`."""
        memory = self.memories[index]
        memory[address : address + len(data)] = data
        if address < self._table.eeprom:
            if persists:
                self._stored[index] = bytes(memory[: self._table.eeprom])
            self._index_by_id()

    def reset(self, index: int, kept: range) -> None:
        """Restores the factory settings, except for the bytes `kept`."""
        memory = self._table.defaults()
        memory[kept.start : kept.stop] = self.memories[index][kept.start : kept.stop]
        self._stored[index] = bytes(memory[: self._table.eeprom])
        self._replace(index, memory)

    def restart(self, index: int) -> None:
        """Resets the volatile registers, as at power-on."""
        self._replace(index, self._table.powered_on(self.memories[index]))


def word(data: bytes | bytearray, at: int) -> int:
    """The two bytes from an index on, low byte first."""
    return data[at] | data[at + 1] << 8


def spin(world: ServoWorld, index: int, speed: float) -> None:
    """Turns a servo continuously at a speed [raw/s]; 0 stops it."""
    world.goal(index, world.position(index) + speed * SPIN_TIME_S, SPIN_TIME_S if speed else 0.0)


def moving(world: ServoWorld, index: int) -> bool:
    """Whether a servo turns faster than 1 deg/s."""
    return abs(world.speed(index)) > world.scale.per_rad / 57.0


def error_bits(fault: ServoFault, bits: FaultBits) -> int:
    """The error byte for these faults."""
    if not fault:
        return 0
    return sum(1 << bit for bit, name in bits.items() if name in fault and name is not ServoFault.OTHER)
