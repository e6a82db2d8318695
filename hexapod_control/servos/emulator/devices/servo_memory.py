"""Parts shared by emulated servos with control tables: memories by id, loss of power, continuous rotation."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.id_addressing import FaultBits
from hexapod_control.servos.bus.registers import RegisterRole
from hexapod_control.servos.emulator.control_table import ControlTable
from hexapod_control.servos.emulator.servo_world import ServoWorld

DELAY_UNIT = 2e-6  # [s] of the return delay register
SPIN_TIME_S = 1000.0  # of rotation in wheel mode without a new command


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
