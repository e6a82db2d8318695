# SPDX-License-Identifier: Apache-2.0
"""`hexapod identify`: the robot on its stand measures its servos, and writes what it found into its robot file."""

from __future__ import annotations

import argparse
from pathlib import Path

from hexapod_control.cli.servos import bus_access, measurement
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.identification import (
    IdentificationDialog,
    NotIdentifiedError,
    StandRecorder,
    require_reported,
)

add_arguments = measurement.add_arguments


def run(args: argparse.Namespace) -> int:
    """Runs the measurement. Returns the exit code. Raises CommandFailedError."""

    def measure(path: Path, dialog: TerminalDialog) -> Sentence:
        file = load(path)
        settings = bus_access.bus_settings(args, file)
        require_reported(settings)
        with bus_access.open_bus(settings, force_model=args.force_model) as bus, bus_access.at_work():
            bus_access.check_models(bus, bus_access.scan(bus, settings.ids))
            jogger = bus_access.servo_jogger(bus, settings, file, args.pace)
            recorder = StandRecorder(bus, jogger, file.robot, settings.joints, progress=_show)
            return IdentificationDialog(file, settings, recorder, dialog).run()

    return measurement.run(args, measure, (NotIdentifiedError,))


def _show(share: float) -> None:
    bus_access.show_progress(f"{100.0 * share:.0f} %" if share < 1.0 else "")
