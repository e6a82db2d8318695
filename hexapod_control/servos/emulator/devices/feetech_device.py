# SPDX-License-Identifier: Apache-2.0
"""Emulated Feetech servos of the ST and SC series. They ignore invalid writes and do not check values."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import sign_magnitude, signed
from hexapod_control.servos.bus.registers import RegisterRole
from hexapod_control.servos.emulator.devices.ff_device import FFDevice
from hexapod_control.servos.emulator.devices.servo_memory import ControlTable, error_bits, moving, spin
from hexapod_control.servos.emulator.servo_world import ServoWorld, supply_current
from hexapod_control.servos.protocols import feetech_sc, feetech_st
from hexapod_control.servos.protocols.feetech_sc import FeetechScRegister
from hexapod_control.servos.protocols.feetech_st import FeetechMode, FeetechStRegister

PWM_SIGN = 10
FULL_PWM = 1000
PWM_SPEED = 3400  # [steps/s] at full PWM
TO_MIDDLE = 128  # value of TORQUE that makes the present position the middle
MIDDLE = feetech_st.SCALE.center
ST_TABLE = ControlTable(feetech_st.TABLE)
SC_TABLE = ControlTable(feetech_sc.TABLE)


class FeetechServos(ABC):
    """The FFServoKind of Feetech servos: common parts of both series."""

    table: ControlTable
    read_level = 0
    write_level = 1
    fault_bits = feetech_st.FAULT_BITS
    instruction_error = checksum_error = read_error = 0
    reset_keeps_id = True

    @abstractmethod
    def position_register(self, world: ServoWorld, index: int, memory: bytearray) -> int:
        """The value of the register of the present position."""

    @abstractmethod
    def apply_goal(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Executes goals, times and speeds."""

    def number(self, memory: bytearray, address: int) -> int:
        """The value of a register of two bytes."""
        return self.table.number(memory, address, 2)

    def clamped(self, goal: int, memory: bytearray) -> int:
        """A goal within the angle limits; none apply if both are 0."""
        low = self.number(memory, self.table.table[RegisterRole.LOW_LIMIT])
        high = self.number(memory, self.table.table[RegisterRole.HIGH_LIMIT])
        return min(max(goal, low), high) if low or high else goal

    def refresh(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Updates all status registers."""
        order = self.table.table.byteorder
        load = round(world.load(index) * feetech_st.FULL_LOAD)
        block = self.position_register(world, index, memory).to_bytes(2, order)
        block += sign_magnitude(round(world.speed(index)), feetech_st.SIGN).to_bytes(2, order)
        block += sign_magnitude(load, feetech_st.LOAD_SIGN).to_bytes(2, order)
        volts = round(world.voltage(index) / feetech_st.VOLT)
        degrees = round(world.temperature(index))
        block += bytes((volts & 0xFF, degrees & 0xFF))
        memory[FeetechStRegister.POSITION : FeetechStRegister.POSITION + len(block)] = block
        amperes = math.copysign(supply_current([load / feetech_st.FULL_LOAD]), load) if world.has_torque(index) else 0.0
        current = sign_magnitude(round(amperes / feetech_st.AMPERE), feetech_st.SIGN)
        self.table.put(memory, FeetechStRegister.CURRENT, 2, current)
        memory[FeetechStRegister.STATUS] = error_bits(world.fault(index), feetech_st.FAULT_BITS)
        memory[FeetechStRegister.MOVING] = moving(world, index)
        memory[FeetechStRegister.TORQUE] = world.has_torque(index)

    def refusal(self, memory: bytearray, address: int, data: bytes) -> int | None:
        """Ignores writes to status registers, without an error."""
        return 0 if self.table.span(address, len(data)).read_only else None

    def persists(self, memory: bytearray) -> bool:
        """Whether the EEPROM is unlocked; a locked one holds a written value until power-off."""
        return not memory[self.table.table[RegisterRole.LOCK]]

    def apply_write(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Applies torque and goals."""
        if FeetechStRegister.TORQUE in written:
            on = bool(memory[FeetechStRegister.TORQUE])
            if not on and world.fault(index) & ServoFault.OVERLOAD:
                world.reboot(index)  # torque off ends the protection
            world.torque(index, on)
        self.apply_goal(world, index, memory, written)


class StServos(FeetechServos):
    """ST servos, with offset and modes."""

    table = ST_TABLE
    sync_read = True

    def _offset(self, memory: bytearray) -> int:
        return signed(self.number(memory, FeetechStRegister.OFFSET), feetech_st.OFFSET_SIGN)

    def position_register(self, world: ServoWorld, index: int, memory: bytearray) -> int:
        """The position minus the offset, as sign and magnitude."""
        return sign_magnitude(round(world.position(index)) - self._offset(memory), feetech_st.SIGN)

    def apply_write(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Applies torque and goals; a special value of the torque register sets the offset."""
        if FeetechStRegister.TORQUE in written and memory[FeetechStRegister.TORQUE] == TO_MIDDLE:
            memory[FeetechStRegister.TORQUE] = world.has_torque(index)
            offset = sign_magnitude(round(world.position(index)) - MIDDLE, feetech_st.OFFSET_SIGN)
            self.table.put(memory, FeetechStRegister.OFFSET, 2, offset)
        super().apply_write(world, index, memory, written)

    def apply_goal(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Executes the goal in position and step mode, the speed in wheel mode, the time register in PWM mode."""
        mode = memory[FeetechStRegister.MODE]
        if mode == FeetechMode.WHEEL:
            if FeetechStRegister.SPEED in written:
                spin(world, index, signed(self.number(memory, FeetechStRegister.SPEED), feetech_st.SIGN))
        elif mode == FeetechMode.PWM:
            if FeetechStRegister.TIME in written:
                share = signed(self.number(memory, FeetechStRegister.TIME), PWM_SIGN) / FULL_PWM
                spin(world, index, share * PWM_SPEED)
        elif FeetechStRegister.GOAL in written:
            goal = signed(self.number(memory, FeetechStRegister.GOAL), feetech_st.SIGN)
            position = world.position(index)
            raw = position + goal if mode == FeetechMode.STEP else self.clamped(goal, memory) + self._offset(memory)
            speed = self.number(memory, FeetechStRegister.SPEED) & feetech_st.SPEEDS.fastest
            world.goal(index, raw, abs(raw - position) / speed if speed else 0.0)


class ScServos(FeetechServos):
    """SC servos: timed moves; both limits 0 are wheel mode."""

    table = SC_TABLE
    sync_read = False

    def position_register(self, world: ServoWorld, index: int, memory: bytearray) -> int:
        """The position, clamped to 0 to 1023."""
        return round(min(max(world.position(index), 0.0), 1023.0))

    def apply_goal(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Executes goals with their time; in wheel mode the time register is the PWM."""
        if not any(memory[FeetechScRegister.LOW_LIMIT : FeetechScRegister.HIGH_LIMIT + 2]):
            if FeetechScRegister.TIME in written:
                share = signed(self.number(memory, FeetechScRegister.TIME), PWM_SIGN) / FULL_PWM
                spin(world, index, share * PWM_SPEED)
        elif FeetechScRegister.GOAL in written:
            goal = self.clamped(self.number(memory, FeetechScRegister.GOAL), memory)
            milliseconds = self.number(memory, FeetechScRegister.TIME)
            world.goal(index, goal, min(milliseconds, feetech_sc.MAX_MOVE_MS) / 1000.0)


def st_device(world: ServoWorld, ids: Sequence[int]) -> FFDevice:
    """A bus of ST servos."""
    return FFDevice(world, ids, StServos())


def sc_device(world: ServoWorld, ids: Sequence[int]) -> FFDevice:
    """A bus of SC servos."""
    return FFDevice(world, ids, ScServos())


DEVICES = {"feetech_st": st_device, "feetech_sc": sc_device}
