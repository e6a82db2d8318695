"""Emulated Feetech servos: the ST and the SC series share their registers and differ in what a row here says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hexapod_control.servos import feetech_sc, feetech_st
from hexapod_control.servos.addressing import FaultBits
from hexapod_control.servos.bus import Fault
from hexapod_control.servos.emulator.registers import FrameDevice, touched
from hexapod_control.servos.emulator.world import ServoWorld
from hexapod_control.servos.feetech_st import Register
from hexapod_control.servos.frames import sign_magnitude, signed


@dataclass(frozen=True, slots=True)
class FeetechTable:
    """Registers of a series and what they do."""

    byteorder: Literal["little", "big"]
    model: int
    high: int  # greatest position
    lock_address: int
    sync_read: bool
    shown: Callable[[float], int]  # raw position -> register
    go: Callable[[ServoWorld, int, bytes], None]  # obeys registers GOAL to SPEED
    size: int = 128
    id_address: int = Register.ID
    delay_address: int = Register.RETURN_DELAY
    level_address: int = Register.RESPONSE_LEVEL
    quiet_level: int = 0

    @property
    def fault_bits(self) -> FaultBits:
        """Of the error byte."""
        return feetech_st.FAULT_BITS

    @property
    def start(self) -> Mapping[int, bytes]:
        """Registers after power-on."""
        return {
            Register.MODEL: self._word(self.model),
            Register.RESPONSE_LEVEL: b"\x01",
            Register.HIGH_LIMIT: self._word(self.high),
            self.lock_address: b"\x01",
        }

    def _word(self, value: int) -> bytes:
        return value.to_bytes(2, self.byteorder)

    def show(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Position, speed, load, voltage, temperature."""
        load = round(world.load(index) * feetech_st.FULL_LOAD)
        block = self._word(self.shown(world.position(index)))
        block += self._word(sign_magnitude(round(world.speed(index)), feetech_st.SIGN))
        block += self._word(sign_magnitude(load, feetech_st.LOAD_SIGN))
        volts, degrees = round(world.voltage(index) / feetech_st.VOLT), round(world.temperature(index))
        block += bytes((volts & 0xFF, degrees & 0xFF))
        memory[Register.POSITION : Register.POSITION + len(block)] = block

    def obey(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Torque, and goals."""
        if touched(written, Register.TORQUE):
            if not memory[Register.TORQUE] and world.fault(index) & Fault.OVERLOAD:
                world.reboot(index)  # torque off ends the protection
            world.torque(index, bool(memory[Register.TORQUE]))
        if touched(written, Register.GOAL):
            self.go(world, index, bytes(memory[Register.GOAL : Register.SPEED + 2]))


def _go_by_speed(world: ServoWorld, index: int, row: bytes) -> None:
    raw = signed(int.from_bytes(row[:2], "little"), feetech_st.SIGN)
    speed = int.from_bytes(row[4:], "little") & feetech_st.SPEEDS.fastest
    distance = abs(raw - world.position(index))
    world.goal(index, raw, distance / speed if speed else 0.0)


def _go_by_time(world: ServoWorld, index: int, row: bytes) -> None:
    milliseconds = int.from_bytes(row[2:4], "big")
    raw = int.from_bytes(row[:2], "big")
    world.goal(index, min(raw, SC.high), min(milliseconds, feetech_sc.LONGEST) / 1000.0)


ST = FeetechTable(
    byteorder="little",
    model=777,
    high=4095,
    lock_address=feetech_st.Register.LOCK,
    sync_read=True,
    shown=lambda position: sign_magnitude(round(position), feetech_st.SIGN),
    go=_go_by_speed,
)
SC = FeetechTable(
    byteorder="big",
    model=5,
    high=1023,
    lock_address=feetech_sc.Register.LOCK,
    sync_read=False,
    shown=lambda position: round(min(max(position, 0.0), 1023.0)),
    go=_go_by_time,
)


def st_device(world: ServoWorld, ids: Sequence[int]) -> FrameDevice:
    """A bus of ST servos."""
    return FrameDevice(world, ids, ST)


def sc_device(world: ServoWorld, ids: Sequence[int]) -> FrameDevice:
    """A bus of SC servos."""
    return FrameDevice(world, ids, SC)
