"""Checks of configuration registers. check_tables lists them for each protocol."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

from hexapod_control.servos.settings.joint_calibration import JointCalibration

LIMIT_ROOM = math.radians(5.0)  # [rad] between a servo's angle limits and the joint's, as it may start outside them
WIDE = "a corrupted goal could turn the servo farther than the joint"


class RegisterEffect(Enum):
    """Effect of a wrong value."""

    WARNING = "warning"  # the servo is slow or weak
    DANGER = "danger"  # the servo may move where it must not: the torque stays off
    TORQUE = "torque"  # the servo has no torque: watched while the robot holds, no matter before
    ADVICE = "advice"  # a corrupted goal could turn it farther than the joint: shown and restored on request only


@dataclass(frozen=True, slots=True)
class ConfigurationRegister:
    """Location and encoding of a value. For LX servos the address is the read command."""

    name: str
    address: int
    size: int = 1  # bytes
    at: int = 0  # offset in a reply that holds several values
    reply: int = 0  # bytes of such a reply; 0: the reply holds only this register
    byteorder: Literal["little", "big"] = "little"
    decode: Callable[[int], int] = int  # from the unsigned number to its value
    encode: Callable[[int], int] = int

    @property
    def length(self) -> int:
        """Bytes to read."""
        return self.reply or self.size

    def value(self, data: bytes) -> int:
        """The value in the bytes read."""
        return self.decode(int.from_bytes(data[self.at : self.at + self.size], self.byteorder))

    def replaced(self, data: bytes, value: int) -> bytes:
        """The bytes read, with this value instead."""
        raw = self.encode(value).to_bytes(self.size, self.byteorder)
        return data[: self.at] + raw + data[self.at + self.size :]


@dataclass(frozen=True, slots=True)
class RegisterCheck:
    """Required value of a register, and the effect of other values."""

    register: ConfigurationRegister
    effect: RegisterEffect
    problem: Callable[[int, JointCalibration], str]  # of a value; empty if correct
    wanted: Callable[[JointCalibration], int | None]  # the value to restore; None: unknown
    remedy: str = "hexapod servos repair restores it"
    any_joint: bool = True  # whether the check does not depend on the joint of the servo


@dataclass(frozen=True, slots=True)
class RegisterProblem:
    """A register of one servo with a wrong value."""

    joint: JointCalibration
    check: RegisterCheck
    value: int
    data: bytes = field(repr=False)  # as read
    problem: str

    @property
    def text(self) -> str:
        """The register, its value and the effect."""
        return f"{self.check.register.name} is {self.value}: {self.problem}"

    @property
    def change(self) -> str:
        """The register, its value and the one that is expected, the effect and the remedy, while the robot holds."""
        wanted = "" if self.wanted is None else f", expected {self.wanted}"
        name = f"{self.joint.joint} (id {self.joint.id})"
        text = f"{name}: {self.check.register.name} has changed to {self.value}{wanted}: {self.problem}"
        return f"{text}: the robot stops; let it sit, call disarm, then {self.check.remedy}"

    @property
    def wanted(self) -> int | None:
        """The value to restore."""
        return self.check.wanted(self.joint)


def exactly(value: int, problem: str | Mapping[int, str]) -> Callable[[int, JointCalibration], str]:
    """Returns a check that reports `problem` for any other value: a text, or texts by value with -1 for the rest."""

    def check(actual: int, joint: JointCalibration) -> str:
        if actual == value:
            return ""
        return problem if isinstance(problem, str) else problem.get(actual, problem[-1])

    return check


def at_most(value: int, problem: str) -> Callable[[int, JointCalibration], str]:
    """Returns a check that reports `problem` for greater values."""
    return lambda actual, joint: problem if actual > value else ""


def at_least(value: int, problem: str) -> Callable[[int, JointCalibration], str]:
    """Returns a check that reports `problem` for smaller values."""
    return lambda actual, joint: problem if actual < value else ""


def value(number: int) -> Callable[[JointCalibration], int | None]:
    """Returns a rule that requires `number` for every joint."""
    return lambda joint: number


def goal_range(joint: JointCalibration) -> tuple[int, int]:
    """The minimum and maximum goal [raw] of a joint."""
    ends = sorted((joint.raw(joint.lower), joint.raw(joint.upper)))
    return max(math.ceil(ends[0]), joint.low), min(math.floor(ends[1]), joint.high)


def reaches_low(actual: int, joint: JointCalibration) -> str:
    """A minimum position above the joint's range is a problem."""
    low, high = goal_range(joint)
    return f"it cuts the joint's range {low} to {high}" if actual > low else ""


def reaches_high(actual: int, joint: JointCalibration) -> str:
    """A maximum position below the joint's range is a problem."""
    low, high = goal_range(joint)
    return f"it cuts the joint's range {low} to {high}" if actual < high else ""


def narrow_range(joint: JointCalibration) -> tuple[int, int]:
    """Angle limits [raw] that keep a servo near its joint's range for any goal."""
    low, high = goal_range(joint)
    room = math.ceil(LIMIT_ROOM * max(joint.units_per_rad, joint.units_per_rad_neg))
    return max(low - room, joint.low), min(high + room, joint.high)


def wide_low(actual: int, joint: JointCalibration) -> str:
    """A minimum position far below the joint's range is a problem."""
    return WIDE if actual < narrow_range(joint)[0] else ""


def wide_high(actual: int, joint: JointCalibration) -> str:
    """A maximum position far above the joint's range is a problem."""
    return WIDE if actual > narrow_range(joint)[1] else ""


def calibrated_offset(actual: int, joint: JointCalibration) -> str:
    """An offset that differs from the one at the calibration is a problem."""
    if joint.offset is None:
        return ""
    return "" if actual == joint.offset else f"it was {joint.offset} at the calibration, so that every angle is wrong"


def unknown_offset(actual: int, joint: JointCalibration) -> str:
    """An offset that was not recorded at the calibration is a problem: it may have changed since."""
    if joint.offset is not None or not actual:
        return ""
    return "the robot file does not say whether it was calibrated with it"
