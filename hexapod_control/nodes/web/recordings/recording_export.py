# SPDX-License-Identifier: Apache-2.0
"""Program that converts a recording for the page: to a table of all signals, or to the states that the page replays.

`python -m hexapod_control.nodes.web.recordings.recording_export csv|replay BAG ROBOT MAPPING`; the mapping may be
empty. It writes to standard output; for a bag that cannot be used, one line to standard error, with exit code 2.
"""

from __future__ import annotations

import csv
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from hexapod_control.bags.bag_file import Bag, BagError, open_bag
from hexapod_control.bags.recorded_run import Sample, samples
from hexapod_control.config.errors import DONE, INVALID_INPUT, FileError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping, load_mapping
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import foot_name, joint_names
from hexapod_control.core.robot import Robot
from hexapod_control.web.page_state import DrawnState, drawing

TABLE_PERIOD_S = 0.02
FRAME_PERIOD_S = 0.05
LOW_PRIORITY = 10  # added to the niceness of the process


def write_table(bag: Bag, out: TextIO) -> None:
    """Writes all signals as comma-separated values, with one column for every signal that ever occurs."""
    columns: dict[str, None] = {}
    rows = []
    for at, values in samples(bag, TABLE_PERIOD_S):
        columns |= dict.fromkeys(values)
        rows.append((at, values))
    table = csv.writer(out)
    table.writerow(["seconds", *columns])
    for at, values in rows:
        table.writerow([f"{at:.3f}", *(_cell(values.get(name, "")) for name in columns)])


def _cell(value: float | str) -> float | str:
    return round(value, 5) if isinstance(value, float) else value


def frames(bag: Bag, robot: Robot, mapping: JointMapping | None) -> Iterator[dict[str, Any]]:
    """Yields the states that the page draws, with their time `at` [s]. Raises BagError for a bag of another robot."""
    names = mapping.names if mapping else joint_names(robot.leg_names)
    drawn = DrawnState()
    for at, values in samples(bag, FRAME_PERIOD_S):
        joints = np.array(_row(values, [f"{name} [rad]" for name in names]) or [math.nan] * len(names)).reshape(-1, 3)
        if not np.isfinite(joints).all():
            raise BagError(f"{bag.path}: has other joints than {robot.name}: start the page with the recorded robot")
        drawn.joints = (joints - mapping.offsets) / mapping.signs if mapping else joints
        drawn.support, drawn.forces = (_forces(values, robot, kind) for kind in ("support", "force"))
        drawn.odometry = _three(values, "x [m]", "y [m]", "yaw [rad]")
        drawn.commanded = _twist(values, "commanded") or (0.0, 0.0, 0.0)
        drawn.achieved = _twist(values, "achieved")
        margin = values.get("margin [m]")
        drawn.margin = margin if isinstance(margin, float) else None
        state = values.get("state", "")
        drawn.locate_body(robot)
        yield {**drawing(robot, drawn), "at": round(at, 3), "state": state, "forces": _rounded(drawn.forces)}


def _row(values: Sample, names: Sequence[str]) -> list[float] | None:
    found = [values.get(name) for name in names]
    return [float(value) for value in found if value is not None] if None not in found else None


def _forces(values: Sample, robot: Robot, kind: str) -> Array | None:
    row = _row(values, [f"{foot_name(leg)} {kind} [N]" for leg in robot.leg_names])
    return None if row is None else np.array(row)


def _three(values: Sample, *names: str) -> tuple[float, float, float] | None:
    row = _row(values, names)
    return None if row is None else (row[0], row[1], row[2])


def _twist(values: Sample, kind: str) -> tuple[float, float, float] | None:
    return _three(values, f"{kind} vx [m/s]", f"{kind} vy [m/s]", f"{kind} wz [rad/s]")


def _rounded(values: Array | None) -> list[float] | None:
    return None if values is None else [round(float(value), 1) for value in values]


def write_replay(bag: Bag, robot: Robot, mapping: JointMapping | None, out: TextIO) -> None:
    """Writes a JSON list of frames."""
    separator = "["
    for frame in frames(bag, robot, mapping):
        out.write(separator + json.dumps(_without_nan(frame), separators=(",", ":"), allow_nan=False))
        separator = ",\n"
    out.write("]" if separator != "[" else "[]")


def _without_nan(frame: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(v, float) and not math.isfinite(v) else v for name, v in frame.items()}


def main() -> int:
    """Runs the program. Returns the exit code."""
    export, path, robot_name, mapping_path = sys.argv[1:5]
    os.nice(LOW_PRIORITY)
    try:
        with open_bag(Path(path)) as bag:
            if export == "csv":
                write_table(bag, sys.stdout)
            else:
                robot = load(robot_name).robot
                write_replay(bag, robot, load_mapping(mapping_path, robot), sys.stdout)
    except (BagError, FileError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return INVALID_INPUT
    return DONE


if __name__ == "__main__":
    sys.exit(main())
