# SPDX-License-Identifier: Apache-2.0
"""`hexapod calibrate-self`: the robot stands on its own feet, measures its joint zeros and lengths, and writes them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hexapod_control.cli.servos import bus_access, measurement
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.sentence import Sentence
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.servos.calibration.self_calibration import NotCalibratedError, SelfCalibration
from hexapod_control.servos.commissioning.stages import StageError
from hexapod_control.servos.settings.servo_section import ServoSettings

add_arguments = measurement.add_arguments


def run(args: argparse.Namespace) -> int:
    """Runs the dialog. Returns the exit code. Raises CommandFailedError."""

    def measure(path: Path, dialog: TerminalDialog) -> Sentence:
        settings = bus_access.bus_settings(args, load(path))
        return SelfCalibration(lambda: load(path), lambda: settings, _record, dialog).run()

    return measurement.run(args, measure, (NotCalibratedError, StageError))


def _record(path: Path, settings: ServoSettings, tour: PoseTour) -> None:
    """Takes the robot through a tour. Only this imports ROS."""
    use_venv_prefix()
    from hexapod_control.cli.commissioning.first_drive import tour_with

    count = len(tour.poses)
    try:
        tour_with(path, settings, tour, lambda done: bus_access.show_progress(f"{done} of {count} poses"))
    finally:
        bus_access.show_progress("")
    print(Sentence("self_poses", done=len(tour.measured), count=count), file=sys.stderr, flush=True)
