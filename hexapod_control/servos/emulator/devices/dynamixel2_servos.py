# SPDX-License-Identifier: Apache-2.0
"""The registers of emulated Dynamixel X servos and their effects: modes, limits, offset, torque, watchdog."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from hexapod_control.servos.emulator.devices.servo_memory import ControlTable, ServoMemories, error_bits, moving, spin
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import dynamixel2 as codec
from hexapod_control.servos.protocols.dynamixel2 import Dynamixel2Mode, Dynamixel2Register

X_TABLE = ControlTable(codec.TABLE)
OK, RESULT_FAIL, BAD_INSTRUCTION, BAD_CRC, BAD_RANGE, BAD_LENGTH, BAD_LIMIT, NO_ACCESS = range(8)  # errors
TURN = 4096  # [steps] per revolution
FULL_PWM = 885
PWM_SPEED = 4300  # [steps/s] at full PWM
MAX_SINGLE_TURN_OFFSET = 1024  # [steps] beyond which position mode ignores the homing offset
MAX_EXTENDED_GOAL = 1_048_575  # [steps] in extended position mode
WATCHDOG_S = 0.02  # [s] of one unit
STRUCK = -1  # value of the watchdog after it has struck
# of a factory reset
KEEP_NOTHING = 0xFF
KEEP_ID = 0x01
KEEP_ID_AND_BAUD = 0x02
KEPT = {
    KEEP_NOTHING: range(0),
    KEEP_ID: range(Dynamixel2Register.ID, Dynamixel2Register.ID + 1),
    KEEP_ID_AND_BAUD: range(Dynamixel2Register.ID, Dynamixel2Register.BAUD + 1),
}
TICKS = 32768  # [ms] after which the clock starts again
# of a backup
STORE = 1
RESTORE = 2
NO_ID = 255  # second id from the factory
GOALS = (Dynamixel2Register.GOAL_PWM, Dynamixel2Register.GOAL_VELOCITY, Dynamixel2Register.GOAL)
PROFILE = range(Dynamixel2Register.PROFILE_ACCELERATION, Dynamixel2Register.PROFILE_VELOCITY + 4)


class XServos:
    """All servos of a bus."""

    def __init__(self, world: ServoWorld, ids: Sequence[int]) -> None:
        """Servo `ids[i]` is number i of the world."""
        self.world = world
        self.all = ServoMemories(world, ids, X_TABLE)
        self._cleared = [0] * len(ids)  # [steps] by which turns that do not count have changed positions
        self._power_cycles = [0] * len(ids)
        self.backups: dict[int, bytes] = {}  # index -> EEPROM
        # [s] steady time; of the last instruction
        self.now = 0.0
        self._heard_at = 0.0

    @property
    def memories(self) -> list[bytearray]:
        """Registers, by index."""
        return self.all.memories

    def with_second_id(self, servo: int) -> list[int]:
        """Indices of the servos with this second id that have power."""
        return [i for i in self.all.powered() if self.memories[i][Dynamixel2Register.SECOND_ID] == servo != NO_ID]

    def _number(self, index: int, address: int, size: int = 4) -> int:
        return X_TABLE.number(self.memories[index], address, size, signed=True)

    def _mode(self, index: int) -> int:
        return self.memories[index][Dynamixel2Register.OPERATING_MODE]

    def shift(self, index: int) -> int:
        """Present position minus that of the world [steps]."""
        if self.world.power_cycles(index) != self._power_cycles[index]:
            self._power_cycles[index] = self.world.power_cycles(index)
            self._forget_turns(index)
        offset = self._number(index, Dynamixel2Register.HOMING_OFFSET)
        if self._mode(index) == Dynamixel2Mode.POSITION and abs(offset) > MAX_SINGLE_TURN_OFFSET:
            offset = 0
        return offset + self._cleared[index]

    def position(self, index: int) -> int:
        """Present position [steps]."""
        return round(self.world.position(index)) + self.shift(index)

    def _forget_turns(self, index: int) -> None:
        """The encoder knows the position within one turn only."""
        self._cleared[index] = -TURN * math.floor(round(self.world.position(index)) / TURN)

    # --- the watchdog -------------------------------------------------------------------------------

    def watch(self, now: float) -> None:
        """Stops the servos with torque whose watchdog has struck by a steady time [s], each at its moment."""
        self.now = now
        for index, memory in enumerate(self.memories):
            units = memory[Dynamixel2Register.BUS_WATCHDOG]
            struck_at = self._heard_at + units * WATCHDOG_S
            if units and units < 128 and now >= struck_at and self.world.has_torque(index):
                self.world.step(struck_at)
                self.world.goal(index, self.world.position(index), 0.0)
                X_TABLE.put(memory, Dynamixel2Register.BUS_WATCHDOG, 1, STRUCK)
                memory[PROFILE.start : PROFILE.stop] = bytes(len(PROFILE))

    def heard(self, now: float) -> None:
        """Restarts the watchdogs: an instruction was received at a steady time [s]."""
        self._heard_at = now

    # --- writes -------------------------------------------------------------------------------------

    def refusal(self, index: int, address: int, data: bytes) -> int:
        """The error code for a write; OK if the servo accepts it."""
        if not X_TABLE.defines(address, len(data)):
            return NO_ACCESS
        errors = (self._refusal(index, *run) for run in direct_writes(self.memories[index], address, data))
        return next((error for error in errors if error != OK), OK)

    def _refusal(self, index: int, address: int, data: bytes) -> int:
        span = X_TABLE.span(address, len(data))
        if span.read_only or (span.stored and self.world.has_torque(index)):
            return NO_ACCESS
        if span.cut:
            return BAD_LENGTH
        if X_TABLE.beyond_limits(span, address, data):
            return BAD_RANGE
        written = [goal for goal in GOALS if address <= goal < address + len(data)]
        if written and self._number(index, Dynamixel2Register.BUS_WATCHDOG, 1) == STRUCK:
            return BAD_RANGE
        for register in written:
            size = 2 if register == Dynamixel2Register.GOAL_PWM else 4
            goal = X_TABLE.number(data, register - address, size, signed=True)
            low, high = self._goal_limits(index, register)
            if not low <= goal <= high:
                return BAD_RANGE if high == MAX_EXTENDED_GOAL else BAD_LIMIT
        return OK

    def _goal_limits(self, index: int, register: int) -> tuple[int, int]:
        """The least and the greatest goal that a register takes."""
        if register == Dynamixel2Register.GOAL and self._mode(index) == Dynamixel2Mode.POSITION:
            return self._number(index, Dynamixel2Register.LOW_LIMIT), self._number(index, Dynamixel2Register.HIGH_LIMIT)
        limit = MAX_EXTENDED_GOAL
        if register == Dynamixel2Register.GOAL_PWM:
            limit = self._number(index, Dynamixel2Register.PWM_LIMIT, 2)
        elif register == Dynamixel2Register.GOAL_VELOCITY:
            limit = self._number(index, Dynamixel2Register.VELOCITY_LIMIT)
        return -limit, limit

    def write(self, index: int, address: int, data: bytes) -> int:
        """Writes registers and executes them; returns the error code."""
        error = self.refusal(index, address, data)
        if error == OK:
            for run in direct_writes(self.memories[index], address, data):
                self._write(index, *run)
        return error

    def _write(self, index: int, address: int, data: bytes) -> None:
        mode = self._mode(index)
        self.all.write(index, address, data, persists=True)
        written = range(address, address + len(data))
        if self._mode(index) != mode:
            self._change_mode(index)
        if Dynamixel2Register.TORQUE in written:
            self._switch(index)
        self._drive(index, written)

    def _change_mode(self, index: int) -> None:
        memory = self.memories[index]
        self._forget_turns(index)
        memory[PROFILE.start : PROFILE.stop] = bytes(len(PROFILE))
        limit = self._number(index, Dynamixel2Register.PWM_LIMIT, 2)
        X_TABLE.put(memory, Dynamixel2Register.GOAL_PWM, 2, limit)

    def _switch(self, index: int) -> None:
        """Torque on makes the present position the goal."""
        world = self.world
        memory = self.memories[index]
        on = bool(memory[Dynamixel2Register.TORQUE])
        if on and not world.has_torque(index):
            if self._mode(index) == Dynamixel2Mode.POSITION:
                self._forget_turns(index)
            X_TABLE.put(memory, Dynamixel2Register.GOAL, 4, self.position(index))
            world.goal(index, world.position(index), 0.0)
        world.torque(index, on)
        memory[Dynamixel2Register.TORQUE] = world.has_torque(index)

    def _drive(self, index: int, written: range) -> None:
        mode = self._mode(index)
        if mode == Dynamixel2Mode.VELOCITY:
            if Dynamixel2Register.GOAL_VELOCITY in written:
                units = self._number(index, Dynamixel2Register.GOAL_VELOCITY)
                spin(self.world, index, units * codec.STEPS_PER_SECOND)
        elif mode == Dynamixel2Mode.PWM:
            if Dynamixel2Register.GOAL_PWM in written:
                spin(self.world, index, PWM_SPEED * self._number(index, Dynamixel2Register.GOAL_PWM, 2) / FULL_PWM)
        elif Dynamixel2Register.GOAL in written:
            raw = self._number(index, Dynamixel2Register.GOAL) - self.shift(index)
            self.world.goal(index, raw, self._duration(index, raw))

    def _duration(self, index: int, raw: int) -> float:
        """Duration [s] of a move with the servo's profile; 0 is at maximum speed."""
        velocity = self._number(index, Dynamixel2Register.PROFILE_VELOCITY)
        if not velocity or self.memories[index][Dynamixel2Register.DRIVE_MODE] & codec.TIME_BASED:
            return velocity / 1000.0
        return abs(raw - self.world.position(index)) / (velocity * codec.STEPS_PER_SECOND)

    # --- other instructions -------------------------------------------------------------------------

    def reboot(self, index: int) -> int:
        """Clears faults and resets the registers outside the EEPROM. Returns the error code."""
        self.world.reboot(index)
        self.all.restart(index)
        self._forget_turns(index)
        return OK

    def factory_reset(self, index: int, kept: int) -> int:
        """Resets all registers except those of a KEEP_* value. Returns the error code."""
        if kept not in KEPT:
            return BAD_RANGE
        self.world.torque(index, False)
        self.all.reset(index, KEPT[kept])
        self._forget_turns(index)
        return OK

    def clear_turns(self, index: int) -> int:
        """Reduces the position of a servo that stands still to one turn. Returns the error code."""
        if moving(self.world, index):
            return RESULT_FAIL
        position = self.position(index)
        change = position % TURN - position
        self._cleared[index] += change
        goal = self._number(index, Dynamixel2Register.GOAL) + change
        X_TABLE.put(self.memories[index], Dynamixel2Register.GOAL, 4, goal)
        return OK

    def back_up(self, index: int, order: int) -> int:
        """Stores the EEPROM, or restores it and reboots; not under torque. Returns the error code."""
        if self.world.has_torque(index) or (order == RESTORE and index not in self.backups):
            return RESULT_FAIL
        if order == STORE:
            self.backups[index] = bytes(self.memories[index][: X_TABLE.eeprom])
            return OK
        self.all.write(index, 0, self.backups[index], persists=True)
        return self.reboot(index)

    # --- reads --------------------------------------------------------------------------------------

    def registers(self, index: int, address: int, length: int) -> bytes:
        """Registers, updated from the world."""
        memory = self.memories[index]
        addresses = direct_addresses(memory, address, length)
        first, last = min(addresses, default=0), max(addresses, default=0)
        for register, size, value in SHOWN:
            if first < register + size and register <= last:
                X_TABLE.put(memory, register, size, round(value(self, index)))
        return bytes(map(memory.__getitem__, addresses))


