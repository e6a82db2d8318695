# SPDX-License-Identifier: Apache-2.0
"""`hexapod twin`: repeats the recorded run of a real robot in simulation, and reports where both differ."""

from __future__ import annotations

import argparse
from pathlib import Path

from hexapod_control.cli.bounded_options import InputError, add_number, add_robot, output_file
from hexapod_control.config.errors import DONE
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.core.reality import MEASURED, REALITIES, SEED, reality

SAME = Path()  # the bag that is repeated
TOGETHER = (
    "With these values together the twin walks most like the robot. They are not its own: each also takes up errors of "
    "lengths, friction and the other values, and the deviations are only those of the fit. hexapod identify and "
    "hexapod calibrate-self measure the robot."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("bag", type=Path, metavar="BAG", help="bag of the run, its folder or its .mcap file")
    add_robot(parser, "robot that was recorded")
    parser.add_argument(
        "--reality",
        choices=tuple(REALITIES),
        default=MEASURED,
        help="errors of the twin (default: %(default)s by hexapod identify, else those of its servo models)",
    )
    add_number(parser, "--reality-seed", SEED)
    picture = output_file("a picture", (".png",))
    parser.add_argument("--plot", type=picture, metavar="FILE", help="picture of both runs, .png")
    parser.add_argument(
        "--refine",
        type=Path,
        nargs="?",
        const=SAME,
        metavar="BAG",
        help="find the zeros, latency, play and stiffness with which the twin is nearest to this run or to that of "
        "another bag",
    )


def run(args: argparse.Namespace) -> int:
    """Repeats the run. Returns 0. Raises InputError."""
    from hexapod_control.bags.bag_file import BagError
    from hexapod_control.bags.recorded_run import load_run
    from hexapod_control.evaluation.twin import Twin, report
    from hexapod_control.evaluation.twin_refinement import refine

    use_venv_prefix()
    robot_file = load(args.robot)
    errors = reality(robot_file.robot, args.reality, args.reality_seed)
    try:
        twin = Twin(robot_file, load_run(args.bag))
        own = args.refine is None or args.refine is SAME
        teacher = twin if own else Twin(robot_file, load_run(args.refine))
    except BagError as error:
        raise InputError(str(error)) from None
    comparison = twin.compare(errors)
    print(*report(comparison), sep="\n", flush=True)
    if args.refine is not None:
        found = refine(teacher, errors, lambda text: print(text, flush=True))
        comparison = twin.compare(found.errors)
        print("", *found.table(twin.names), "", TOGETHER, "", *report(comparison), sep="\n", flush=True)
    if args.plot:
        from hexapod_control.bags.comparison_plot import plot

        plot(comparison, args.plot)
        print(args.plot)
    return DONE
