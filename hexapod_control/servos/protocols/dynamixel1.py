"""Dynamixel protocol 1 (AX-12A, AX-18A). Raw units are steps, 1024 over 300 deg; words are little-endian.

Registers: Robotis e-manual, AX-12A control table. † from memory of it, not verified.
There is no sync read: each servo needs its own transaction, which reads all quantities at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Literal

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.bus.ff_bus import FFAddresses, FFBus
from hexapod_control.servos.bus.id_addressing import FaultBits, SpeedRegister, decode_faults
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming

SCALE = RawScale(unit="tick", low=0, high=1023, center=512, per_rad=1024 / math.radians(300.0))
BAUD = 1_000_000  # register value: 2e6 / baud - 1
FAULT_BITS: FaultBits = {
    0: ServoFault.VOLTAGE,
    1: ServoFault.ANGLE,
    2: ServoFault.HEAT,
    3: ServoFault.OTHER,  # a value out of range
    4: ServoFault.OTHER,  # checksum of the request
    5: ServoFault.OVERLOAD,
    6: ServoFault.OTHER,  # unknown instruction
}
CHECKSUM_ERROR = 1 << 4
SIGN = 10  # set = clockwise, that is towards smaller positions
FULL_LOAD = 1023
VOLT = 0.1  # [V]
STEPS_PER_SECOND = 0.111 * 360 / 60 * 1024 / 300  # of one unit of speed, 0.111 rpm †
SPEEDS = SpeedRegister(STEPS_PER_SECOND, fastest=1023, unknown=32)


class Dynamixel1Register(IntEnum):
    """Addresses. Registers are one byte unless noted."""

    MODEL = 0  # 2 bytes
    ID = 3
    BAUD = 4
    RETURN_DELAY = 5  # 2 us; 250 from the factory
    CW_LIMIT = 6  # 2 bytes
    CCW_LIMIT = 8  # 2 bytes
    MAX_TEMPERATURE = 11
    MIN_VOLTAGE = 12  # 0.1 V
    MAX_VOLTAGE = 13  # 0.1 V
    MAX_TORQUE = 14  # 2 bytes
    STATUS_LEVEL = 16
    SHUTDOWN = 18
    TORQUE = 24
    GOAL = 30  # 2 bytes
    SPEED = 32  # 2 bytes, 0.111 rpm †
    TORQUE_LIMIT = 34  # 2 bytes; zeroed by an overload shutdown †
    POSITION = 36  # 2 bytes
    PRESENT_SPEED = 38  # 2 bytes, bit 10 = clockwise
    LOAD = 40  # 2 bytes, bit 10 = clockwise
    VOLTAGE = 42  # 0.1 V
    TEMPERATURE = 43  # degC
    REGISTERED = 44  # a REG_WRITE waits
    MOVING = 46
    LOCK = 47  # of the EEPROM, until power-off; never written here


BLOCK = (Dynamixel1Register.POSITION, 8)


def goal_row(goal: int, speed: int) -> bytes:
    """Registers GOAL and SPEED."""
    return goal.to_bytes(2, "little") + speed.to_bytes(2, "little")


def decode(error: int, data: bytes) -> ServoReading:
    """Decodes the eight bytes from the position on, and the error byte."""
    position, speed, load = (int.from_bytes(data[at : at + 2], "little") for at in (0, 2, 4))
    return ServoReading(
        position=position,
        speed=ff_frames.signed(speed & 0x7FF, SIGN) * STEPS_PER_SECOND,
        load=ff_frames.signed(load & 0x7FF, SIGN) / FULL_LOAD,
        voltage=data[6] * VOLT,
        temperature=data[7],
        fault=decode_faults(error, FAULT_BITS),
    )


class Dynamixel1:
    """The FFDialect of AX servos."""

    scale = SCALE
    can_read = ~ServoQuantity.NONE
    byteorder: Literal["little", "big"] = "little"
    protocol = "dynamixel1"
    addresses = FFAddresses(Dynamixel1Register.ID, Dynamixel1Register.TORQUE, Dynamixel1Register.GOAL)
    sync_read = False
    checksum_error = CHECKSUM_ERROR

    def block(self, quantities: ServoQuantity) -> tuple[int, int]:
        """The block with all quantities: six more bytes are much faster than another turnaround."""
        return BLOCK

    def reading(self, error: int, data: bytes) -> ServoReading:
        """The reading in the block."""
        return decode(error, data)

    def goals(self, goals: Mapping[int, int], travels: Mapping[int, int | None], duration: float) -> bytes:
        """The frame of goals; the duration is sent as a speed."""
        rows = {servo: goal_row(goal, SPEEDS.register(travels[servo], duration)) for servo, goal in goals.items()}
        return ff_frames.sync_write_request(Dynamixel1Register.GOAL, rows)

    def recovery(self, servo: int) -> list[bytes]:
        """Switches the torque off and restores the torque limit, which the shutdown has set to zero †."""
        full = FULL_LOAD.to_bytes(2, "little")
        return [
            ff_frames.write_request(servo, Dynamixel1Register.TORQUE, b"\x00"),
            ff_frames.write_request(servo, Dynamixel1Register.TORQUE_LIMIT, full),
        ]


def open_bus(port: Port, ids: Sequence[int], wait: ReplyTiming | None = None, force_model: bool = False) -> FFBus:
    """A bus of AX servos."""
    return FFBus(port, ids, Dynamixel1(), wait, force_model)
