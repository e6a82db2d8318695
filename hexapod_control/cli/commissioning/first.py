# SPDX-License-Identifier: Apache-2.0
"""`hexapod first`: leads through the first evening with a robot, from the stand to a slow walk."""

from __future__ import annotations

import argparse
import contextlib
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from hexapod_control.cli.bounded_options import InputError
from hexapod_control.cli.servos import bus_access
from hexapod_control.cli.servos.bus_access import Interrupted, interruptions
from hexapod_control.cli.servos.terminal_dialog import TerminalDialog
from hexapod_control.config.errors import DONE, FAILED
from hexapod_control.config.robots.robot_file import RobotFile, load
from hexapod_control.config.section_writer import own_file
from hexapod_control.config.sentence import TEXTS, Sentence
from hexapod_control.config.shipped_files import use_venv_prefix
from hexapod_control.core.calibration.pose_recording import PoseTour
from hexapod_control.servos.bus.bus_interface import Bus, BusError, PortGoneError
from hexapod_control.servos.bus.serial_port import SerialPort
from hexapod_control.servos.calibration.assign_ids import USUAL_IDS
from hexapod_control.servos.calibration.dialog import Abandoned, Dialog
from hexapod_control.servos.commissioning.commissioning_progress_file import CommissioningProgressFile
from hexapod_control.servos.commissioning.commissioning_session import CommissioningSession
from hexapod_control.servos.commissioning.stage_actions import StageActions
from hexapod_control.servos.commissioning.stages import BY_KEY, StageMachine, report
from hexapod_control.servos.i2c.i2c_bus import open_i2c
from hexapod_control.servos.i2c.i2c_port import listed
from hexapod_control.servos.i2c.known_sensors import sensors_on
from hexapod_control.servos.line_search import LineFinding, sweep
from hexapod_control.servos.protocols.pca9685 import BAUD, boards_on
from hexapod_control.servos.settings.io_section import I2C_SERVOS
from hexapod_control.servos.settings.servo_section import ServoSettings

HINT = "Ctrl-C ends it, with the torque off; answers are saved after each question."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments of the subcommand."""
    parser.add_argument("robot", metavar="FILE", help="your robot file, as made by hexapod new or copied from a kit")
    bus_access.add_bus_arguments(parser)
    parser.add_argument("--stage", choices=tuple(BY_KEY), help="stage to repeat first (default: the first open one)")
    parser.add_argument("--page", action="store_true", help="ask on a page in the browser, with pictures and buttons")
    parser.add_argument("--lan", action="store_true", help="open that page to the network, with a QR code for phones")


def run(args: argparse.Namespace) -> int:
    """Runs the dialog. Returns 0 if all is done, 1 to continue later, 2 for bad input, 128 + number of a signal."""
    commissioning = CommissioningRun(args)
    if args.page or args.lan:
        return commissioning.on_page(args.lan)
    return commissioning.run(TerminalDialog(commissioning.robot))


class CommissioningRun:
    """The dialog with one robot file, in a terminal or on a page."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Raises RobotFileError."""
        self._args = args
        self.path = own_file(args.robot)
        self._file = CommissioningProgressFile(self.path)
        self.robot = load(self.path).robot
        self.machine = StageMachine(self._file.read())
        if args.stage:
            self.machine.repeat(args.stage)

    def on_page(self, lan: bool) -> int:
        """Serves the page and runs the dialog for it. Returns the exit code. Raises OSError if no port is free."""
        from hexapod_control.cli.commissioning.first_page import FirstPage
        from hexapod_control.cli.commissioning.page_dialog import PageDialog
        from hexapod_control.web.dialog_pages.request_server import PORT, RequestServer

        dialog = PageDialog(self.robot)
        page = FirstPage(self.path.name, self.robot.leg_names, dialog, self.machine)
        with RequestServer(page.reply, "first", said=TEXTS, lan=lan).in_background(PORT, HINT):
            return self.run(dialog, dialog.check, dialog.sleep, page.end)

    def run(
        self,
        dialog: Dialog,
        check: Callable[[], None] = lambda: None,
        sleep: Callable[[float], None] = time.sleep,
        end: Callable[[Sentence, str, str], None] = lambda text, report, command: None,
    ) -> int:
        """Runs the dialog. Returns the exit code.

        `check` and `sleep` raise TorqueStop if the operator wants the torque off. `end` is called at the end
        with a text, the path of the report, and the command for the next start.
        """
        args = self._args
        progress = self.machine.progress
        hardware = RobotHardware(self.path, check, force_model=args.force_model)
        bus_options = (args.protocol, args.port, args.baud)
        acts = StageActions(lambda: load(self.path), bus_options, progress, hardware, dialog, args.pace, sleep)
        try:
            with interruptions():
                CommissioningSession(self.machine, acts.by_key, acts.relax, dialog, self._file).run()
        except (Abandoned, Interrupted) as stop:
            text = Sentence("evening_interrupted", done=len(progress.done), count=len(BY_KEY))
            with contextlib.suppress(OSError):  # the terminal may be gone
                print(f"\n{text}", flush=True)
            end(text, "", "")
            return stop.exit_code if isinstance(stop, Interrupted) else FAILED
        self._finish(end)
        return DONE

    def _finish(self, end: Callable[[Sentence, str, str], None]) -> None:
        command = f"hexapod robot {shlex.quote(str(self.path))} web:=true"
        target = self.path.with_name(f"{self.path.stem}.first-evening.md")
        target.write_text(report(self.machine.progress, self.path.name, command), encoding="utf-8")
        text = Sentence("robot_walks")
        print(f"\n{text}\nrobot file: {self.path}\nreport:     {target}\nNext time:\n  {command}")
        end(text, str(target), command)