SHOWN: tuple[tuple[int, int, Callable[[XServos, int], float]], ...] = (  # register, size, value
    (Dynamixel2Register.TORQUE, 1, lambda servos, i: servos.world.has_torque(i)),
    (Dynamixel2Register.HARDWARE_ERROR, 1, lambda servos, i: error_bits(servos.world.fault(i), codec.FAULT_BITS)),
    (Dynamixel2Register.TICK, 2, lambda servos, i: servos.now * 1000.0 % TICKS),
    (Dynamixel2Register.MOVING, 1, lambda servos, i: moving(servos.world, i)),
    (Dynamixel2Register.PWM, 2, lambda servos, i: servos.world.load(i) * FULL_PWM),
    (Dynamixel2Register.LOAD, 2, lambda servos, i: servos.world.load(i) * codec.FULL_LOAD),
    (Dynamixel2Register.VELOCITY, 4, lambda servos, i: servos.world.speed(i) / codec.STEPS_PER_SECOND),
    (Dynamixel2Register.POSITION, 4, XServos.position),
    (Dynamixel2Register.TRAJECTORY_VELOCITY, 4, lambda servos, i: servos.world.speed(i) / codec.STEPS_PER_SECOND),
    (Dynamixel2Register.TRAJECTORY_POSITION, 4, lambda servos, i: servos.world.target(i) + servos.shift(i)),
    (Dynamixel2Register.VOLTAGE, 2, lambda servos, i: servos.world.voltage(i) / codec.VOLT),
    (Dynamixel2Register.TEMPERATURE, 1, lambda servos, i: servos.world.temperature(i)),
    (Dynamixel2Register.BACKUP_READY, 1, lambda servos, i: i in servos.backups),
)


def direct_addresses(memory: bytes | bytearray, address: int, length: int) -> list[int]:
    """The address of each of `length` bytes from an address on; of an indirect one, the address behind it."""
    addresses = list(range(address, address + length))
    for at, data, count in codec.INDIRECT:
        for indirect in range(max(address, data), min(address + length, data + count)):
            addresses[indirect - address] = X_TABLE.number(memory, at + 2 * (indirect - data), 2)
    return addresses


def direct_writes(memory: bytes | bytearray, address: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """The writes to neighbouring registers, as address and bytes, that a write with indirect addresses makes."""
    addresses = direct_addresses(memory, address, len(data))
    begin = 0
    for end in range(1, len(data) + 1):
        if end == len(data) or addresses[end] != addresses[end - 1] + 1:
            yield addresses[begin], data[begin:end]
            begin = end
