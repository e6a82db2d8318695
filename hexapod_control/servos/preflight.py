# SPDX-License-Identifier: Apache-2.0
"""Checks of the configuration registers of servos before their torque comes on: values that are wrong for the robot.

The checks follow from the roles in the table of a servo type. Boards have none: they cannot read servos.

`hexapod servos repair` restores them: it lists differences, saves a backup, writes and verifies.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from hexapod_control.core.refusal import Refusal
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.bus.registers import Register, RegisterRole, RegisterTable
from hexapod_control.servos.settings.joint_calibration import JointCalibration

LIMIT_ROOM = math.radians(5.0)  # [rad] between a servo's angle limits and the joint's, as it may start outside them
LITTLE_TORQUE = "the servo does not have its full torque"
LATE_REPLIES = "its replies are late by 2 us per unit"
NO_REPLIES = "the servo does not confirm writes"
NO_TORQUE = "the servo has no torque"
RECALIBRATE = "hexapod calibrate records it"
WIDE = "a corrupted goal could turn the servo farther than the joint"


class RegisterEffect(Enum):
    """Effect of a wrong value."""

    WARNING = "warning"  # the servo is slow or weak
    DANGER = "danger"  # the servo may move where it must not: the torque stays off
    TORQUE = "torque"  # the servo has no torque: watched while the robot holds, no matter before
    ADVICE = "advice"  # a corrupted goal could turn it farther than the joint: shown and restored on request only


@dataclass(frozen=True, slots=True)
class RegisterCheck:
    """Required value of a register, and the effect of other values."""

    register: Register
    effect: RegisterEffect
    problem: Callable[[int, JointCalibration], str | None]  # of a value
    wanted: Callable[[JointCalibration], int | None]  # the value to restore; None: unknown
    remedy: str = "hexapod servos repair restores it"
    any_joint: bool = True  # whether the check does not depend on the joint of the servo


@dataclass(frozen=True, slots=True)
class RegisterProblem:
    """A register of one servo with a wrong value."""

    joint: JointCalibration
    check: RegisterCheck
    value: int
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
        return f"{text}: the robot stops; let it sit, run hexapod disarm, then {self.check.remedy}"

    @property
    def wanted(self) -> int | None:
        """The value to restore."""
        return self.check.wanted(self.joint)


def exactly(value: int, problem: str | Mapping[int, str]) -> Callable[[int, JointCalibration], str | None]:
    """Returns a check that reports `problem` for any other value: a text, or texts by value with -1 for the rest."""

    def check(actual: int, joint: JointCalibration) -> str | None:
        if actual == value:
            return None
        return problem if isinstance(problem, str) else problem.get(actual, problem[-1])

    return check


def at_most(value: int, problem: str) -> Callable[[int, JointCalibration], str | None]:
    """Returns a check that reports `problem` for greater values."""
    return lambda actual, joint: problem if actual > value else None


def at_least(value: int, problem: str) -> Callable[[int, JointCalibration], str | None]:
    """Returns a check that reports `problem` for smaller values."""
    return lambda actual, joint: problem if actual < value else None


def value(number: int) -> Callable[[JointCalibration], int | None]:
    """Returns a rule that requires `number` for every joint."""
    return lambda joint: number


def goal_range(joint: JointCalibration) -> tuple[int, int]:
    """The minimum and maximum goal [raw] of a joint."""
    ends = sorted((joint.raw(joint.lower), joint.raw(joint.upper)))
    return max(math.ceil(ends[0]), joint.low), min(math.floor(ends[1]), joint.high)


def reaches_low(actual: int, joint: JointCalibration) -> str | None:
    """A minimum position above the joint's range is a problem."""
    low, high = goal_range(joint)
    return f"it cuts the joint's range {low} to {high}" if actual > low else None


def reaches_high(actual: int, joint: JointCalibration) -> str | None:
    """A maximum position below the joint's range is a problem."""
    low, high = goal_range(joint)
    return f"it cuts the joint's range {low} to {high}" if actual < high else None


