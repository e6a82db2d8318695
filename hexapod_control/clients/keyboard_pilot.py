"""Drives a robot by keyboard and shows its state in a status line."""

from __future__ import annotations

from rclpy.task import Future

from hexapod_control.clients.bounded_wait import MAX_ANSWER
from hexapod_control.clients.keyboard_map import KeyboardMap
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.clients.robot_search import why_no_robot
from hexapod_control.clients.terminal import Terminal
from hexapod_control.core.kinematics.se2 import ZERO
from hexapod_control.core.names import shortened


class KeyboardPilot:
    """Drives a robot client by the keys typed into a terminal; `step` is called periodically."""

    def __init__(self, robot: RobotClient, terminal: Terminal) -> None:
        self._robot = robot
        self._terminal = terminal
        self._keyboard = KeyboardMap()
        self._responses: list[tuple[str, Future]] = []  # by service

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
        self._show_refusals()
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
            if robot.has_service(request):
                self._responses.append((request, robot.request(request)))
            else:
                found = robot.has_listener
                reason = "is gait_planner running?" if found else why_no_robot(robot.robot_namespace)
                self._terminal.line(f"{request}: the service is not available; {reason}")

    def _show_refusals(self) -> None:
        for request, response in self._responses:
            if response.done() and not response.result().success:
                self._terminal.line(f"{request} was refused: {shortened(response.result().message, MAX_ANSWER)}")
        self._responses = [(request, response) for request, response in self._responses if not response.done()]

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
