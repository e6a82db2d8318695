"""Table of register checks by protocol. Hobby servos have none: their boards cannot read them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from hexapod_control.servos.bus.ff_frames import sign_magnitude, signed
from hexapod_control.servos.preflight.register_checks import (
    ConfigurationRegister,
    RegisterCheck,
    RegisterEffect,
    at_least,
    at_most,
    calibrated_offset,
    exactly,
    narrow_range,
    reaches_high,
    reaches_low,
    unknown_offset,
    value,
    wide_high,
    wide_low,
)
from hexapod_control.servos.protocols.dynamixel1 import Dynamixel1Register
from hexapod_control.servos.protocols.dynamixel2_frames import Dynamixel2Mode, Dynamixel2Register
from hexapod_control.servos.protocols.feetech_sc import FeetechScRegister
from hexapod_control.servos.protocols.feetech_st import OFFSET_SIGN, FeetechMode, FeetechStRegister
from hexapod_control.servos.protocols.lx16a import Lx16aCommand

NO_LIMITS = "both angle limits are 0, which is wheel mode: the servo turns without end"
LITTLE_TORQUE = "the servo does not have its full torque"
LATE_REPLIES = "its replies are late by 2 us per unit"
RECALIBRATE = "hexapod calibrate records it"
MODES = {
    FeetechMode.WHEEL: "wheel mode, the servo turns without end",
    FeetechMode.PWM: "PWM mode, the servo turns without end",
    FeetechMode.STEP: "step mode, goals add up to the present position",
    -1: "not position mode",
}
X_MODES = {
    Dynamixel2Mode.VELOCITY: "velocity mode, the servo turns without end",
    Dynamixel2Mode.PWM: "PWM mode, the servo turns without end",
    Dynamixel2Mode.EXTENDED_POSITION: "extended position mode, without angle limits",
    -1: "not position mode",
}


def _int32(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _uint32(number: int) -> int:
    return number & 0xFFFFFFFF


def _int8(number: int) -> int:
    return number - 256 if number >> 7 else number


def _limits(low: ConfigurationRegister, high: ConfigurationRegister) -> tuple[RegisterCheck, ...]:
    return (
        RegisterCheck(low, RegisterEffect.DANGER, reaches_low, lambda joint: joint.low, any_joint=False),
        RegisterCheck(high, RegisterEffect.DANGER, reaches_high, lambda joint: joint.high, any_joint=False),
        RegisterCheck(low, RegisterEffect.ADVICE, wide_low, lambda joint: narrow_range(joint)[0], any_joint=False),
        RegisterCheck(high, RegisterEffect.ADVICE, wide_high, lambda joint: narrow_range(joint)[1], any_joint=False),
    )


def _wheel(high: ConfigurationRegister) -> RegisterCheck:
    return RegisterCheck(high, RegisterEffect.DANGER, at_least(1, NO_LIMITS), lambda joint: joint.high)


def _offset(register: ConfigurationRegister) -> tuple[RegisterCheck, ...]:
    return (
        RegisterCheck(register, RegisterEffect.DANGER, calibrated_offset, lambda joint: joint.offset, any_joint=False),
        RegisterCheck(
            register, RegisterEffect.WARNING, unknown_offset, lambda joint: None, RECALIBRATE, any_joint=False
        ),
    )


def _full(register: ConfigurationRegister, full: int) -> RegisterCheck:
    return RegisterCheck(register, RegisterEffect.WARNING, at_least(full, LITTLE_TORQUE), value(full))


def _delay(address: int) -> RegisterCheck:
    register = ConfigurationRegister("return delay", address)
    return RegisterCheck(register, RegisterEffect.WARNING, at_most(0, LATE_REPLIES), value(0))


def _answers(name: str, address: int, level: int) -> RegisterCheck:
    register = ConfigurationRegister(name, address)
    return RegisterCheck(
        register, RegisterEffect.WARNING, exactly(level, "the servo does not confirm writes"), value(level)
    )


def _torque(address: int, *, reply: int = 0) -> RegisterCheck:
    register = ConfigurationRegister("torque", address, reply=reply)
    return RegisterCheck(register, RegisterEffect.TORQUE, exactly(1, "the servo has no torque"), value(1))


_ST_HIGH = ConfigurationRegister("maximum position", FeetechStRegister.HIGH_LIMIT, 2)
_SC_HIGH = ConfigurationRegister("maximum position", FeetechScRegister.HIGH_LIMIT, 2, byteorder="big")
_AX_HIGH = ConfigurationRegister("counter-clockwise limit", Dynamixel1Register.CCW_LIMIT, 2)
_LX_LIMITS = partial(ConfigurationRegister, address=Lx16aCommand.LIMITS_READ, size=2, reply=4)
_X_WORD = partial(ConfigurationRegister, size=4, decode=_int32, encode=_uint32)

CHECKS: Mapping[str, tuple[RegisterCheck, ...]] = {
    "feetech_st": (
        RegisterCheck(
            ConfigurationRegister("mode", FeetechStRegister.MODE),
            RegisterEffect.DANGER,
            exactly(FeetechMode.POSITION, MODES),
            value(FeetechMode.POSITION),
        ),
        *_limits(ConfigurationRegister("minimum position", FeetechStRegister.LOW_LIMIT, 2), _ST_HIGH),
        *_offset(
            ConfigurationRegister(
                "offset",
                FeetechStRegister.OFFSET,
                2,
                decode=lambda number: signed(number, OFFSET_SIGN),
                encode=lambda number: sign_magnitude(number, OFFSET_SIGN),
            )
        ),
        _full(ConfigurationRegister("maximum torque", FeetechStRegister.MAX_TORQUE, 2), 1000),
        _full(ConfigurationRegister("torque limit", FeetechStRegister.TORQUE_LIMIT, 2), 1000),
        _torque(FeetechStRegister.TORQUE),
        _delay(FeetechStRegister.RETURN_DELAY),
        _answers("response level", FeetechStRegister.RESPONSE_LEVEL, 1),
    ),
    "feetech_sc": (
        _wheel(_SC_HIGH),
        *_limits(ConfigurationRegister("minimum position", FeetechScRegister.LOW_LIMIT, 2, byteorder="big"), _SC_HIGH),
        _full(ConfigurationRegister("maximum torque", FeetechScRegister.MAX_TORQUE, 2, byteorder="big"), 1000),
        _torque(FeetechScRegister.TORQUE),
        _delay(FeetechScRegister.RETURN_DELAY),
        _answers("response level", FeetechScRegister.RESPONSE_LEVEL, 1),
    ),
    "dynamixel1": (
        _wheel(_AX_HIGH),
        *_limits(ConfigurationRegister("clockwise limit", Dynamixel1Register.CW_LIMIT, 2), _AX_HIGH),
        _full(ConfigurationRegister("maximum torque", Dynamixel1Register.MAX_TORQUE, 2), 1023),
        _full(ConfigurationRegister("torque limit", Dynamixel1Register.TORQUE_LIMIT, 2), 1023),
        _torque(Dynamixel1Register.TORQUE),
        _delay(Dynamixel1Register.RETURN_DELAY),
        _answers("status return level", Dynamixel1Register.STATUS_LEVEL, 2),
    ),
    "dynamixel2": (
        RegisterCheck(
            ConfigurationRegister("operating mode", Dynamixel2Register.OPERATING_MODE),
            RegisterEffect.DANGER,
            exactly(Dynamixel2Mode.POSITION, X_MODES),
            value(Dynamixel2Mode.POSITION),
        ),
        *_limits(
            _X_WORD("minimum position", Dynamixel2Register.LOW_LIMIT),
            _X_WORD("maximum position", Dynamixel2Register.HIGH_LIMIT),
        ),
        *_offset(_X_WORD("homing offset", Dynamixel2Register.HOMING_OFFSET)),
        _full(ConfigurationRegister("PWM limit", Dynamixel2Register.PWM_LIMIT, 2), 885),
        _torque(Dynamixel2Register.TORQUE),
        _delay(Dynamixel2Register.RETURN_DELAY),
        _answers("status return level", Dynamixel2Register.STATUS_LEVEL, 2),
    ),
    "lx16a": (
        RegisterCheck(
            ConfigurationRegister("mode", Lx16aCommand.MODE_READ, 2, reply=4),
            RegisterEffect.DANGER,
            exactly(0, "motor mode, the servo turns without end"),
            value(0),
        ),
        _torque(Lx16aCommand.TORQUE_READ, reply=1),
        *_limits(_LX_LIMITS("minimum position", at=0), _LX_LIMITS("maximum position", at=2)),
        *_offset(
            ConfigurationRegister(
                "offset", Lx16aCommand.OFFSET_READ, reply=1, decode=_int8, encode=lambda number: number & 0xFF
            )
        ),
    ),
}
