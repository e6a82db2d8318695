"""A person at the keyboard and the robot: keys to commands, and the line that says how it goes."""

from __future__ import annotations

from typing import Any

from hexapod_control.clients.keyboard_map import KeyboardMap
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.clients.terminal import Terminal
from hexapod_control.core.kinematics.se2 import ZERO


class KeyboardPilot:
    """Drives the operator by what is typed into the terminal."""

    def __init__(self, operator: RobotClient, terminal: Terminal) -> None:
        self._operator, self._terminal = operator, terminal
        self._keyboard = KeyboardMap()
        self._answers: list[tuple[str, Any]] = []

    def look(self) -> bool:
        """Takes the keys pressed since the last look. True if the velocity asked for is another one. Raises Gone."""
        operator, keyboard = self._operator, self._keyboard
        before = operator.twist
        keyboard.gaits = operator.gaits
        for request in keyboard.type(self._terminal.read()):
            self._request(request)
        twist = keyboard.twist(operator.maxima)
        if twist != operator.twist:
            operator.twist = twist
            operator.send()
        self._hear()
        self._terminal.status(self.status())
        return twist != before

    def _request(self, request: str) -> None:
        operator = self._operator
        if request == "pose":
            operator.lean(self._keyboard.pose)
        elif request.startswith("gait "):
            operator.change_gait(request.removeprefix("gait "))
        else:
            operator.twist = ZERO
            operator.send()
            if operator.ready(request):
                self._answers.append((request, operator.request(request)))
            else:
                self._terminal.line(f"{request}: nobody offers that; is gait_planner running?")

    def _hear(self) -> None:
        """Passes refusals on."""
        for request, answer in self._answers:
            if answer.done() and not answer.result().success:
                self._terminal.line(f"{request} was refused: {answer.result().message}")
        self._answers = [(request, answer) for request, answer in self._answers if not answer.done()]

    def status(self) -> str:
        """State, gait, velocity asked for and who drives, in one line."""
        operator = self._operator
        if not operator.state:
            return "no robot is heard" if not operator.heard else "the robot has not said how it is"
        vx, vy, wz = operator.twist
        driver = "" if operator.source in ("", "none") else f"  driven by {operator.source}"
        return (
            f"{operator.state:9} {operator.gait:9} x {vx:+.3f} y {vy:+.3f} m/s  turn {wz:+.2f} rad/s  "
            f"speed {100.0 * self._keyboard.speed:3.0f} %{driver}"
        )
