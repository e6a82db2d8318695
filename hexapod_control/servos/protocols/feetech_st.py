"""Feetech ST servos (STS3215 and others). Raw units are steps, 4096 per turn; words are little-endian, with a sign bit.

Registers: Feetech's SDK (sms_sts) and the STS memory table. † from memory of the manual, not verified.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Literal

from hexapod_control.servos.bus import ff_frames
from hexapod_control.servos.bus.bus_interface import RawScale, ServoFault, ServoQuantity, ServoReading
from hexapod_control.servos.bus.ff_bus import FFAddresses, FFBus
from hexapod_control.servos.bus.id_addressing import FaultBits, SpeedRegister, decode_faults
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


class FeetechStRegister(IntEnum):
    """Addresses. Registers are one byte unless noted."""

    MODEL = 3  # 2 bytes
    ID = 5
    BAUD = 6  # 0: 1M, 1: 500k, 2: 250k, 3: 128k, 4: 115200, 5: 76800, 6: 57600, 7: 38400
    RETURN_DELAY = 7  # 2 us
    RESPONSE_LEVEL = 8
    LOW_LIMIT = 9  # 2 bytes
    HIGH_LIMIT = 11  # 2 bytes
    MAX_TEMPERATURE = 13  # degC
    MAX_VOLTAGE = 14  # 0.1 V
    MIN_VOLTAGE = 15  # 0.1 V
    MAX_TORQUE = 16  # 2 bytes, 0.1 %
    OFFSET = 31  # 2 bytes, sign bit 11
    MODE = 33
    PROTECTIVE_TORQUE = 34
    PROTECTION_TIME = 35
    OVERLOAD_TORQUE = 36
    TORQUE = 40
    ACCELERATION = 41  # 100 steps/s^2 †
    GOAL = 42  # 2 bytes, sign bit 15
    TIME = 44  # 2 bytes, only in PWM mode
    SPEED = 46  # 2 bytes, steps/s; 0 = maximum speed
    TORQUE_LIMIT = 48  # 2 bytes
    LOCK = 55  # of the EEPROM; 0 = open
    POSITION = 56  # 2 bytes, sign bit 15
    PRESENT_SPEED = 58  # 2 bytes, steps/s, sign bit 15
    LOAD = 60  # 2 bytes, 0.1 %, sign bit 10
    VOLTAGE = 62  # 0.1 V
    TEMPERATURE = 63  # degC
    REGISTERED = 64  # a REG_WRITE waits
    STATUS = 65
    MOVING = 66
    CURRENT = 69  # 2 bytes, 6.5 mA †, sign bit 15


class FeetechMode(IntEnum):
    """Values of MODE."""

    POSITION = 0
    WHEEL = 1
    PWM = 2
    STEP = 3  # goals are relative to the present position


BLOCK_ENDS = {  # the block extends from the position to the last quantity that is read
    ServoQuantity.TEMPERATURE: FeetechStRegister.TEMPERATURE + 1,
    ServoQuantity.VOLTAGE: FeetechStRegister.VOLTAGE + 1,
    ServoQuantity.LOAD: FeetechStRegister.LOAD + 2,
    ServoQuantity.SPEED: FeetechStRegister.PRESENT_SPEED + 2,
}


def word(value: int) -> bytes:
    """Two bytes of a signed number."""
    return ff_frames.sign_magnitude(value, SIGN).to_bytes(2, "little")


def goal_row(goal: int, speed: int) -> bytes:
    """Registers GOAL to SPEED."""
    return word(goal) + word(0) + word(speed)


@cache
def block_length(quantities: ServoQuantity) -> int:
    """Length of the block from the position on that holds these quantities."""
    ends = (end for quantity, end in BLOCK_ENDS.items() if quantities & quantity)
    return max(ends, default=FeetechStRegister.POSITION + 2) - FeetechStRegister.POSITION


def decode(error: int, data: bytes, byteorder: Literal["little", "big"] = "little") -> ServoReading:
    """Decodes the registers from the position on, and the error byte; `data` may end before the last register."""

    def number(register: FeetechStRegister, sign: int) -> int | None:
        at = register - FeetechStRegister.POSITION
        return ff_frames.signed(int.from_bytes(data[at : at + 2], byteorder), sign) if len(data) >= at + 2 else None

    def byte(register: FeetechStRegister) -> int | None:
        at = register - FeetechStRegister.POSITION
        return data[at] if len(data) > at else None

    load, volts = number(FeetechStRegister.LOAD, LOAD_SIGN), byte(FeetechStRegister.VOLTAGE)
    return ServoReading(
        position=number(FeetechStRegister.POSITION, SIGN),
        speed=number(FeetechStRegister.PRESENT_SPEED, SIGN),
        load=None if load is None else load / FULL_LOAD,
        voltage=None if volts is None else volts * VOLT,
        temperature=byte(FeetechStRegister.TEMPERATURE),
        fault=decode_faults(error, FAULT_BITS),
    )


class FeetechSt:
    """The FFDialect of ST servos."""

    scale = SCALE
    can_read = ~ServoQuantity.NONE
    byteorder: Literal["little", "big"] = "little"
    protocol = "feetech_st"
    addresses = FFAddresses(
        FeetechStRegister.ID,
        FeetechStRegister.TORQUE,
        FeetechStRegister.GOAL,
        FeetechStRegister.LOCK,
        FeetechStRegister.MAX_VOLTAGE,
    )
    sync_read = True
    checksum_error = 0

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

    def recovery(self, servo: int) -> list[bytes]:
        """Torque off ends the protection †."""
        return [ff_frames.write_request(servo, FeetechStRegister.TORQUE, b"\x00")]


def open_bus(
    port: Port,
    ids: Sequence[int],
    wait: ReplyTiming | None = None,
    acceleration: int | None = None,
    force_model: bool = False,
) -> FFBus:
    """A bus of ST servos."""
    return FFBus(port, ids, FeetechSt(acceleration), wait, force_model)
