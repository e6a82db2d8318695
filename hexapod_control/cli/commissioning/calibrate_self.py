"""`hexapod calibrate-self`: the robot stands on its own feet, measures its joint zeros and lengths, and writes them."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path

from hexapod_control.cli.bounded_options import CommandFailedError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.bus_access import Interrupted, interruptions
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import own_file
from hexapod_control.config.sentence import Sentence
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.calibration.self_calibration import NotCalibratedError, SelfCalibration, undo
from hexapod_control.servos.commissioning.stages import StageError
from hexapod_control.servos.settings.servo_section import ServoSettings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="FILE", help="your robot file")
    bus_access.add_bus_arguments(parser)
    parser.add_argument("--undo", action="store_true", help="put the robot file back to before the last one")


def run(args: argparse.Namespace) -> int:
    """Runs the dialog. Returns 0 if written or undone, 1 if not, 128 + number of the signal that ended it."""
    path = own_file(args.robot)
    dialog = TerminalDialog()
    try:
        with interruptions():
            if args.undo:
                print(undo(path, dialog), flush=True)
                return DONE
            settings = bus_access.bus_settings(args, load(path))
            calibration = SelfCalibration(lambda: load(path), lambda: settings, _record, dialog)
            print(calibration.run(), flush=True)
    except (NotCalibratedError, StageError) as error:
        raise CommandFailedError(f"{Sentence.of(error)}; {Sentence('self_nothing_written')}") from None
    except (Abandoned, Interrupted) as end:
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(f"\n{Sentence('self_nothing_written')}", flush=True)
        return end.exit_code if isinstance(end, Interrupted) else FAILED
    return DONE


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
