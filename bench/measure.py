# SPDX-License-Identifier: Apache-2.0
"""Measures computing time, bus load and walking quality, and prints one JSON document.

`make bench ARGS="tick bus --robot phantomx"`, or `python bench/measure.py` with the same arguments.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from types import FrameType

import numpy as np
from c_kinematics import MissingCompilerError
from chromium import MissingBrowserError

from hexapod_control.bringup.process_supervisor import NodeExitError
from hexapod_control.config.errors import FileError, signal_exit_code
from hexapod_control.config.missing_modules import missing_module
from hexapod_control.config.robots.robot_file import RobotFile, load


@dataclass(frozen=True, slots=True)
class BenchSection:
    """One section of the document, measured by `measure(robot_file, progress)` of a module."""

    module: str  # of this folder
    library: str = ""  # imported first: without ROS, rclpy is reported as missing and not a message package


SECTIONS = {
    "tick": BenchSection("planner_tick"),
    "kinematics": BenchSection("batch_kinematics"),
    "footholds": BenchSection("footholds"),
    "graph": BenchSection("graph_load", "rclpy"),
    "one_process": BenchSection("one_process_load", "rclpy"),
    "robots": BenchSection("many_robots", "rclpy"),
    "bus": BenchSection("bus_load"),
    "learning": BenchSection("learning_speed", "gymnasium"),
    "web": BenchSection("page_load", "rclpy"),
    "physics": BenchSection("flat_ground", "mujoco"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints. Returns 1 if a section failed, 0 if all are measured or skipped, 2 for an unknown robot."""
    parser = argparse.ArgumentParser(prog="bench/measure.py", description=__doc__)
    text = f"what to measure: {', '.join(SECTIONS)} (default: all)"
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=text)
    parser.add_argument("--robot", default="phantomx", metavar="NAME|FILE", help="robot (default: %(default)s)")
    args = parser.parse_args(arguments)
    for name in args.sections:
        if name not in SECTIONS:
            parser.error(f"SECTION: must be one of {', '.join(SECTIONS)}, is {name!r}")
    try:
        robot_file = load(args.robot)
    except FileError as error:
        parser.error(str(error))
    signal.signal(signal.SIGTERM, _end)  # so that no process stays paused
    found: dict[str, object] = {"machine": machine(), "robot": robot_file.robot.name}
    failed = False
    for name in SECTIONS:
        if name in (args.sections or SECTIONS):
            part = section(name, robot_file)
            failed |= any(isinstance(value, dict) and "failed" in value for value in part.values())
            found |= part
    print(json.dumps(found, indent=2, sort_keys=True, allow_nan=False))
    return int(failed)


def section(name: str, robot_file: RobotFile) -> dict[str, object]:
    """Measures one section. Returns its figures, or why it was skipped or failed."""
    try:
        return _measured(SECTIONS[name], robot_file)
    except (MissingCompilerError, MissingBrowserError) as error:
        reason = {"skipped": str(error)}
    except ModuleNotFoundError as error:
        missing = missing_module(error)
        if missing is None:
            raise
        reason = {"skipped": missing}
    except subprocess.CalledProcessError as error:
        reason = {"failed": f"the C compiler failed: {error.stderr.strip()}"}
    except (NodeExitError, RuntimeError, ValueError) as error:
        reason = {"failed": str(error)}
    _report(f"{name}: {next(iter(reason))}: {next(iter(reason.values()))}")
    return {name: reason}


def _measured(chosen: BenchSection, robot_file: RobotFile) -> dict[str, object]:
    if chosen.library:
        import_module(chosen.library)
    module = import_module(chosen.module)
    found: dict[str, object] = module.measure(robot_file, _report)
    return found


def machine() -> dict[str, object]:
    """The computer on which the figures were measured, with its load [processes] of the last 1, 5 and 15 minutes."""
    return {
        "architecture": platform.machine(),
        "cpus": len(os.sched_getaffinity(0)),
        "load": [round(value, 2) for value in os.getloadavg()],
        "numpy": np.__version__,
        "python": platform.python_version(),
        "system": platform.system(),
    }


def _report(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _end(number: int, frame: FrameType | None) -> None:
    sys.exit(signal_exit_code(number))


if __name__ == "__main__":
    sys.exit(main())
