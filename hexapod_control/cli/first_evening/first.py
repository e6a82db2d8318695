"""`hexapod first`: leads through the first evening with a robot, from the stand to a slow walk."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from hexapod_control.cli.input_error import InputError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.interruption import Interrupted, interruptions
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.section_writer import own_file
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGone
from hexapod_control.servos.bus.serial_port import BY_ID, SerialPort
from hexapod_control.servos.calibration.assign_ids import USUAL_IDS
from hexapod_control.servos.calibration.dialog import Abandoned
from hexapod_control.servos.first_evening.first_session import FirstSession
from hexapod_control.servos.first_evening.pictured_dialog import PicturedDialog
from hexapod_control.servos.first_evening.progress_file import FirstProgressFile
from hexapod_control.servos.first_evening.stage_actions import StageActions
from hexapod_control.servos.first_evening.stages import BY_KEY, StageMachine, report
from hexapod_control.servos.line_search.line_sweep import LineFinding, sweep
from hexapod_control.servos.settings.servo_section import ServoSettings

PORTS = ("ttyUSB*", "ttyACM*", "i2c-[0-9]")
UNFINISHED = 1  # exit code


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="FILE", help="your robot file, as made by hexapod new or copied from a kit")
    bus_access.add_bus_arguments(parser)
    parser.add_argument("--stage", choices=tuple(BY_KEY), help="stage to repeat first (default: the first open one)")


def run(args: argparse.Namespace) -> int:
    """Runs the dialog. Returns 0 all done, 1 to go on another time, 2 bad input, 128 + number of a signal."""
    path = own_file(args.robot)
    hardware = RobotHardware(path, force_model=args.force_model)
    file = FirstProgressFile(path)
    progress = file.read()
    dialog = PicturedDialog(TerminalDialog(), load(path).robot)
    machine = StageMachine(progress)
    if args.stage:
        machine.repeat(args.stage)
    given = (args.protocol, args.port, args.baud)
    acts = StageActions(lambda: load(path), given, progress, hardware, dialog, args.pace)
    try:
        with interruptions():
            FirstSession(machine, acts.by_key, dialog, file).run()
    except (Abandoned, Interrupted) as end:
        with contextlib.suppress(OSError):  # the terminal may be gone
            print(f"\n{len(progress.done)} of {len(BY_KEY)} stages are done: the same command goes on", flush=True)
        return end.exit_code if isinstance(end, Interrupted) else UNFINISHED
    _finish(path, report(progress, path.name, _next_time(path)))
    return 0


def _next_time(path: Path) -> str:
    return f"ros2 launch hexapod_control bringup.launch.py robot:={path} web:=true"


def _finish(path: Path, text: str) -> None:
    target = path.with_name(f"{path.stem}.first-evening.md")
    target.write_text(text, encoding="utf-8")
    print(f"\nThe robot walks.\nrobot file: {path}\nreport:     {target}\nNext time:\n  {_next_time(path)}")


class RobotHardware:
    """The ports of this computer, and the programs of the robot."""

    def __init__(self, path: Path, *, force_model: bool) -> None:
        self._path, self._force = path, force_model

    @contextlib.contextmanager
    def open(self, settings: ServoSettings) -> Iterator[Bus]:
        """An open bus. Raises BusError."""
        try:
            with bus_access.open_bus(settings, force_model=self._force) as bus:
                yield bus
        except InputError as error:
            raise BusError(str(error)) from None

    def ports(self) -> Sequence[str]:
        """Stable names first."""
        named = sorted(map(str, BY_ID.iterdir())) if BY_ID.exists() else []
        return named or sorted(str(port) for pattern in PORTS for port in Path("/dev").glob(pattern))

    def findings(self, port: str) -> Sequence[LineFinding]:
        """What answers at a port. Raises PortGone with its reason."""
        try:
            return list(sweep(lambda baud: SerialPort(port, baud), USUAL_IDS))
        except PortGone as error:
            raise BusError(str(error)) from None

    def drive(self, settings: ServoSettings, what: str) -> str:
        """Starts the nodes; ROS is imported only here."""
        os.environ.setdefault("AMENT_PREFIX_PATH", sys.prefix)  # nothing else sets it in a venv
        from hexapod_control.cli.first_evening.first_drive import drive

        file: RobotFile = load(self._path)
        return drive(file, settings, what)
