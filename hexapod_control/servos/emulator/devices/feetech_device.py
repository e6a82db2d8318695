"""Emulated Feetech servos: the ST and SC series have the same registers; a FeetechTable holds their differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from hexapod_control.servos.bus.bus_interface import ServoFault
from hexapod_control.servos.bus.ff_frames import sign_magnitude, signed
from hexapod_control.servos.bus.id_addressing import FaultBits
from hexapod_control.servos.emulator.devices.ff_device import FFDevice, touched
from hexapod_control.servos.emulator.servo_world import ServoWorld
from hexapod_control.servos.protocols import feetech_sc, feetech_st
from hexapod_control.servos.protocols.feetech_st import FeetechStRegister


@dataclass(frozen=True, slots=True)
class FeetechTable:
    """Registers of a series and their effects."""

    byteorder: Literal["little", "big"]
    model: int
    high: int  # greatest position
    lock_address: int
    sync_read: bool
    shown: Callable[[float], int]  # raw position -> register
    go: Callable[[ServoWorld, int, bytes], None]  # executes registers GOAL to SPEED
    size: int = 128
    id_address: int = FeetechStRegister.ID
    delay_address: int = FeetechStRegister.RETURN_DELAY
    level_address: int = FeetechStRegister.RESPONSE_LEVEL
    quiet_level: int = 0

    @property
    def fault_bits(self) -> FaultBits:
        """Bits of the error byte."""
        return feetech_st.FAULT_BITS

    @property
    def start(self) -> Mapping[int, bytes]:
        """Registers after power-on."""
        return {
            FeetechStRegister.MODEL: self._word(self.model),
            FeetechStRegister.RESPONSE_LEVEL: b"\x01",
            FeetechStRegister.HIGH_LIMIT: self._word(self.high),
            self.lock_address: b"\x01",
        }

    def _word(self, value: int) -> bytes:
        return value.to_bytes(2, self.byteorder)

    def refresh(self, world: ServoWorld, index: int, memory: bytearray) -> None:
        """Updates position, speed, load, voltage and temperature."""
        load = round(world.load(index) * feetech_st.FULL_LOAD)
        block = self._word(self.shown(world.position(index)))
        block += self._word(sign_magnitude(round(world.speed(index)), feetech_st.SIGN))
        block += self._word(sign_magnitude(load, feetech_st.LOAD_SIGN))
        volts, degrees = round(world.voltage(index) / feetech_st.VOLT), round(world.temperature(index))
        block += bytes((volts & 0xFF, degrees & 0xFF))
        memory[FeetechStRegister.POSITION : FeetechStRegister.POSITION + len(block)] = block

    def apply_write(self, world: ServoWorld, index: int, memory: bytearray, written: range) -> None:
        """Applies torque and goals."""
        if touched(written, FeetechStRegister.TORQUE):
            if not memory[FeetechStRegister.TORQUE] and world.fault(index) & ServoFault.OVERLOAD:
                world.reboot(index)  # torque off ends the protection
            world.torque(index, bool(memory[FeetechStRegister.TORQUE]))
        if touched(written, FeetechStRegister.GOAL):
            self.go(world, index, bytes(memory[FeetechStRegister.GOAL : FeetechStRegister.SPEED + 2]))


def _go_by_speed(world: ServoWorld, index: int, row: bytes) -> None:
    raw = signed(int.from_bytes(row[:2], "little"), feetech_st.SIGN)
    speed = int.from_bytes(row[4:], "little") & feetech_st.SPEEDS.fastest
    distance = abs(raw - world.position(index))
    world.goal(index, raw, distance / speed if speed else 0.0)


def _go_by_time(world: ServoWorld, index: int, row: bytes) -> None:
    milliseconds = int.from_bytes(row[2:4], "big")
    raw = int.from_bytes(row[:2], "big")
    world.goal(index, min(raw, SC.high), min(milliseconds, feetech_sc.MAX_MOVE_MS) / 1000.0)


ST = FeetechTable(
    byteorder="little",
    model=777,
    high=4095,
    lock_address=feetech_st.FeetechStRegister.LOCK,
    sync_read=True,
    shown=lambda position: sign_magnitude(round(position), feetech_st.SIGN),
    go=_go_by_speed,
)
SC = FeetechTable(
    byteorder="big",
    model=5,
    high=1023,
    lock_address=feetech_sc.FeetechScRegister.LOCK,
    sync_read=False,
    shown=lambda position: round(min(max(position, 0.0), 1023.0)),
    go=_go_by_time,
)


def st_device(world: ServoWorld, ids: Sequence[int]) -> FFDevice:
    """A bus of ST servos."""
    return FFDevice(world, ids, ST)


def sc_device(world: ServoWorld, ids: Sequence[int]) -> FFDevice:
    """A bus of SC servos."""
    return FFDevice(world, ids, SC)
