# SPDX-License-Identifier: Apache-2.0
"""Emulated Dynamixel AX servos. A goal switches the torque on; with both limits 0 they are in wheel mode."""

from __future__ import annotations

from collections.abc import Sequence

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import sign_magnitude, signed
from hexapod_control.servos.emulator.devices.ff_device import FFDevice
from hexapod_control.servos.emulator.devices.servo_memory import ControlTable, moving, spin, word
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import dynamixel1 as codec
from hexapod_control.servos.protocols.dynamixel1 import Dynamixel1Register

AX_TABLE = ControlTable(codec.TABLE)
ANGLE_ERROR = 1 << 1
RANGE_ERROR = 1 << 3
INSTRUCTION_ERROR = 1 << 6


def low_high(value: float) -> bytes:
    """Sign and magnitude as a little-endian word."""
    return sign_magnitude(round(value), codec.SIGN).to_bytes(2, "little")


class AxServos:
    """The FFServoKind of AX servos."""

    table = AX_TABLE
    read_level = 1
    write_level = 2
    fault_bits = codec.FAULT_BITS
    instruction_error = INSTRUCTION_ERROR
    checksum_error = codec.CHECKSUM_ERROR
    read_error = RANGE_ERROR
    reset_keeps_id = False
    sync_read = False

    def refresh(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Updates all status registers; an overload sets the torque limit to zero."""
        block = codec.SCALE.clamp_goal(round(world.position(index))).to_bytes(2, "little")
        block += low_high(world.speed(index) / codec.STEPS_PER_SECOND) + low_high(world.load(index) * codec.FULL_LOAD)
        block += bytes((round(world.voltage(index) / codec.VOLT) & 0xFF, round(world.temperature(index)) & 0xFF))
        memory[Dynamixel1Register.POSITION : Dynamixel1Register.POSITION + len(block)] = block
        memory[Dynamixel1Register.TORQUE] = world.has_torque(index)
        memory[Dynamixel1Register.MOVING] = moving(world, index)
        if world.fault(index) & ServoFault.OVERLOAD:
            memory[Dynamixel1Register.TORQUE_LIMIT : Dynamixel1Register.TORQUE_LIMIT + 2] = b"\x00\x00"

    def refusal(self, memory: bytearray, address: int, data: bytes) -> int | None:
        """Refuses status registers, the locked EEPROM, values beyond their limits and goals beyond the angle limits."""
        span = self.table.span(address, len(data))
        locked = memory[Dynamixel1Register.LOCK] and (span.stored or address == Dynamixel1Register.LOCK)
        if span.read_only or locked or self.table.beyond_limits(span, address, data):
            return RANGE_ERROR
        if address <= Dynamixel1Register.GOAL < address + len(data) - 1 and not self._wheel(memory):
            goal = word(data, Dynamixel1Register.GOAL - address)
            low, high = word(memory, Dynamixel1Register.CW_LIMIT), word(memory, Dynamixel1Register.CCW_LIMIT)
            if not low <= goal <= high:
                return ANGLE_ERROR
        return None

    @staticmethod
    def _wheel(memory: bytearray) -> bool:
        return not any(memory[Dynamixel1Register.CW_LIMIT : Dynamixel1Register.CCW_LIMIT + 2])

    def persists(self, memory: bytearray) -> bool:
        """Whether written values survive power-off: all do; a locked EEPROM refuses writes."""
        return True

    def apply_write(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Applies torque, torque limit, and goals with their speed."""
        if Dynamixel1Register.TORQUE_LIMIT in written and world.fault(index) & ServoFault.OVERLOAD:
            world.reboot(index)
        if Dynamixel1Register.TORQUE in written:
            self._switch(world, index, memory)
        if self._wheel(memory):
            if Dynamixel1Register.SPEED in written:
                units = signed(word(memory, Dynamixel1Register.SPEED), codec.SIGN)
                spin(world, index, units * codec.STEPS_PER_SECOND)
        elif Dynamixel1Register.GOAL in written:
            goal = word(memory, Dynamixel1Register.GOAL)
            units = word(memory, Dynamixel1Register.SPEED) & codec.SPEEDS.fastest
            distance = abs(goal - world.position(index))
            world.goal(index, goal, distance / (units * codec.STEPS_PER_SECOND) if units else 0.0)
            if any(memory[Dynamixel1Register.TORQUE_LIMIT : Dynamixel1Register.TORQUE_LIMIT + 2]):
                world.torque(index, True)

    @staticmethod
    def _switch(world: ServoWorld, index: int, memory: bytearray) -> None:
        """Torque on holds the present position."""
        on = bool(memory[Dynamixel1Register.TORQUE])
        if on and not world.has_torque(index):
            position = world.position(index)
            world.goal(index, position, 0.0)
            goal = codec.SCALE.clamp_goal(round(position)).to_bytes(2, "little")
            memory[Dynamixel1Register.GOAL : Dynamixel1Register.GOAL + 2] = goal
        world.torque(index, on)


def device(world: ServoWorld, ids: Sequence[int]) -> FFDevice:
    """A bus of AX servos."""
    return FFDevice(world, ids, AxServos())


DEVICES = {"dynamixel1": device}
