"""Inputs of the set-up steps: facts about the system, the user and the robot file; and the findings of a step."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from hexapod_control.bringup.installation.boot_files import PI_MODELS, PiModel, pi_model
from hexapod_control.bringup.installation.change_record import FileEdit
from hexapod_control.bringup.installation.system_root import SystemRoot
from hexapod_control.config.errors import ArgumentError
from hexapod_control.config.robots.robot_file import load
from hexapod_control.servos.settings.io_section import BUS, I2C_SERVOS, IoSettings, io_settings
from hexapod_control.servos.settings.servo_section import ServoSettings, servo_settings

MODEL = "/proc/device-tree/model"
_PLAIN_PATH = re.compile(r"/[\w./+-]+")  # systemd would split any other path at special characters
UART = re.compile(r"/dev/(ttyAMA|ttyS|serial)\d+")


class StepState(Enum):
    """Result of the check of a set-up step."""

    RIGHT = "right"
    WRONG = "wrong"
    BY_HAND = "by hand"  # wrong, and this program cannot correct it
    NOT_NEEDED = "not needed"


class StepFinding(NamedTuple):
    """State of one step, the reason, and the edits and commands that correct it."""

    state: StepState
    reason: str
    edits: tuple[FileEdit, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()  # on the running system, after the edits


@dataclass(frozen=True, slots=True)
class SetupFacts:
    """The system below a root folder, and the needs of the robot."""

    root: SystemRoot
    user: str
    robot: str  # path of the robot file, as seen from within the root
    workspace: str
    pi: PiModel | None
    servos: ServoSettings
    io: IoSettings

    @property
    def buses(self) -> set[str]:
        """Paths of the I2C buses that the robot uses."""
        found = {self.servos.port} if self.servos.protocol == I2C_SERVOS else set()
        return found | ({self.io.bus} if any(self.io.devices()) else set())

    @property
    def other_buses(self) -> str:
        """Buses other than that of pins 3 and 5, which need their own overlay."""
        return ", ".join(sorted(self.buses - {BUS}))

    @property
    def uart(self) -> str:
        """The UART of the computer to which the servos are wired; empty: they are on USB or I2C."""
        return self.servos.port if UART.fullmatch(self.servos.port) else ""

    @property
    def has_switches(self) -> bool:
        """Whether foot switches are on pins of the computer."""
        return self.io.feet is not None and self.io.feet.chip == "gpio"


def right(reason: str) -> StepFinding:
    """Finding: nothing to do."""
    return StepFinding(StepState.RIGHT, reason)


def not_needed(reason: str) -> StepFinding:
    """Finding: not needed by this robot."""
    return StepFinding(StepState.NOT_NEEDED, reason)


def by_hand(reason: str) -> StepFinding:
    """Finding: to be done by the user."""
    return StepFinding(StepState.BY_HAND, reason)


def wrong(reason: str, *edits: FileEdit, commands: tuple[tuple[str, ...], ...] = ()) -> StepFinding:
    """Finding: to be corrected by these edits and commands."""
    return StepFinding(StepState.WRONG, reason, edits, commands)


def gather(root: SystemRoot, user: str, robot: str, workspace: str, pi: str, port: str = "") -> SetupFacts:
    """Collects the facts; empty `robot` and `workspace`: robot.yaml and ws in the user's home; empty `pi`: this Pi.

    `port` replaces that of the robot file, which has none before the calibration. Raises ArgumentError, RobotFileError.
    """
    accounts = {
        fields[0]: fields for line in root.text("/etc/passwd").splitlines() if len(fields := line.split(":")) == 7
    }
    if user not in accounts:
        raise ArgumentError(
            "user", f"{user}, has no account in {root.local_path('/etc/passwd')}", "name one with --user"
        )
    home = accounts[user][5]
    paths = {"robot": robot or f"{home}/robot.yaml", "workspace": workspace or f"{home}/ws"}
    for name, path in paths.items():
        if not _PLAIN_PATH.fullmatch(path):
            raise ArgumentError(name, path, "must be an absolute path of letters, digits and . / + - _", "rename it")
    file = load(root.local_path(root.real(paths["robot"])))
    model = PI_MODELS[pi] if pi else pi_model(root.text(MODEL))
    servos = servo_settings(file)
    servos = replace(servos, port=port) if port else servos
    return SetupFacts(root, user, **paths, pi=model, servos=servos, io=io_settings(file))
