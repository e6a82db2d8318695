"""`hexapod odom-calibrate`: walks and turns by odometry, compares with measured values, writes the scale factors."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from hexapod_control.cli.bounded_options import number
from hexapod_control.cli.input_error import CommandFailedError, InputError
from hexapod_control.clients import connection_options
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.robot_keys import ODOMETRY_SCALE
from hexapod_control.config.robots.rules.odometry_scale import odometry_scale
from hexapod_control.config.section_writer import own_file, save_section
from hexapod_control.config.shipped_files import use_venv_prefix

DIGITS = 4  # decimals of a factor in the robot file
UNITS = {"distance": "m", "turn": "deg"}
COMMANDED = {"distance": number(0.2, 20.0, "m"), "turn": number(45.0, 3600.0, "deg")}
MEASURED = {"distance": number(1e-3, 1e3, "m"), "turn": number(1e-3, 1e5, "deg")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--robot", required=True, metavar="FILE", help="robot file to write the factors to")
    parser.add_argument(
        "--distance",
        type=COMMANDED["distance"],
        default=1.0,
        metavar="M",
        help="distance by odometry (default: %(default)g)",
    )
    parser.add_argument(
        "--turn",
        type=COMMANDED["turn"],
        default=360.0,
        metavar="DEG",
        help="rotation by odometry (default: %(default)g)",
    )
    parser.add_argument(
        "--measured-distance", type=MEASURED["distance"], metavar="M", help="measured distance (default: ask for it)"
    )
    parser.add_argument(
        "--measured-turn", type=MEASURED["turn"], metavar="DEG", help="measured rotation (default: ask for it)"
    )
    connection_options.add_arguments(parser)
    parser.add_argument("--simulate", action="store_true", help="in simulation against ground truth, without ROS")
    parser.add_argument("--dry-run", action="store_true", help="print the factors, write nothing")


def run(args: argparse.Namespace) -> int:
    """Measures and writes. Returns 0; 1 if the robot did not do what was requested. Raises InputError."""
    path = own_file(args.robot)
    if args.simulate:
        factors = _simulated(args)
    else:
        for name in UNITS:
            if getattr(args, f"measured_{name}") is None and not sys.stdin.isatty():
                raise InputError(f"--measured-{name}: must be given, as there is no terminal to ask on")
        from hexapod_control.clients.bounded_wait import RobotError
        from hexapod_control.clients.odometry_survey import SurveyDrives, survey

        def ask(name: str, by_odometry: float) -> float:
            return ask_measured(name, by_odometry, getattr(args, f"measured_{name}"))

        options, drives = connection_options.connection(args), SurveyDrives(args.distance, args.turn)
        try:
            factors = survey(options, drives, path, ask, lambda text: print(text, flush=True))
        except RobotError as failure:
            print(f"hexapod: {failure}", file=sys.stderr)
            return FAILED
    return _write(args, path, factors)


def _write(args: argparse.Namespace, path: Path, factors: dict[str, float]) -> int:
    for row in ODOMETRY_SCALE:
        factor = factors.get(row.key, 1.0)
        if not row.lower <= factor <= row.upper:
            raise CommandFailedError(
                f"{row.key}: the factor would be {factor:.3f}, must be in [{row.lower}, {row.upper}]: "
                "nothing was written, measure again"
            )
    robot_file = load(path)
    present = dict(zip(UNITS, odometry_scale(robot_file.document), strict=True))
    data = {name: round(value, DIGITS) for name, value in {**present, **factors}.items()}
    print(f"odometry_scale: distance {data['distance']:g}, turn {data['turn']:g}")
    if args.dry_run:
        return DONE
    backup = save_section(robot_file.path, "odometry_scale", data)
    print(f"written to {robot_file.path}, backup: {backup.name}; restart odometry to use it")
    return DONE


def _simulated(args: argparse.Namespace) -> dict[str, float]:
    from hexapod_control.config.robots.urdf import urdf
    from hexapod_control.evaluation.quality.odometry_calibration import measure
    from hexapod_control.sim.world_settings import WorldSettings

    use_venv_prefix()
    robot_file = load(args.robot)
    walked, turned = measure(
        robot_file.robot, urdf(robot_file), WorldSettings(), args.distance, math.radians(args.turn)
    )
    print(f"walked {walked.estimate:.4f} m by odometry, {walked.truth:.4f} m by ground truth")
    by_odometry, by_truth = math.degrees(turned.estimate), math.degrees(turned.truth)
    print(f"turned {by_odometry:.2f} deg by odometry, {by_truth:.2f} deg by ground truth")
    return {"distance": walked.factor, "turn": turned.factor}


def ask_measured(name: str, by_odometry: float, given: float | None) -> float:
    """Returns the measured distance [m] or rotation [deg], as given or as typed; asks again after an invalid answer."""
    while given is None:
        answer = input(f"{name} by odometry: {by_odometry:.3f} {UNITS[name]}; measured [{UNITS[name]}]: ")
        try:
            given = MEASURED[name](answer.replace(",", "."))
        except argparse.ArgumentTypeError as error:
            print(error)
    return given