class RobotHardware:
    """The ports of this computer, and the programs of the robot."""

    def __init__(self, path: Path, check: Callable[[], None], *, force_model: bool) -> None:
        """`check` raises TorqueStop if the operator wants the torque off."""
        self._path = path
        self._check = check
        self._force = force_model

    @contextlib.contextmanager
    def open(self, settings: ServoSettings) -> Iterator[Bus]:
        """An open bus. Raises BusError."""
        try:
            with bus_access.open_bus(settings, force_model=self._force) as bus:
                yield bus
        except InputError as error:
            raise BusError(str(error)) from None

    def ports(self) -> Sequence[str]:
        """Ports of this computer, stable names first."""
        return bus_access.ports()

    def boards(self, port: str) -> Sequence[int]:
        """The addresses of the PCA9685 boards on an I2C bus. Raises PortGoneError or BusError."""
        opened = open_i2c(port)
        try:
            return boards_on(opened)
        finally:
            opened.close()

    def chips(self, bus: str) -> Mapping[str, int]:
        """The addresses of the sensors on an I2C bus by the name of their chip; none if it cannot be opened."""
        with contextlib.suppress(PortGoneError, BusError):
            opened = open_i2c(bus)
            try:
                return sensors_on(opened)
            finally:
                opened.close()
        return {}

    def findings(self, port: str) -> Sequence[LineFinding]:
        """The servos and boards that answer at a port. Raises BusError if it cannot be opened or vanishes."""
        try:
            found = [] if "i2c" in port else list(sweep(lambda baud: SerialPort(port, baud), USUAL_IDS))
            return found or self._boards_found(port)
        except PortGoneError as error:
            raise BusError(str(error)) from None

    def _boards_found(self, port: str) -> Sequence[LineFinding]:
        """The PCA9685 boards, if the port is an I2C bus."""
        with contextlib.suppress(PortGoneError):
            if addresses := self.boards(port):
                return [LineFinding(BAUD, I2C_SERVOS, board=f"PCA9685 boards at {listed(addresses)}")]
        return []

    def drive(self, settings: ServoSettings, motion: str) -> Sentence:
        """Starts the nodes and carries out a motion. Returns its line of the report. Only this imports ROS."""
        use_venv_prefix()
        from hexapod_control.cli.commissioning.first_drive import drive

        file: RobotFile = load(self._path)
        return drive(file, settings, motion, check=self._check)

    def tour(self, path: Path, settings: ServoSettings, tour: PoseTour) -> None:
        """Starts the nodes and takes the robot of a file through a tour. Only this imports ROS."""
        use_venv_prefix()
        from hexapod_control.cli.commissioning.first_drive import tour_with

        tour_with(path, settings, tour, lambda done: None, check=self._check)
