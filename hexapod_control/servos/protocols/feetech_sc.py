# SPDX-License-Identifier: Apache-2.0
"""Feetech SC servos (SC15, SCS0009). Raw units are steps, 1024 over a range that depends on the model; big-endian.

From the position on, the registers are the same as on ST servos.
Registers: Feetech's SDK (scscl). † from memory of the manual, not verified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import RawScale, ServoQuantity, ServoReading
from hexapod_control.servos.bus.ff_bus import FFBus, FFDialect
from hexapod_control.servos.bus.registers import NO_LIMITS, Register, RegisterRole, RegisterTable, status
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming
from hexapod_control.servos.protocols.feetech_st import FeetechRegister, block_length, decode

DEGREES = 300.0  # of 1024 steps †; set `degrees` for other models
BAUD = 1_000_000
MAX_MOVE_MS = 9999  # [ms] the time register takes †


class FeetechScRegister(FeetechRegister):
    """Registers of SC servos only, or with other values than on ST servos; high byte first."""

    MODEL = status(3, 2, 0x0504)
    RETURN_DELAY = Register(7, 1, 0, 0, 254, role=RegisterRole.RETURN_DELAY)  # 2 us †
    LOW_LIMIT = Register(9, 2, 0, 0, 1023, role=RegisterRole.LOW_LIMIT, title="minimum position")
    HIGH_LIMIT = Register(11, 2, 1023, 0, 1023, role=RegisterRole.HIGH_LIMIT, title="maximum position")
    MAX_VOLTAGE = Register(14, 1, 140, 0, 254)  # 0.1 V
    PHASE = Register(18)
    TORQUE = Register(40, 1, 0, 0, 1, role=RegisterRole.TORQUE)
    GOAL = Register(42, 2, 0, 0, 1023, role=RegisterRole.GOAL)
    LOCK = Register(48, 1, 1, 0, 1, role=RegisterRole.LOCK)


TABLE = RegisterTable(FeetechScRegister, size=128, eeprom=40, byteorder="big", zero_limits=NO_LIMITS)


def scale(degrees: float) -> RawScale:
    """Raw units of a servo whose 1024 steps are this range [deg]."""
    return RawScale(unit="tick", low=0, high=1023, center=512, per_rad=1024 / math.radians(degrees))


def goal_row(goal: int, duration: float) -> bytes:
    """Registers GOAL to SPEED for a move within `duration` [s]."""
    milliseconds = min(max(round(duration * 1000), 0), MAX_MOVE_MS)
    return goal.to_bytes(2, "big") + milliseconds.to_bytes(2, "big") + b"\x00\x00"


class FeetechSc(FFDialect):
    """The FFDialect of SC servos."""

    can_read = ~ServoQuantity.NONE
    protocol = "feetech_sc"
    table = TABLE
    sync_read = False

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


def open_bus(
    port: Port, ids: Sequence[int], wait: ReplyTiming | None = None, degrees: float = DEGREES, force_model: bool = False
) -> FFBus:
    """A bus of SC servos."""
    return FFBus(port, ids, FeetechSc(degrees), wait, force_model)
