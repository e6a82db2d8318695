# SPDX-License-Identifier: Apache-2.0
"""Feetech ST servos (STS3215 and others). Raw units are steps, 4096 per turn; words are little-endian, with a sign bit.

Registers: Feetech's SDK (sms_sts) and the STS memory table. † from memory of the manual, not verified.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Literal

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.bus.ff_bus import FFBus, FFDialect, SpeedRegister
from hexapod_control.servos.bus.id_addressing import FaultBits, decode_faults
from hexapod_control.servos.bus.registers import Register, RegisterRole, RegisterTable, status
from hexapod_control.servos.bus.serial_port import Port
from hexapod_control.servos.bus.transaction import ReplyTiming

SCALE = RawScale(unit="tick", low=0, high=4095, center=2048, per_rad=4096 / (2 * math.pi))
BAUD = 1_000_000
FAULT_BITS: FaultBits = {
    0: ServoFault.VOLTAGE,
    1: ServoFault.ENCODER,
    2: ServoFault.HEAT,
    3: ServoFault.CURRENT,
    5: ServoFault.OVERLOAD,
}
SIGN = 15  # sign bit of positions and speeds
LOAD_SIGN = 10
OFFSET_SIGN = 11
FULL_LOAD = 1000  # per mille
VOLT = 0.1  # [V]
AMPERE = 0.0065  # [A] †
SPEEDS = SpeedRegister(unit=1.0, fastest=32767, unknown=300)


class FeetechMode(IntEnum):
    """Values of MODE."""

    POSITION = 0
    WHEEL = 1
    PWM = 2
    STEP = 3  # goals are relative to the present position


class FeetechRegister:
    """Registers of ST and SC servos."""

    FIRMWARE = status(0, 1, 3)
    FIRMWARE_MINOR = status(1, 1, 10)
    ID = Register(5, 1, 1, 0, 253, role=RegisterRole.ID)
    BAUD = Register(6, 1, 0, 0, 7)  # 0: 1M, 1: 500k, 2: 250k, 3: 128k, 4: 115200, 5: 76800, 6: 57600, 7: 38400
    RESPONSE_LEVEL = Register(8, 1, 1, 0, 1, role=RegisterRole.REPLY_LEVEL)
    MAX_TEMPERATURE = Register(13, 1, 70, 0, 100)  # degC
    MIN_VOLTAGE = Register(15, 1, 40, 0, 254)  # 0.1 V
    MAX_TORQUE = Register(16, 2, 1000, 0, 1000, role=RegisterRole.FULL_TORQUE, title="maximum torque")  # 0.1 %
    SHUTDOWN = Register(19, 1, 44)  # faults that switch off
    LED_ALARM = Register(20, 1, 47)  # faults that light the LED
    GAIN_P = Register(21, 1, 32)
    GAIN_D = Register(22, 1, 32)
    GAIN_I = Register(23)
    MIN_FORCE = Register(24, 2, 16, 0, 1000)
    DEAD_ZONE_CW = Register(26, 1, 1)
    DEAD_ZONE_CCW = Register(27, 1, 1)
    TIME = Register(44, 2)  # ST: only in PWM mode; SC: ms, 0 = maximum speed
    SPEED = Register(46, 2)  # steps/s; 0 = maximum speed
    POSITION = status(56, 2)  # ST: sign bit 15
    PRESENT_SPEED = status(58, 2)  # steps/s, sign bit 15
    LOAD = status(60, 2)  # 0.1 %, sign bit 10
    VOLTAGE = status(62)  # 0.1 V
    TEMPERATURE = status(63)  # degC
    REGISTERED = status(64, role=RegisterRole.REGISTERED)  # a REG_WRITE waits
    STATUS = status(65)
    MOVING = status(66)
    CURRENT = status(69, 2)  # 6.5 mA †, sign bit 15


class FeetechStRegister(FeetechRegister):
    """Registers of ST servos only, or with other values than on SC servos."""

    MODEL = status(3, 2, 777)
    RETURN_DELAY = Register(7, 1, 250, 0, 254, role=RegisterRole.RETURN_DELAY)  # 2 us
    LOW_LIMIT = Register(9, 2, 0, 0, 4095, role=RegisterRole.LOW_LIMIT, title="minimum position")
    HIGH_LIMIT = Register(11, 2, 4095, 0, 4095, role=RegisterRole.HIGH_LIMIT, title="maximum position")
    MAX_VOLTAGE = Register(14, 1, 140, 0, 254, role=RegisterRole.MAX_VOLTAGE)  # 0.1 V
    PHASE = Register(18, 1, 12)
    PROTECTION_CURRENT = Register(28, 2, 500, 0, 511)
    RESOLUTION = Register(30, 1, 1, 1, 100)
    OFFSET = Register(31, 2, 0, 0, 4095, role=RegisterRole.OFFSET, sign_bit=OFFSET_SIGN)
    MODE = Register(33, 1, FeetechMode.POSITION, 0, 3, role=RegisterRole.MODE)
    PROTECTIVE_TORQUE = Register(34, 1, 20, 0, 100)
    PROTECTION_TIME = Register(35, 1, 200, 0, 254)
    OVERLOAD_TORQUE = Register(36, 1, 80, 0, 100)
    SPEED_GAIN_P = Register(37, 1, 10)
    OVERCURRENT_TIME = Register(38, 1, 200)
    SPEED_GAIN_I = Register(39, 1, 10)
    TORQUE = Register(40, 1, 0, 0, 128, role=RegisterRole.TORQUE)  # 128: the present position becomes the middle
    ACCELERATION = Register(41, 1, 0, 0, 254)  # 100 steps/s^2 †
    GOAL = Register(42, 2, role=RegisterRole.GOAL)  # sign bit 15
    TORQUE_LIMIT = Register(
        48, 2, 1000, 0, 1000, role=RegisterRole.FULL_TORQUE, copies=FeetechRegister.MAX_TORQUE
    )  # 0.1 %
    LOCK = Register(55, 1, 1, 0, 1, role=RegisterRole.LOCK)


TABLE = RegisterTable(
    FeetechStRegister,
    size=128,
    eeprom=40,
    modes={
        FeetechMode.WHEEL: "wheel mode, the servo turns without end",
        FeetechMode.PWM: "PWM mode, the servo turns without end",
        FeetechMode.STEP: "step mode, goals add up to the present position",
        -1: "not position mode",
    },
)


BLOCK_ENDS = {  # the block extends from the position to the last quantity that is read
    ServoQuantity.TEMPERATURE: FeetechStRegister.TEMPERATURE + 1,
    ServoQuantity.VOLTAGE: FeetechStRegister.VOLTAGE + 1,
    ServoQuantity.LOAD: FeetechStRegister.LOAD + 2,
    ServoQuantity.SPEED: FeetechStRegister.PRESENT_SPEED + 2,
}


GOAL_ROW = struct.Struct("<3H")
BLOCKS = {"little": struct.Struct("<3H2B"), "big": struct.Struct(">3H2B")}  # POSITION to TEMPERATURE


def goal_row(goal: int, speed: int) -> bytes:
    """Registers GOAL to SPEED."""
    return GOAL_ROW.pack(ff_frames.sign_magnitude(goal, SIGN), 0, ff_frames.sign_magnitude(speed, SIGN))


@cache
def block_length(quantities: ServoQuantity) -> int:
    """Length of the block from the position on that holds these quantities."""
    ends = (end for quantity, end in BLOCK_ENDS.items() if quantities & quantity)
    return max(ends, default=FeetechStRegister.POSITION + 2) - FeetechStRegister.POSITION


def decode(error: int, data: bytes, byteorder: Literal["little", "big"] = "little") -> ServoReading:
    """Decodes the registers from the position on, and the error byte; `data` may end before the last register."""
    layout = BLOCKS[byteorder]
    position, speed, load, volts, degrees = layout.unpack_from(data.ljust(layout.size, b"\0"))
    size = len(data)
    return ServoReading(
        position=ff_frames.signed(position, SIGN) if size >= 2 else None,
        speed=ff_frames.signed(speed, SIGN) if size >= 4 else None,
        load=ff_frames.signed(load, LOAD_SIGN) / FULL_LOAD if size >= 6 else None,
        voltage=volts * VOLT if size >= 7 else None,
        temperature=degrees if size >= 8 else None,
        fault=decode_faults(error, FAULT_BITS),
    )


class FeetechSt(FFDialect):
    """The FFDialect of ST servos."""

    scale = SCALE
    can_read = ~ServoQuantity.NONE
    protocol = "feetech_st"
    table = TABLE
    sync_read = True

    def __init__(self, acceleration: int | None = None) -> None:
        """With an acceleration (register value, 0 to 254) every frame of goals sets it."""
        self._acceleration = b"" if acceleration is None else bytes((acceleration,))

    def block(self, quantities: ServoQuantity) -> tuple[int, int]:
        """The block from the position register on."""
        return FeetechStRegister.POSITION, block_length(quantities)

    def reading(self, error: int, data: bytes) -> ServoReading:
        """The reading in the block."""
        return decode(error, data)

    def goals(self, goals: Mapping[int, int], travels: Mapping[int, int | None], duration: float) -> bytes:
        """The frame of goals; the duration is sent as a speed, because the time register only works in PWM mode."""
        rows = {
            servo: self._acceleration + goal_row(goal, SPEEDS.register(travels[servo], duration))
            for servo, goal in goals.items()
        }
        return ff_frames.sync_write_request(
            FeetechStRegister.ACCELERATION if self._acceleration else FeetechStRegister.GOAL, rows
        )


def open_bus(
    port: Port,
    ids: Sequence[int],
    wait: ReplyTiming | None = None,
    acceleration: int | None = None,
    force_model: bool = False,
) -> FFBus:
    """A bus of ST servos."""
    return FFBus(port, ids, FeetechSt(acceleration), wait, force_model)
