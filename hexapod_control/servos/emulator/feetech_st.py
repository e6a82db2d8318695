"""Emulated Feetech ST servos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hexapod_control.servos import feetech_st as codec
from hexapod_control.servos.bus import Fault
from hexapod_control.servos.emulator.registers import FrameDevice, touched
from hexapod_control.servos.emulator.world import ServoWorld
from hexapod_control.servos.feetech_st import Register
from hexapod_control.servos.frames import sign_magnitude, signed


def low_high(value: float, sign: int) -> bytes:
    """Two bytes with a sign bit."""
    return sign_magnitude(round(value), sign).to_bytes(2, "little")


class StTable:
    """Registers of ST servos and what they do."""

    size = 128
    id_address: int = Register.ID
    delay_address: int = Register.RETURN_DELAY
    level_address: int = Register.RESPONSE_LEVEL
    quiet_level = 0
    start: Mapping[int, bytes] = {
        Register.MODEL: (777).to_bytes(2, "little"),
        Register.RESPONSE_LEVEL: b"\x01",
        Register.HIGH_LIMIT: (4095).to_bytes(2, "little"),
        Register.LOCK: b"\x01",
    }
    fault_bits = codec.FAULT_BITS
    sync_read = True

    def show(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Position, speed, load, voltage, temperature."""
        block = low_high(world.position(index), codec.SIGN) + low_high(world.speed(index), codec.SIGN)
        block += low_high(world.load(index) * codec.FULL_LOAD, codec.LOAD_SIGN)
        block += bytes((round(world.voltage(index) / codec.VOLT) & 0xFF, round(world.temperature(index)) & 0xFF))
        memory[Register.POSITION : Register.POSITION + len(block)] = block

    def obey(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Torque, and goals with their speed."""
        if touched(written, Register.TORQUE):
            if not memory[Register.TORQUE] and world.fault(index) & Fault.OVERLOAD:
                world.reboot(index)  # torque off ends the protection
            world.torque(index, bool(memory[Register.TORQUE]))
        if touched(written, Register.GOAL):
            raw = signed(int.from_bytes(memory[Register.GOAL : Register.GOAL + 2], "little"), codec.SIGN)
            speed = int.from_bytes(memory[Register.SPEED : Register.SPEED + 2], "little") & codec.FASTEST
            distance = abs(raw - world.position(index))
            world.goal(index, raw, distance / speed if speed else 0.0)


def device(world: ServoWorld, ids: Sequence[int]) -> FrameDevice:
    """A bus of ST servos."""
    return FrameDevice(world, ids, StTable())
