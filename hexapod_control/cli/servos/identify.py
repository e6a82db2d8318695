"""`hexapod identify`: the robot on its stand measures its servos, and writes what it found into its robot file."""

from __future__ import annotations

import argparse
import contextlib

from hexapod_control.cli.bounded_options import CommandFailedError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.bus_access import Interrupted, interruptions
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots.robot_file import load
from hexapod_control.config.section_writer import own_file
from hexapod_control.config.sentence import Sentence
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.calibration.identification import (
    IdentificationDialog,
    NotIdentifiedError,
    StandRecorder,
    require_reported,
)
from hexapod_control.servos.calibration.self_calibration import undo


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="FILE", help="your robot file")
    bus_access.add_bus_arguments(parser)
    parser.add_argument("--undo", action="store_true", help="put the robot file back to before the last measurement")


def run(args: argparse.Namespace) -> int:
    """Runs the measurement. Returns 0 if written or undone, 1 if not, 128 + number of the signal that ended it."""
    path = own_file(args.robot)
    dialog = TerminalDialog()
    try:
        with interruptions():
            if args.undo:
                print(undo(path, dialog), flush=True)
                return DONE
            file = load(path)
            settings = bus_access.bus_settings(args, file)
            require_reported(settings)
            with bus_access.open_bus(settings, force_model=args.force_model) as bus, bus_access.at_work():
                bus_access.check_models(bus, bus_access.scan(bus, settings.ids))
                jogger = bus_access.servo_jogger(bus, settings, file, args.pace)
                recorder = StandRecorder(bus, jogger, file.robot, settings.joints, progress=_show)
                print(IdentificationDialog(file, settings, recorder, dialog).run(), flush=True)
    except NotIdentifiedError as error:
        raise CommandFailedError(str(error)) from None
    except (Abandoned, Interrupted) as end:
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(f"\n{Sentence('self_nothing_written')}", flush=True)
        return end.exit_code if isinstance(end, Interrupted) else FAILED
    return DONE


def _show(share: float) -> None:
    bus_access.show_progress(f"{100.0 * share:.0f} %" if share < 1.0 else "")
