# SPDX-License-Identifier: Apache-2.0
"""Repeats recorded runs of robots with hidden errors by their twins, and prints how far both are apart.

`python bench/twin.py --seeds 5` records two walks of each robot: straight ahead, and in an arc. Twins have

hidden    the errors of the robot
measured  these with random errors as large as those of `hexapod identify` and `hexapod calibrate-self` may be, see
          MEASURED; neither of both is run here
refined   the measured ones, refined by the other of both walks, as `hexapod twin --refine` does; of that walk
          no ground truth is known
models    only those that all servos of their models have: nothing was measured

joint     worst joint, deg RMS; way: distance of the ends, in percent of the way
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from recorded_walk import record

from hexapod_control.bags.recorded_run import load_run
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.core.reality import REALITIES, Reality, reality
from hexapod_control.evaluation.twin import Twin, way_difference
from hexapod_control.evaluation.twin_refinement import refine

COURSES = {"straight": (Twist(0.1, 0.0, 0.0), 4.0), "arc": (Twist(0.08, 0.0, 0.3), 5.0)}  # with their lengths [s]
# Standard deviations of the measurements: absolute, or those below of factors on the hidden values.
MEASURED = {
    "zero_offset": math.radians(0.4),
    "backlash": math.radians(0.05),
    "length": 0.0005,
    "hip": 0.0005,
}
FACTORS = {"latency": 0.05, "stiffness": 0.05, "friction": 0.05, "no_load_speed": 0.05}
MAX_JOINT_DEG = 1.5
MAX_WAY = 0.03


class Distance(NamedTuple):
    """How far a twin is from its robot."""

    joint: float  # [deg] RMS of the worst
    way: float  # share of the way


def as_measured(hidden: Reality, seed: int) -> Reality:
    """The errors as they are known after a measurement."""
    rng = np.random.default_rng([seed, 5])
    shape = hidden.zero_offset.shape
    known = {name: getattr(hidden, name) + sigma * rng.standard_normal(shape) for name, sigma in MEASURED.items()}
    known["backlash"] = np.maximum(known["backlash"], 0.0)
    for name, sigma in FACTORS.items():
        known[name] = getattr(hidden, name) * (1.0 + sigma * rng.standard_normal(shape))
    return replace(hidden, **known)


def distance(twin: Twin, errors: Reality) -> Distance:
    """Repeats the run with these errors."""
    comparison = twin.compare(errors)
    way, apart = way_difference(comparison)
    return Distance(max(math.degrees(joint.rms) for joint in comparison.joint_differences()), apart / way)


def distances(robot_file: RobotFile, level: str, seed: int, folder: Path) -> Iterator[tuple[str, dict[str, Distance]]]:
    """Records the walks of one robot, and yields for each course the distances of its twins."""
    robot = robot_file.robot
    hidden = reality(robot, level, seed)
    runs = {}
    for course, (twist, seconds) in COURSES.items():
        bag = record(folder / f"{level}_{seed}_{course}", hidden, seconds, twist, str(robot_file.path))
        runs[course] = load_run(bag)
    measured = as_measured(hidden, seed)
    for course, run in runs.items():
        (other,) = (each for name, each in runs.items() if name != course)
        blind = Twin(robot_file, replace(other, truth=other.truth[:0]))
        refined = refine(blind, measured, lambda text: None).errors
        twin = Twin(robot_file, run)
        known = {"hidden": hidden, "measured": measured, "refined": refined, "models": reality(robot, "measured")}
        yield course, {name: distance(twin, errors) for name, errors in known.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(prog="bench/twin.py", description=__doc__)
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE")
    parser.add_argument("--reality", nargs="+", choices=tuple(REALITIES), default=("typical", "worn"))
    parser.add_argument("--seeds", type=int, default=5, metavar="N", help="robots of each kind (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first (default: %(default)s)")
    args = parser.parse_args(arguments)
    robot_file = load(args.robot)
    print(f"{'robot':12s} {'course':9s} {'hidden':>14s} {'measured':>14s} {'refined':>14s} {'models':>14s}")
    print(f"{'':22s} " + " ".join(["joint deg, way"] * 4))
    worst: dict[str, Distance] = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(args.first, args.first + args.seeds):
            for level in args.reality:
                for course, found in distances(robot_file, level, seed, Path(folder)):
                    print(f"{level} {seed:<{11 - len(level)}d} {course:9s} " + _cells(found), flush=True)
                    for name, one in found.items():
                        worst[name] = Distance(*map(max, zip(worst.get(name, one), one, strict=True)))
    print(f"{'worst':22s} {_cells(worst)}")
    for name in ("measured", "refined"):
        kept = worst[name].joint <= MAX_JOINT_DEG and worst[name].way <= MAX_WAY
        print(f"{name} within {MAX_JOINT_DEG:g} deg and {100.0 * MAX_WAY:g} % of the way: {'yes' if kept else 'no'}")
    return 0


def _cells(found: dict[str, Distance]) -> str:
    return " ".join(f"{one.joint:8.2f} {100.0 * one.way:5.1f}" for one in found.values())


if __name__ == "__main__":
    sys.exit(main())
