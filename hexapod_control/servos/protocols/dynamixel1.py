# SPDX-License-Identifier: Apache-2.0
"""Dynamixel protocol 1 (AX-12A, AX-18A). Raw units are steps, 1024 over 300 deg; words are little-endian.

Registers: Robotis e-manual, AX-12A control table. † from memory of it, not verified.
There is no sync read: each servo needs its own transaction, which reads all quantities at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.bus.ff_bus import FFBus, FFDialect, SpeedRegister
from hexapod_control.servos.bus.id_addressing import FaultBits, decode_faults
from hexapod_control.servos.bus.registers import NO_LIMITS, Register, RegisterRole, RegisterTable, status
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


class Dynamixel1Register:
    """Registers of AX servos."""

    MODEL = status(0, 2, 12)
    FIRMWARE = status(2, 1, 24)
    ID = Register(3, 1, 1, 0, 253, role=RegisterRole.ID)
    BAUD = Register(4, 1, 1, 0, 254)
    RETURN_DELAY = Register(5, 1, 250, 0, 254, role=RegisterRole.RETURN_DELAY)  # 2 us
    CW_LIMIT = Register(6, 2, 0, 0, 1023, role=RegisterRole.LOW_LIMIT, title="clockwise limit")
    CCW_LIMIT = Register(8, 2, 1023, 0, 1023, role=RegisterRole.HIGH_LIMIT, title="counter-clockwise limit")
    MAX_TEMPERATURE = Register(11, 1, 70, 0, 99)
    MIN_VOLTAGE = Register(12, 1, 60, 50, 160)  # 0.1 V
    MAX_VOLTAGE = Register(13, 1, 140, 50, 160)  # 0.1 V
    MAX_TORQUE = Register(14, 2, 1023, 0, 1023, role=RegisterRole.FULL_TORQUE, title="maximum torque")
    STATUS_LEVEL = Register(16, 1, 2, 0, 2, role=RegisterRole.REPLY_LEVEL, title="status return level")
    LED_ALARM = Register(17, 1, 36, 0, 127)  # faults that light the LED
    SHUTDOWN = Register(18, 1, 36, 0, 127)  # faults that switch off
    TORQUE = Register(24, 1, 0, 0, 1, role=RegisterRole.TORQUE)
    LED = Register(25, 1, 0, 0, 1)
    CW_MARGIN = Register(26, 1, 1, 0, 255)  # compliance margins and slopes
    CCW_MARGIN = Register(27, 1, 1, 0, 255)
    CW_SLOPE = Register(28, 1, 32, 0, 255)
    CCW_SLOPE = Register(29, 1, 32, 0, 255)
    GOAL = Register(30, 2, 512, 0, 1023, role=RegisterRole.GOAL)
    SPEED = Register(32, 2, 0, 0, 2047)  # 0.111 rpm †; bit 10 is the direction in wheel mode
    TORQUE_LIMIT = Register(  # zeroed by an overload shutdown †
        34, 2, 1023, 0, 1023, role=RegisterRole.FULL_TORQUE, copies=MAX_TORQUE
    )
    POSITION = status(36, 2)
    PRESENT_SPEED = status(38, 2)  # bit 10 = clockwise
    LOAD = status(40, 2)  # bit 10 = clockwise
    VOLTAGE = status(42)  # 0.1 V
    TEMPERATURE = status(43)  # degC
    REGISTERED = status(44, role=RegisterRole.REGISTERED)  # a REG_WRITE waits
    MOVING = status(46)
    LOCK = Register(47, 1, 0, 0, 1)  # of the EEPROM, until power-off; never written here
    PUNCH = Register(48, 2, 32, 32, 1023)


TABLE = RegisterTable(Dynamixel1Register, size=50, eeprom=24, zero_limits=NO_LIMITS)
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


class Dynamixel1(FFDialect):
    """The FFDialect of AX servos."""

    scale = SCALE
    can_read = ~ServoQuantity.NONE
    protocol = "dynamixel1"
    table = TABLE
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
