"""Restores configuration registers: lists differences, saves a backup, writes and verifies."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from pathlib import Path

from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.bus.registers import RegisterTable
from hexapod_control.servos.preflight.preflight import PreflightReport, RegisterProblem, read


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
