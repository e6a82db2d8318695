"""Drives a robot by keyboard and shows its state in a status line."""

from __future__ import annotations

from hexapod_control.clients.keyboard_map import KeyboardMap
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.clients.robot_search import why_no_robot
from hexapod_control.clients.service_request import ServiceRequest
from hexapod_control.clients.terminal import Terminal
from hexapod_control.core.kinematics.se2 import ZERO


class KeyboardPilot:
    """Drives a robot client by the keys typed into a terminal; `step` is called periodically."""

    def __init__(self, robot: RobotClient, terminal: Terminal) -> None:
        self._robot = robot
        self._terminal = terminal
        self._keyboard = KeyboardMap()
        self._requests: list[ServiceRequest] = []  # without an answer yet

    def step(self) -> bool:
        """Handles the keys pressed since the last call. Returns True if the commanded velocity changed.

        Raises TerminalClosed.
        """
        robot, keyboard = self._robot, self._keyboard
        before = robot.twist
        keyboard.gaits = robot.gaits
        for request in keyboard.type(self._terminal.read()):
            self._request(request)
        twist = keyboard.twist(robot.maxima)
        if twist != robot.twist:
            robot.twist = twist
            robot.send()
        self._show_answers()
        self._terminal.status(self.status())
        return twist != before

    def _request(self, request: str) -> None:
        robot = self._robot
        if request == "pose":
            robot.request_pose(self._keyboard.pose)
        elif request.startswith("gait "):
            robot.request_gait(request.removeprefix("gait "))
        else:
            robot.twist = ZERO
            robot.send()
            self._requests.append(robot.request(request))

    def _show_answers(self) -> None:
        robot = self._robot
        for request in self._requests:
            if request.success is False:
                reason = "" if robot.has_listener else f"; {why_no_robot(robot.robot_namespace)}"
                self._terminal.line(f"{request.name} was refused: {request.answer}{reason}")
            elif request.success and request.name in ("estop", "rearm"):  # the status line does not show the torque
                self._terminal.line(request.answer)
        self._requests = [request for request in self._requests if request.success is None]

    def status(self) -> str:
        """State, gait, commanded velocity and the source that drives, in one line."""
        robot = self._robot
        if not robot.state:
            return "no gait_state yet from the robot" if robot.has_listener else "no robot found"
        if robot.state == "sitting" and robot.twist.is_zero:
            return "sitting: press t to stand up, then a direction to walk"
        vx, vy, wz = robot.twist
        driver = "" if robot.source in ("", "none") else f"  driven by {robot.source}"
        return (
            f"{robot.state:9} {robot.gait:9} x {vx:+.3f} y {vy:+.3f} m/s  turn {wz:+.2f} rad/s  "
            f"speed {100.0 * self._keyboard.speed:3.0f} %{driver}"
        )
