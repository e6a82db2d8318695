# SPDX-License-Identifier: Apache-2.0
"""`hexapod import`: writes robot file, joint mapping and report for a URDF or xacro file."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from hexapod_control.cli.bounded_options import InputError, add_number
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.draft.robot_text import robot_text
from hexapod_control.config.robots.robot_keys import ROBOT, SERVO_VOLTAGE
from hexapod_control.config.robots.servo_table import nearest_models, permitted, version_for, versions
from hexapod_control.config.robots.urdf_import.body_frame import DIRECTIONS
from hexapod_control.config.robots.urdf_import.body_values import ImportOptions
from hexapod_control.config.robots.urdf_import.findings import ImportedRobot
from hexapod_control.config.robots.urdf_import.importer import ImportRequest, import_urdf
from hexapod_control.config.robots.urdf_import.writing.joint_names import import_notes, mapping_text
from hexapod_control.config.robots.urdf_import.writing.report import report_page, sections
from hexapod_control.config.schema import NumberRow
from hexapod_control.core.quantity import Quantity, QuantityError

MAX_ANGLE_RAD = 7.0  # of a frozen joint
EVERY_LINK = "*"
SCALE = Quantity("", 1e-4, 1e4, "factor on all lengths, 0.001 if they are in millimetres", 1.0)
POINT = Quantity("m", -3.0, 3.0, "coordinate of a foot tip")
FOOT_RADIUS = next(row.quantity for row in ROBOT if isinstance(row, NumberRow) and row.key == "foot.radius")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("urdf", metavar="ROBOT.urdf|.xacro", help="file to import")
    parser.add_argument("--out", metavar="FILE", help="robot file to write (default: NAME.yaml in this folder)")
    parser.add_argument("--force", action="store_true", help="replace files that exist")
    parser.add_argument(
        "--freeze",
        action="append",
        default=[],
        metavar="JOINT=ANGLE",
        help="a joint that stays at an angle, in rad, or in degrees with deg behind it; the name may contain * and ?",
    )
    parser.add_argument(
        "--foot",
        action="append",
        nargs="+",
        default=[],
        metavar=("LINK", "X"),
        help="[LINK] X Y Z: center of the foot in the frame of this last link of a leg, or of every last link [m] "
        "(default: searched); the name may contain * and ?",
    )
    add_number(parser, "--scale", SCALE)
    add_number(parser, "--foot-radius", FOOT_RADIUS)
    add_number(parser, "--mass", Quantity("kg", 0.01, 200.0, "mass of the whole robot"))
    parser.add_argument(
        "--servo", default="", metavar="MODEL", help="servo of the table; hexapod servos models lists it"
    )
    add_number(parser, "--voltage", SERVO_VOLTAGE.quantity)
    axes = "|".join(DIRECTIONS)
    parser.add_argument(
        "--forward", choices=tuple(DIRECTIONS), metavar=axes, help="axis of the base link, e.g. --forward=-y"
    )
    parser.add_argument(
        "--up", choices=tuple(DIRECTIONS), metavar=axes, help="axis of the base link (default: searched)"
    )
    parser.add_argument(
        "--xacro-arg", action="append", default=[], metavar="NAME:=VALUE", help="argument of a xacro file"
    )


def run(args: argparse.Namespace) -> int:
    """Writes the files and prints the report. Raises InputError or UrdfError."""
    robot = import_urdf(request(args))
    out = Path(args.out) if args.out else Path(f"{robot.name.lower()}.yaml")
    if out.suffix not in (".yaml", ".yml"):
        raise InputError(f"--out: {out}: the name of a robot file must end in .yaml")
    files = {kind: out.with_suffix(suffix) for kind, suffix in _SUFFIXES.items()}
    taken = [path for path in files.values() if path.exists()]
    if taken and not args.force:
        raise InputError(f"{taken[0]}: exists already; give --out for another name, or --force to replace it")
    files["robot file"].write_text(robot_text(robot, import_notes(robot)), encoding="utf-8")
    files["joint mapping"].write_text(mapping_text(robot), encoding="utf-8")
    files["report"].write_text(report_page(robot), encoding="utf-8")
    _print(robot, files)
    return DONE


_SUFFIXES = {"robot file": ".yaml", "joint mapping": ".joints.yaml", "report": ".report.html"}


def request(args: argparse.Namespace) -> ImportRequest:
    """The import request of the arguments. Raises InputError."""
    if args.forward and args.up and args.forward.lstrip("-") == args.up.lstrip("-"):
        raise InputError(f"--forward: must be another axis than --up, is {args.forward}")
    return ImportRequest(
        path=Path(args.urdf),
        frozen=dict(map(_frozen, args.freeze)),
        arguments=dict(_pairs("--xacro-arg", args.xacro_arg, ":=")),
        feet=dict(map(_foot, args.foot)),
        scale=args.scale,
        forward=args.forward,
        up=args.up,
        options=_with_servo(ImportOptions(mass=args.mass, foot_radius=args.foot_radius), args.servo, args.voltage),
    )


def _pairs(option: str, texts: Sequence[str], separator: str) -> list[tuple[str, str]]:
    for text in texts:
        if separator not in text.strip(separator):
            raise InputError(f"{option}: must be NAME{separator}VALUE, is {text!r}")
    return [(name, value) for name, _, value in (text.partition(separator) for text in texts)]


def _frozen(text: str) -> tuple[str, float]:
    ((name, value),) = _pairs("--freeze", [text], "=")
    degrees = value.removesuffix("deg")
    try:
        angle = math.radians(float(degrees)) if degrees != value else float(value)
    except ValueError:
        angle = math.nan
    if not abs(angle) <= MAX_ANGLE_RAD:
        raise InputError(f"--freeze: {name} must be an angle in rad, e.g. 0.5 or 30deg, is {value!r}")
    return name, angle


def _foot(words: Sequence[str]) -> tuple[str, tuple[float, ...]]:
    """Last link, and center of the foot (x, y, z) [m] in its frame."""
    *link, x, y, z = words if len(words) in (3, 4) else ("", "", "", "", "")
    try:
        return (link[0] if link else EVERY_LINK), tuple(map(POINT.read, (x, y, z)))
    except QuantityError as error:
        raise InputError(f"--foot: must be [LINK] X Y Z, is {' '.join(words)!r}: each {error}") from None


def _with_servo(options: ImportOptions, model: str, voltage: float | None) -> ImportOptions:
    if not model:
        if voltage is not None:
            raise InputError("--voltage: is the supply of --servo MODEL, which is missing")
        return options
    if not versions(model):
        near = ", ".join(nearest_models(model)) or "none is similar"
        raise InputError(f"--servo: unknown model {model!r}; nearest: {near}; hexapod servos models lists all")
    if voltage is None or version_for(model, voltage) is None:
        given = "is missing" if voltage is None else f"is {voltage:g}"
        raise InputError(f"--voltage: {given}, must be {permitted(model)} for {model}")
    return replace(options, servo=model, voltage=voltage)


def _print(robot: ImportedRobot, files: dict[str, Path]) -> None:
    for title, lines in sections(robot):
        print(f"{title}:")
        for line in lines:
            print(f"  {line}")
    print()
    for kind, path in files.items():
        print(f"{kind + ':':<15}{path}")
    print(
        f"\nNext: read {files['report']}, correct what was assumed, then\n"
        f"  hexapod check ./{files['robot file']}\n  hexapod sim --robot ./{files['robot file']}"
    )
