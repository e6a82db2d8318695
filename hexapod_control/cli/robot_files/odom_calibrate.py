"""`hexapod odom-calibrate`: walk and turn by odometry, compare with what was measured, write the factors down."""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

from hexapod_control.cli.errors import InputError
from hexapod_control.clients import connection_options
from hexapod_control.config.robots.odometry_scale import odometry_scale
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.robot_keys import ODOMETRY_SCALE
from hexapod_control.config.section_writer import own_file, save_section

DISTANCES, TURNS = (0.2, 20.0), (45.0, 3600.0)  # [m], [deg]
DIGITS = 4
WORDS = {"distance": "m", "turn": "deg"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--robot", required=True, metavar="FILE", help="robot file that gets the factors")
    parser.add_argument(
        "--distance", type=float, default=1.0, metavar="M", help="how far to walk by odometry (default: %(default)s)"
    )
    parser.add_argument(
        "--turn", type=float, default=360.0, metavar="DEG", help="how far to turn by odometry (default: %(default)s)"
    )
    parser.add_argument("--measured-distance", type=float, metavar="M", help="what it was; else it is asked for")
    parser.add_argument("--measured-turn", type=float, metavar="DEG", help="what it was; else it is asked for")
    connection_options.add_arguments(parser)
    parser.add_argument("--simulate", action="store_true", help="in simulation against the truth, without ROS")
    parser.add_argument("--dry-run", action="store_true", help="print the factors, write nothing")


def run(args: argparse.Namespace) -> int:
    """Measure and write: 0; 1 if the robot did not do its part, 2 bad input."""
    _check("--distance", args.distance, DISTANCES)
    _check("--turn", args.turn, TURNS)
    path = own_file(args.robot)
    if args.simulate:
        factors = _simulated(args)
    else:
        for name in WORDS:
            if getattr(args, f"measured_{name}") is None and not sys.stdin.isatty():
                raise InputError(f"--measured-{name}: must be given where there is no terminal to ask on")
        from hexapod_control.clients.odometry_survey import RobotDidNot, survey

        try:
            factors = survey(args, path, _ask)
        except RobotDidNot as failure:
            print(f"hexapod: {failure}", file=sys.stderr)
            return 1
    return _write(args, path, factors)


def _write(args: argparse.Namespace, path: Path, factors: dict[str, float]) -> int:
    for row in ODOMETRY_SCALE:
        factor = factors.get(row.key, 1.0)
        if not row.lower <= factor <= row.upper:
            raise InputError(
                f"{row.key}: the factor would be {factor:.3f}, must be in [{row.lower}, {row.upper}]; measured wrongly?"
            )
    robot_file = load(path)
    kept = dict(zip(WORDS, odometry_scale(robot_file), strict=True))
    data = {name: round(value, DIGITS) for name, value in {**kept, **factors}.items()}
    print(f"odometry_scale: distance {data['distance']:g}, turn {data['turn']:g}")
    if args.dry_run:
        return 0
    backup = save_section(robot_file.path, "odometry_scale", data)
    print(f"written to {robot_file.path}, as it was: {backup.name}; start odometry again to use it")
    return 0


def _simulated(args: argparse.Namespace) -> dict[str, float]:
    from hexapod_control.config.robots.urdf import urdf
    from hexapod_control.evaluation.quality.odometry_scale import measure
    from hexapod_control.sim.world_settings import WorldSettings

    os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)  # nothing else sets it in a venv
    robot_file = load(args.robot)
    way, turn = measure(robot_file.robot, urdf(robot_file), WorldSettings(), args.distance, math.radians(args.turn))
    print(f"walked {way.told:.4f} m by odometry, {way.true:.4f} m in truth")
    print(f"turned {math.degrees(turn.told):.2f} deg by odometry, {math.degrees(turn.true):.2f} deg in truth")
    return {"distance": way.factor, "turn": turn.factor}


def _check(option: str, value: float, bounds: tuple[float, float]) -> None:
    if not bounds[0] <= value <= bounds[1]:
        raise InputError(f"{option}: must be in [{bounds[0]:g}, {bounds[1]:g}], is {value:g}")


def _ask(name: str, told: float, given: float | None) -> float:
    """What was really walked or turned [m or deg]: given, or asked for until it is a number."""
    while given is None:
        answer = input(f"{name} by odometry: {told:.3f} {WORDS[name]}; measured [{WORDS[name]}]: ")
        try:
            given = float(answer.replace(",", "."))
        except ValueError:
            print(f"{answer!r} is no number")
            continue
        if not given > 0.0:
            given = None
    if not 0.0 < given < math.inf:
        raise InputError(f"--measured-{name}: must be above 0 {WORDS[name]}, is {given:g}")
    return given