def narrow_range(joint: JointCalibration) -> tuple[int, int]:
    """Angle limits [raw] that keep a servo near its joint's range for any goal."""
    low, high = goal_range(joint)
    room = math.ceil(LIMIT_ROOM * max(joint.units_per_rad, joint.units_per_rad_neg))
    return max(low - room, joint.low), min(high + room, joint.high)


def wide_low(actual: int, joint: JointCalibration) -> str | None:
    """A minimum position far below the joint's range is a problem."""
    return WIDE if actual < narrow_range(joint)[0] else None


def wide_high(actual: int, joint: JointCalibration) -> str | None:
    """A maximum position far above the joint's range is a problem."""
    return WIDE if actual > narrow_range(joint)[1] else None


def calibrated_offset(actual: int, joint: JointCalibration) -> str | None:
    """An offset that differs from the one at the calibration is a problem."""
    if joint.offset is None:
        return None
    return None if actual == joint.offset else f"it was {joint.offset} at the calibration, so that every angle is wrong"


def unknown_offset(actual: int, joint: JointCalibration) -> str | None:
    """An offset that was not recorded at the calibration is a problem: it may have changed since."""
    if joint.offset is not None or not actual:
        return None
    return "the robot file does not say whether it was calibrated with it"


@cache
def checks(table: RegisterTable) -> tuple[RegisterCheck, ...]:
    """The checks of the registers of a servo type."""
    return tuple(_checks(table))


def _checks(table: RegisterTable) -> Iterator[RegisterCheck]:
    mode = table.get(RegisterRole.MODE)
    if mode is not None:
        yield RegisterCheck(mode, RegisterEffect.DANGER, exactly(mode.default, table.modes), value(mode.default))
    torque = table[RegisterRole.TORQUE]
    yield RegisterCheck(torque, RegisterEffect.TORQUE, exactly(1, NO_TORQUE), value(1))
    yield from _limit_checks(table, table[RegisterRole.LOW_LIMIT], table[RegisterRole.HIGH_LIMIT])
    offset = table.get(RegisterRole.OFFSET)
    if offset is not None:
        yield RegisterCheck(
            offset, RegisterEffect.DANGER, calibrated_offset, lambda joint: joint.offset, any_joint=False
        )
        yield RegisterCheck(
            offset, RegisterEffect.WARNING, unknown_offset, lambda joint: None, RECALIBRATE, any_joint=False
        )
    for full in table.all(RegisterRole.FULL_TORQUE):
        yield RegisterCheck(full, RegisterEffect.WARNING, at_least(full.default, LITTLE_TORQUE), value(full.default))
    delay, level = table.get(RegisterRole.RETURN_DELAY), table.get(RegisterRole.REPLY_LEVEL)
    if delay is not None:
        yield RegisterCheck(delay, RegisterEffect.WARNING, at_most(0, LATE_REPLIES), value(0))
    if level is not None and level.high is not None:
        yield RegisterCheck(level, RegisterEffect.WARNING, exactly(level.high, NO_REPLIES), value(level.high))


def _limit_checks(table: RegisterTable, low: Register, high: Register) -> Iterator[RegisterCheck]:
    if table.zero_limits:
        yield RegisterCheck(high, RegisterEffect.DANGER, at_least(1, table.zero_limits), lambda joint: joint.high)
    yield RegisterCheck(low, RegisterEffect.DANGER, reaches_low, lambda joint: joint.low, any_joint=False)
    yield RegisterCheck(high, RegisterEffect.DANGER, reaches_high, lambda joint: joint.high, any_joint=False)
    yield RegisterCheck(low, RegisterEffect.ADVICE, wide_low, lambda joint: narrow_range(joint)[0], any_joint=False)
    yield RegisterCheck(high, RegisterEffect.ADVICE, wide_high, lambda joint: narrow_range(joint)[1], any_joint=False)


