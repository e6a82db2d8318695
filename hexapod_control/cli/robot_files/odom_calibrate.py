# SPDX-License-Identifier: Apache-2.0
"""`hexapod odom-calibrate`: walks and turns by odometry, compares with measured values, writes the scale factors."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from hexapod_control.cli.bounded_options import CommandFailedError, InputError, add_number
from hexapod_control.clients import connection_options
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load, odometry_scale
from hexapod_control.config.robots.robot_keys import ODOMETRY_SCALE
from hexapod_control.config.section_writer import own_file, save_section
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.core.quantity import Quantity, QuantityError

DIGITS = 4  # decimals of a factor in the robot file
COMMANDED = {
    "distance": Quantity("m", 0.2, 20.0, "distance by odometry", 1.0),
    "turn": Quantity("deg", 45.0, 3600.0, "rotation by odometry", 360.0),
}
MEASURED = {
    "distance": Quantity("m", 1e-3, 1e3, "measured distance", "ask for it"),
    "turn": Quantity("deg", 1e-3, 1e5, "measured rotation", "ask for it"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("--robot", required=True, metavar="FILE", help="robot file to write the factors to")
    for name in COMMANDED:
        add_number(parser, f"--{name}", COMMANDED[name])
        add_number(parser, f"--measured-{name}", MEASURED[name])
    connection_options.add_arguments(parser)
    parser.add_argument("--simulate", action="store_true", help="in simulation against ground truth, without ROS")
    parser.add_argument("--dry-run", action="store_true", help="print the factors, write nothing")


def run(args: argparse.Namespace) -> int:
    """Measures and writes. Returns 0; 1 if the robot did not do what was requested. Raises InputError."""
    path = own_file(args.robot)
    if args.simulate:
        factors = _simulated(args)
    else:
        for name in COMMANDED:
            if getattr(args, f"measured_{name}") is None and not sys.stdin.isatty():
                raise InputError(f"--measured-{name}: must be given, as there is no terminal to ask on")
        from hexapod_control.clients.odometry_survey import SurveyDrives, survey

        def ask(name: str, by_odometry: float) -> float:
            return ask_measured(name, by_odometry, getattr(args, f"measured_{name}"))

        options = connection_options.connection(args)
        drives = SurveyDrives(args.distance, args.turn)
        factors = survey(options, drives, path, ask, lambda text: print(text, flush=True))
    return _write(args, path, factors)


def _write(args: argparse.Namespace, path: Path, factors: dict[str, float]) -> int:
    for row in ODOMETRY_SCALE:
        try:
            row.quantity.checked(round(factors.get(row.key, 1.0), DIGITS))
        except QuantityError as error:
            raise CommandFailedError(f"{row.key}: the factor {error}; nothing was written, measure again") from None
    robot_file = load(path)
    present = dict(zip(COMMANDED, odometry_scale(robot_file.document), strict=True))
    data = {name: round(value, DIGITS) for name, value in {**present, **factors}.items()}
    print(f"odometry_scale: distance {data['distance']:g}, turn {data['turn']:g}")
    if args.dry_run:
        return DONE
    backup = save_section(robot_file.path, "odometry_scale", data)
    print(f"written to {robot_file.path}, backup: {backup.name}; restart odometry to use it")
    return DONE


def _simulated(args: argparse.Namespace) -> dict[str, float]:
    from hexapod_control.config.robots.urdf import urdf
    from hexapod_control.evaluation.odometry_calibration import measure
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
    unit = MEASURED[name].unit
    while given is None:
        answer = input(f"{name} by odometry: {by_odometry:.3f} {unit}; measured [{unit}]: ")
        try:
            given = MEASURED[name].read(answer.replace(",", "."))
        except QuantityError as error:
            print(error)
    return given
