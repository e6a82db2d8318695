# SPDX-License-Identifier: Apache-2.0
"""`hexapod servos repair`: shows registers that do not fit the robot, and restores them if the user confirms."""

from __future__ import annotations

import sys

from hexapod_control.cli.bounded_options import InputError
from hexapod_control.cli.servos import bus_access
from hexapod_control.config.errors import FAILED
from hexapod_control.config.section_writer import own_file
from hexapod_control.servos import preflight
from hexapod_control.servos.bus.bus_interface import Bus
from hexapod_control.servos.preflight import PreflightReport, inspect
from hexapod_control.servos.settings.joint_calibration import JointCalibration
from hexapod_control.servos.settings.servo_section import ServoSettings


def check_before_torque(bus: Bus, joint: JointCalibration) -> None:
    """Prints warnings; raises InputError if a register of the servo makes its torque dangerous."""
    report = inspect(bus, [joint])
    for text in report.warnings:
        print(text, file=sys.stderr)
    if report.refusal:
        raise InputError(report.refusal)


def run(bus: Bus, settings: ServoSettings, robot: str, *, confirmed: bool, limits: bool) -> int:
    """Shows and restores registers; `limits` includes angle limits that are wider than those of the joints.

    Returns 0 if all registers fit or were restored, 1 if not, with a reason for each that does not.
    """
    there = bus.identify()
    bus_access.check_models(bus, there)
    joints = tuple(joint for joint in settings.joints if joint.id in there)
    report = inspect(bus, joints, advice=limits)
    wrong = preflight.repairable(report)
    for problem in wrong:
        print(f"{preflight.describe(problem)}  ({problem.problem})")
    left = _others(settings, joints, report)
    if not wrong:
        print(left or f"the registers of {len(joints)} servos fit the robot")
        return int(bool(left))
    path = own_file(robot)
    if not (confirmed or _confirmed(f"switch the torque off and write these {len(wrong)} registers? [y/N] ")):
        print("nothing was written")
        return FAILED
    try:
        backup = preflight.save_backup(path, settings.protocol, wrong)
    except OSError as error:
        raise InputError(f"the backup cannot be written beside {path}, so nothing was changed: {error}") from None
    failed = preflight.restore(bus, wrong)
    for problem in failed:
        name = problem.check.register.name
        print(f"{problem.joint.joint} (id {problem.joint.id}): {name} did not take {problem.wanted}: try again")
    print(f"{len(wrong) - len(failed)} of {len(wrong)} registers restored; their old values are in {backup}")
    if left:
        print(left)
    return int(bool(failed or left))


def _others(settings: ServoSettings, joints: tuple[JointCalibration, ...], report: PreflightReport) -> str:
    """One line for each silent servo and each register that cannot be restored."""
    silent = [joint for joint in settings.joints if joint not in joints or joint in report.silent]
    lines = [f"{joint.joint} (id {joint.id}) does not answer: check its cable and power" for joint in silent]
    lines += [
        f"{p.joint.joint} (id {p.joint.id}): {p.text}: {p.check.remedy}" for p in report.problems if p.wanted is None
    ]
    return "\n".join(lines)


def _confirmed(question: str) -> bool:
    print(question, end="", flush=True)
    answer = sys.stdin.readline()
    return answer.strip().lower() in ("y", "yes")
