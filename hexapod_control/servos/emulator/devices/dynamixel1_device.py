"""Emulated Dynamixel AX servos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import sign_magnitude
from hexapod_control.servos.emulator.devices.ff_device import FFDevice, touched
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import dynamixel1 as codec
from hexapod_control.servos.protocols.dynamixel1 import Dynamixel1Register

FULL = codec.FULL_LOAD.to_bytes(2, "little")


def low_high(value: float) -> bytes:
    """Two bytes with a sign bit."""
    return sign_magnitude(round(value), codec.SIGN).to_bytes(2, "little")


class AxTable:
    """Registers of AX servos and their effects."""

    size = 50
    id_address: int = Dynamixel1Register.ID
    delay_address: int = Dynamixel1Register.RETURN_DELAY
    level_address: int = Dynamixel1Register.STATUS_LEVEL
    quiet_level = 1
    start: Mapping[int, bytes] = {
        Dynamixel1Register.MODEL: (12).to_bytes(2, "little"),
        Dynamixel1Register.CCW_LIMIT: (1023).to_bytes(2, "little"),
        Dynamixel1Register.MAX_TORQUE: FULL,
        Dynamixel1Register.STATUS_LEVEL: b"\x02",
        Dynamixel1Register.TORQUE_LIMIT: FULL,
    }
    fault_bits = codec.FAULT_BITS
    sync_read = False

    def refresh(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Updates position, speed, load, voltage and temperature; an overload sets the torque limit to zero."""
        block = round(min(max(world.position(index), 0.0), 1023.0)).to_bytes(2, "little")
        block += low_high(world.speed(index) / codec.STEPS_PER_SECOND) + low_high(world.load(index) * codec.FULL_LOAD)
        block += bytes((round(world.voltage(index) / codec.VOLT) & 0xFF, round(world.temperature(index)) & 0xFF))
        memory[Dynamixel1Register.POSITION : Dynamixel1Register.POSITION + len(block)] = block
        if world.fault(index) & ServoFault.OVERLOAD:
            memory[Dynamixel1Register.TORQUE_LIMIT : Dynamixel1Register.TORQUE_LIMIT + 2] = b"\x00\x00"

    def apply_write(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Applies torque, torque limit, and goals with their speed."""
        if touched(written, Dynamixel1Register.TORQUE_LIMIT) and world.fault(index) & ServoFault.OVERLOAD:
            world.reboot(index)
        if touched(written, Dynamixel1Register.TORQUE):
            world.torque(index, bool(memory[Dynamixel1Register.TORQUE]))
        if touched(written, Dynamixel1Register.GOAL):
            raw = min(int.from_bytes(memory[Dynamixel1Register.GOAL : Dynamixel1Register.GOAL + 2], "little"), 1023)
            units = (
                int.from_bytes(memory[Dynamixel1Register.SPEED : Dynamixel1Register.SPEED + 2], "little")
                & codec.SPEEDS.fastest
            )
            distance = abs(raw - world.position(index))
            world.goal(index, raw, distance / (units * codec.STEPS_PER_SECOND) if units else 0.0)


def device(world: ServoWorld, ids: Sequence[int]) -> FFDevice:
    """A bus of AX servos."""
    return FFDevice(world, ids, AxTable())
