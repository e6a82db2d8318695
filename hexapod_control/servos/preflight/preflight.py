"""Reads the configuration registers of servos and finds values that are wrong for the robot."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.bus.registers import Register, RegisterRole, RegisterTable
from hexapod_control.servos.preflight.register_checks import (
    RegisterCheck,
    RegisterEffect,
    RegisterProblem,
    checks,
)
from hexapod_control.servos.settings.joint_calibration import JointCalibration

MAX_TRIES = 5  # of a read; a late reply is received by the next try
MAX_NAMES = 3  # joints named in a message


@dataclass(frozen=True, slots=True)
class PreflightReport:
    """Registers with wrong values, and servos that could not be read."""

    problems: tuple[RegisterProblem, ...] = ()
    silent: tuple[JointCalibration, ...] = ()

    @property
    def refusal(self) -> str:
        """Why the torque must stay off, with the remedy; empty if it may be switched on."""
        texts = _texts(p for p in self.problems if p.check.effect is RegisterEffect.DANGER)
        if self.silent:
            names = _names(self.silent)
            texts.append(f"{names}: the registers could not be read: check the cable and power, then arm again")
        return "; ".join(texts)

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
            problems.append(RegisterProblem(joint, check, value, data, problem))
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
