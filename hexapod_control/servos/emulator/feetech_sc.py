"""Emulated Feetech SC servos."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hexapod_control.servos import feetech_sc as codec
from hexapod_control.servos import feetech_st as st
from hexapod_control.servos.bus import Fault
from hexapod_control.servos.emulator.registers import FrameDevice, touched
from hexapod_control.servos.emulator.world import ServoWorld
from hexapod_control.servos.feetech_sc import Register
from hexapod_control.servos.frames import sign_magnitude


def high_low(value: float, sign: int) -> bytes:
    """Two bytes with a sign bit, high first."""
    return sign_magnitude(round(value), sign).to_bytes(2, "big")


class ScTable:
    """Registers of SC servos and what they do."""

    size = 128
    id_address: int = Register.ID
    delay_address: int = Register.RETURN_DELAY
    level_address: int = Register.RESPONSE_LEVEL
    quiet_level = 0
    start: Mapping[int, bytes] = {
        Register.MODEL: (5).to_bytes(2, "big"),
        Register.RESPONSE_LEVEL: b"\x01",
        Register.HIGH_LIMIT: (1023).to_bytes(2, "big"),
        Register.LOCK: b"\x01",
    }
    fault_bits = st.FAULT_BITS
    sync_read = False

    def show(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Position, speed, load, voltage, temperature."""
        block = round(min(max(world.position(index), 0.0), 1023.0)).to_bytes(2, "big")
        block += high_low(world.speed(index), st.SIGN) + high_low(world.load(index) * st.FULL_LOAD, st.LOAD_SIGN)
        block += bytes((round(world.voltage(index) / st.VOLT) & 0xFF, round(world.temperature(index)) & 0xFF))
        memory[Register.POSITION : Register.POSITION + len(block)] = block

    def obey(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Torque, and goals with their time."""
        if touched(written, Register.TORQUE):
            if not memory[Register.TORQUE] and world.fault(index) & Fault.OVERLOAD:
                world.reboot(index)  # torque off ends the protection
            world.torque(index, bool(memory[Register.TORQUE]))
        if touched(written, Register.GOAL):
            raw = int.from_bytes(memory[Register.GOAL : Register.GOAL + 2], "big")
            milliseconds = int.from_bytes(memory[Register.TIME : Register.TIME + 2], "big")
            world.goal(index, min(raw, 1023), min(milliseconds, codec.LONGEST) / 1000.0)


def device(world: ServoWorld, ids: Sequence[int]) -> FrameDevice:
    """A bus of SC servos."""
    return FrameDevice(world, ids, ScTable())
