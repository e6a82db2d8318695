# SPDX-License-Identifier: Apache-2.0
"""`hexapod urdf`: prints the URDF of a robot file, what ros2_control or MoveIt need with it, or a summary."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from hexapod_control.cli.bounded_options import InputError, add_robot
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.moveit import moveit_files, srdf
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.robots.urdf import HARDWARE, TOPICS, controllers, urdf
from hexapod_control.core.names import JOINTS
from hexapod_control.core.robot import Joint, Leg, Robot

SummaryRow = tuple[str, ...]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    add_robot(parser)
    one_of = parser.add_mutually_exclusive_group()
    for option, what in (
        ("--ros2-control", f"add the tags of ros2_control, for {' or '.join(HARDWARE)} (default: {TOPICS})"),
        ("--controllers", "print the controllers of ros2_control for this robot instead, for the same hardware"),
    ):
        one_of.add_argument(option, nargs="?", const=TOPICS, choices=tuple(HARDWARE), metavar="HARDWARE", help=what)
    one_of.add_argument("--srdf", action="store_true", help="print the SRDF of MoveIt for this robot instead")
    one_of.add_argument(
        "--moveit", type=Path, metavar="FOLDER", help="write the package ROBOT_moveit_config into this folder instead"
    )
    one_of.add_argument(
        "--summary", action="store_true", help="print a table of legs, lengths, limits, masses and servos instead"
    )


def run(args: argparse.Namespace) -> int:
    """Prints the text, or writes the package. Raises RobotFileError, or InputError for a package that is there."""
    file = load(args.robot)
    if args.moveit:
        return _write_package(file, args.moveit)
    if args.summary:
        text = summary(file)
    elif args.srdf:
        text = srdf(file.robot)
    elif args.controllers:
        text = controllers(file.robot, args.controllers)
    else:
        text = urdf(file, ros2_control=args.ros2_control or "")
    sys.stdout.write(text)
    return DONE


def _write_package(file: RobotFile, folder: Path) -> int:
    package = folder / f"{file.robot.name}_moveit_config"
    if package.exists():
        raise InputError(f"{package} exists: remove it, or give another folder")
    for path, text in moveit_files(file).items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_text(text, encoding="utf-8")
    print(f"{package} written: build it with colcon, then ros2 launch {package.name} move_group.launch.py")
    return DONE


def summary(file: RobotFile) -> str:
    """The tables, in mm, g and degrees."""
    robot = file.robot
    models = dict(zip(file.robot.leg_names, file.models, strict=True))

    def servo(leg: Leg) -> SummaryRow:
        return models[leg.name], *_servo(leg.femur_joint)

    hips = ("leg", "hip [mm]", "hip height [mm]", "yaw [deg]", "foothold [mm]")
    segments = ("leg", *(f"{part} [mm]" for part in JOINTS), *(f"{part} [g]" for part in JOINTS))
    limits = ("leg", *(f"{joint} [deg]" for joint in JOINTS))
    servos = ("leg", "servo", "speed [rad/s]", "stall torque [N m]", "stiffness [N m/rad]")
    tables = (
        _whole(file),
        [hips, *_by_legs(robot, _place(robot))],
        [segments, *_segments(robot)],
        [limits, *_by_legs(robot, _limits)],
        [servos, *_by_legs(robot, servo)],
    )
    return "\n".join(map(_table, tables))


def _whole(file: RobotFile) -> list[SummaryRow]:
    robot = file.robot
    walk = file.robot.walk
    legs = robot.mass - robot.body.mass
    steps = f"swing {walk.swing_time:g} s, lift {_mm(walk.lift_height)} mm, preload {_mm(walk.preload)} mm"
    return [
        ("robot", f"{robot.name} ({file.path})"),
        ("legs", f"{len(robot.legs)} with {3 * len(robot.legs)} joints"),
        ("mass", f"{robot.mass:.3f} kg: body {robot.body.mass:.3f} kg, legs {legs:.3f} kg"),
        ("body", f"{' x '.join(map(_mm, robot.body.size))} mm"),
        ("height", f"{_mm(walk.height)} mm from base_link to the ground"),
        ("feet", f"balls of {_mm(robot.foot_radius)} mm radius"),
        ("walk", f"{walk.gait}, {steps}"),
    ]


def _place(robot: Robot) -> Callable[[Leg], SummaryRow]:
    def row(leg: Leg) -> SummaryRow:
        height = robot.walk.height + leg.hip[2]
        return _points(leg.hip), _mm(height), f"{math.degrees(leg.hip_yaw):.1f}", _points(leg.foothold)

    return row


def _segments(robot: Robot) -> list[SummaryRow]:
    def row(leg: Leg) -> SummaryRow:
        parts = (leg.coxa, leg.femur, leg.tibia)
        return (*(_mm(part.length) for part in parts), *(f"{1e3 * part.mass:.4g}" for part in parts))

    return _by_legs(robot, row)


def _limits(leg: Leg) -> SummaryRow:
    return tuple(f"{math.degrees(joint.lower):.5g} to {math.degrees(joint.upper):.5g}" for joint in leg.joints)


def _servo(joint: Joint) -> SummaryRow:
    return tuple(f"{value:.4g}" for value in (joint.no_load_speed, joint.stall_torque, joint.stiffness))


def _by_legs(robot: Robot, values: Callable[[Leg], SummaryRow]) -> list[SummaryRow]:
    """One row for all legs with the same values, headed by their names."""
    groups: dict[SummaryRow, list[str]] = {}
    for leg in robot.legs:
        groups.setdefault(values(leg), []).append(leg.name)
    return [("all" if len(names) == len(robot.legs) else ", ".join(names), *row) for row, names in groups.items()]


def _table(rows: Sequence[SummaryRow]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _points(values: Iterable[float]) -> str:
    return ", ".join(map(_mm, values))


def _mm(metres: float) -> str:
    return f"{round(1e3 * metres, 1) + 0.0:g}"