MAX_TRIES = 5  # of a read; a late reply is received by the next try
MAX_NAMES = 3  # joints named in a message


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """Registers with wrong values, and servos that could not be read."""

    problems: tuple[RegisterProblem, ...] = ()
    silent: tuple[JointCalibration, ...] = ()

    @property
    def refusal(self) -> Refusal | None:
        """Why the torque must stay off, with the remedy."""
        texts = _texts(p for p in self.problems if p.check.effect is RegisterEffect.DANGER)
        if self.silent:
            names = _names(self.silent)
            texts.append(f"{names}: the registers could not be read: check the cable and power, then arm again")
        return Refusal("preflight", "{problems}", problems="; ".join(texts)) if texts else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Unusual but harmless values, with the remedy."""
        return tuple(_texts(p for p in self.problems if p.check.effect is RegisterEffect.WARNING))


def inspect(
    bus: Bus, joints: Iterable[JointCalibration], *, calibrated: bool = True, advice: bool = False
) -> PreflightReport:
    """Checks the registers of the servos of these joints. The report is empty on a bus without registers.

    Without `calibrated`, values that depend on the joint of a servo are not checked. With `advice`, angle limits that
    are wider than necessary are problems as well.
    """
    if bus.features.registers is None:
        return PreflightReport()
    skipped = {RegisterEffect.TORQUE} if advice else {RegisterEffect.TORQUE, RegisterEffect.ADVICE}
    wanted = [
        check
        for check in checks(bus.features.registers)
        if check.effect not in skipped and (calibrated or check.any_joint)
    ]
    problems: list[RegisterProblem] = []
    silent: list[JointCalibration] = []
    for joint in joints:
        found = inspect_servo(bus, bus.features.registers, wanted, joint)
        if found is None:
            silent.append(joint)
        else:
            problems += found
    return PreflightReport(tuple(problems), tuple(silent))


def inspect_servo(
    bus: Bus, table: RegisterTable, wanted: Sequence[RegisterCheck], joint: JointCalibration, tries: int = MAX_TRIES
) -> list[RegisterProblem] | None:
    """The problems that these checks find in the servo of a joint; None if it does not answer."""
    contents = _contents(bus, joint.id, [check.register for check in wanted], tries)
    if contents is None:
        return None
    problems: list[RegisterProblem] = []
    for check in wanted:
        data = contents[check.register]
        value = table.value(check.register, data)
        if problem := check.problem(value, joint):
            problems.append(RegisterProblem(joint, check, value, problem))
    return problems


class RegisterBlocks:
    """The checked registers of servos by transaction: those of one block, and of each command that reads some."""

    def __init__(self, bus: Bus, joints: Sequence[JointCalibration]) -> None:
        """`joints` in row order; without registers on the bus there are no blocks."""
        self._bus = bus
        self._table = bus.features.registers
        self._joints = joints
        blocks: dict[int, list[RegisterCheck]] = {}
        for check in checks(self._table) if self._table is not None else ():
            if check.effect is not RegisterEffect.ADVICE:
                blocks.setdefault(check.register if check.register.reply else -1, []).append(check)
        self._blocks = tuple(blocks.values())

    def __len__(self) -> int:
        return len(self._blocks)

    def inspect(self, index: int, block: int) -> list[RegisterProblem] | None:
        """The problems in one block of a servo, read in one try; None if it does not answer."""
        if self._table is None:
            return None
        return inspect_servo(self._bus, self._table, self._blocks[block], self._joints[index], 1)


def with_offsets(bus: Bus, joints: Iterable[JointCalibration]) -> tuple[JointCalibration, ...]:
    """The calibrations with the present offsets of their servos."""
    table = bus.features.registers
    offset = None if table is None else table.get(RegisterRole.OFFSET)
    if table is None or offset is None:
        return tuple(joints)
    registers = [check.register for check in checks(table) if check.effect is not RegisterEffect.TORQUE]
    contents = [(joint, _contents(bus, joint.id, registers)) for joint in joints]
    return tuple(
        joint if found is None else dataclasses.replace(joint, offset=table.value(offset, found[offset]))
        for joint, found in contents
    )


def read(bus: Bus, servo: int, register: Register) -> bytes | None:
    """The bytes of a register; None if the servo does not answer."""
    return _answer(bus, servo, register, register.length)


def _answer(bus: Bus, servo: int, address: int, length: int, tries: int = MAX_TRIES) -> bytes | None:
    """Repeats the request if the reply is late or lost."""
    answers = (bus.registers(servo, address, length) for _ in range(tries))
    return next((data for data in answers if data is not None), None)


def _contents(
    bus: Bus, servo: int, registers: Sequence[Register], tries: int = MAX_TRIES
) -> dict[Register, bytes] | None:
    """The bytes of each register; None if the servo does not answer.

    They are read as one block: a status does not name its registers, and no late status of another request has the size
    of this block.
    """
    coded = [r for r in registers if r.reply]  # their replies name the command
    single = [r for r in registers if not r.reply]
    contents: dict[Register, bytes] = {}
    if single:
        start = min(single)
        block = _answer(bus, servo, start, max(r + r.size for r in single) - start, tries)
        if block is None:
            return None
        contents = {r: block[r - start :][: r.size] for r in single}
    for register in coded:
        data = contents.get(register) or _answer(bus, servo, register, register.length, tries)
        if data is None:
            return None
        contents[register] = data
    return contents


def _texts(problems: Iterable[RegisterProblem]) -> list[str]:
    """One text for all joints with the same problem."""
    joints: dict[tuple[str, str], list[JointCalibration]] = {}
    for problem in problems:
        joints.setdefault((problem.text, problem.check.remedy), []).append(problem.joint)
    return [f"{_names(affected)}: {text}: {remedy}" for (text, remedy), affected in joints.items()]


def _names(joints: Sequence[JointCalibration]) -> str:
    named = ", ".join(f"{joint.joint} (id {joint.id})" for joint in joints[:MAX_NAMES])
    return named + (f" and {len(joints) - MAX_NAMES} other joints" if len(joints) > MAX_NAMES else "")


def repairable(report: PreflightReport) -> tuple[RegisterProblem, ...]:
    """The problems whose register can be restored, one per register."""
    found = {(p.joint.id, p.check.register.name): p for p in report.problems if p.wanted is not None}
    return tuple(found.values())


def describe(problem: RegisterProblem) -> str:
    """One line: joint, register, present and restored value."""
    name = problem.joint.short_name
    register = problem.check.register.name
    return f"{name:22s} id {problem.joint.id:3d}  {register:24s} {problem.value:6d} -> {problem.wanted}"


def save_backup(robot_file: Path, protocol: str, problems: Sequence[RegisterProblem]) -> Path:
    """Writes the present values to a file next to the robot file. Returns its path. Raises OSError."""
    stem = f"{robot_file.stem}_servo_registers_{time.strftime('%Y-%m-%d_%H-%M-%S')}"
    names = (robot_file.with_name(f"{stem}{number}.yaml") for number in ("", *range(2, 1000)))
    path = next(each for each in names if not each.exists())
    lines = [f"# Registers of the servos of {robot_file.name} before they were restored.", f"protocol: {protocol}"]
    lines.append("registers:")
    for problem in problems:
        register = problem.check.register
        row = {"id": problem.joint.id, "joint": problem.joint.joint, "register": register.name}
        lines.append(f"- {json.dumps(row | {'address': int(register), 'value': problem.value})}")
    with path.open("x", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return path


def restore(bus: Bus, problems: Sequence[RegisterProblem]) -> list[RegisterProblem]:
    """Switches all torque off and writes the values. Returns the problems that remain."""
    table = bus.features.registers
    if table is None:
        return list(problems)
    bus.relax()  # servos refuse EEPROM writes while their torque is on
    return [problem for problem in problems if not _restored(bus, table, problem)]


def _restored(bus: Bus, table: RegisterTable, problem: RegisterProblem) -> bool:
    register = problem.check.register
    servo = problem.joint.id
    wanted = problem.wanted
    data = read(bus, servo, register)
    if data is None or wanted is None:
        return False
    bus.write_registers(servo, register, table.replaced(register, data, wanted))
    after = read(bus, servo, register)
    return after is not None and table.value(register, after) == wanted
