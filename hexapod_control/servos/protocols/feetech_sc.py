"""Feetech SC servos (SC15, SCS0009). Raw units are steps, 1024 over a range that depends on the model; big-endian.

From the position on, the registers are the same as on ST servos.
Registers: Feetech's SDK (scscl). † from memory of the manual, not verified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Literal

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import RawScale, ServoQuantity, ServoReading
from hexapod_control.servos.bus.ff_bus import FFAddresses, FFBus
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.protocols.feetech_st import block_length, decode

DEGREES = 300.0  # of 1024 steps †; set `degrees` for other models
BAUD = 1_000_000
MAX_MOVE_MS = 9999  # [ms] the time register takes †


class FeetechScRegister(IntEnum):
    """Addresses. Registers are one byte unless noted; two-byte registers are high byte first."""

    MODEL = 3  # 2 bytes
    ID = 5
    BAUD = 6
    RETURN_DELAY = 7  # 2 us †
    RESPONSE_LEVEL = 8
    LOW_LIMIT = 9  # 2 bytes
    HIGH_LIMIT = 11  # 2 bytes
    MAX_TORQUE = 16  # 2 bytes, 0.1 %
    TORQUE = 40
    GOAL = 42  # 2 bytes
    TIME = 44  # 2 bytes, ms; 0 = maximum speed
    SPEED = 46  # 2 bytes
    LOCK = 48  # of the EEPROM; 0 = open
    POSITION = 56  # 2 bytes
    PRESENT_SPEED = 58  # 2 bytes, steps/s, sign bit 15
    LOAD = 60  # 2 bytes, 0.1 %, sign bit 10
    VOLTAGE = 62  # 0.1 V
    TEMPERATURE = 63  # degC


def scale(degrees: float) -> RawScale:
    """Raw units of a servo whose 1024 steps are this range [deg]."""
    return RawScale(unit="tick", low=0, high=1023, center=512, per_rad=1024 / math.radians(degrees))


def goal_row(goal: int, duration: float) -> bytes:
    """Registers GOAL to SPEED for a move within `duration` [s]."""
    milliseconds = min(max(round(duration * 1000), 0), MAX_MOVE_MS)
    return goal.to_bytes(2, "big") + milliseconds.to_bytes(2, "big") + b"\x00\x00"


class FeetechSc:
    """The FFDialect of SC servos."""

    can_read = ~ServoQuantity.NONE
    byteorder: Literal["little", "big"] = "big"
    protocol = "feetech_sc"
    addresses = FFAddresses(
        FeetechScRegister.ID, FeetechScRegister.TORQUE, FeetechScRegister.GOAL, FeetechScRegister.LOCK
    )
    sync_read = False
    checksum_error = 0

    def __init__(self, degrees: float = DEGREES) -> None:
        """Servos whose 1024 steps are this range [deg]."""
        self.scale = scale(degrees)

    def block(self, quantities: ServoQuantity) -> tuple[int, int]:
        """The block from the position register on."""
        return FeetechScRegister.POSITION, block_length(quantities)

    def reading(self, error: int, data: bytes) -> ServoReading:
        """The reading in the block."""
        return decode(error, data, "big")

    def goals(self, goals: Mapping[int, int], travels: Mapping[int, int | None], duration: float) -> bytes:
        """Timed moves are native: the frame holds the duration."""
        return ff_frames.sync_write_request(
            FeetechScRegister.GOAL, {servo: goal_row(goal, duration) for servo, goal in goals.items()}
        )

    def recovery(self, servo: int) -> list[bytes]:
        """Torque off ends the protection †."""
        return [ff_frames.write_request(servo, FeetechScRegister.TORQUE, b"\x00")]


def open_bus(
    port: Port, ids: Sequence[int], wait: ReplyTiming | None = None, degrees: float = DEGREES, force_model: bool = False
) -> FFBus:
    """A bus of SC servos."""
    return FFBus(port, ids, FeetechSc(degrees), wait, force_model)
