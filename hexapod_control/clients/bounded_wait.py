# SPDX-License-Identifier: Apache-2.0
"""Waits for a running robot with a time limit; the user can end every wait."""

from __future__ import annotations

import time
from collections.abc import Callable

from hexapod_control.bringup.process_supervisor import StopSignal
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.clients.robot_search import why_no_robot
from hexapod_control.config.errors import RobotError

POLL_S = 0.02
SERVICE_TIMEOUT_S = 3.0
ARMING_S = 20.0  # time limit for arming: the registers of all servos are read first, then the torque comes leg by leg
DISCOVERY_S = 5.0  # time limit for the discovery of a running robot
POSTURE_S = 20.0  # time limit for standing up, for sitting down, and for coming to rest


class EndRequested(Exception):  # noqa: N818 - no error: the user wants to end
    """SIGINT, SIGTERM or SIGHUP has arrived."""


def drive_limit(planned: float) -> float:
    """Time limit [s] of a drive that is `planned` to take so long [s]: a busy machine may be four times slower."""
    return 4.0 * planned + 5.0


def wait_until(condition: Callable[[], bool], seconds: float, spin: Callable[[float], None]) -> bool:
    """Spins until a condition holds, at most `seconds` [s]. Returns True if it holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        spin(POLL_S)
    return True


class BoundedWait:
    """Waits on one robot client. Every method raises EndRequested when the user wants to end."""

    def __init__(self, robot: RobotClient, stop: StopSignal, check: Callable[[], None] = lambda: None) -> None:
        """`check` is called after every spin and may raise, e.g. because a node has died."""
        self._robot = robot
        self._stop = stop
        self._check = check

    def spin(self, seconds: float = POLL_S) -> None:
        """Receives messages and sends the command for a time [s]."""
        self._robot.spin(seconds)
        self._check()
        if self._stop.is_set():
            raise EndRequested

    def until(self, condition: Callable[[], bool], seconds: float, failure: str) -> None:
        """Waits for a condition, at most `seconds` [s]. Raises RobotError with the text `failure`."""
        if not wait_until(condition, seconds, self.spin):
            raise RobotError(failure)

    def until_robot(self, condition: Callable[[], bool], seconds: float, action: str) -> None:
        """As `until`; `action` completes "the robot did not ...", and the error includes gait_state."""
        if not wait_until(condition, seconds, self.spin):
            state = self._robot.state or "none"
            raise RobotError(f"the robot did not {action} within {seconds:g} s (gait_state: {state})")

    def until_ready(self, seconds: float, hint: str = "") -> None:
        """Waits until all topics and services of the robot are available. Raises RobotError with the missing ones."""
        if not wait_until(lambda: not self._robot.missing(), seconds, self.spin):
            missing = ", no ".join(self._robot.missing())
            found = hint if self._robot.has_listener else f"; {why_no_robot(self._robot.robot_namespace)}"
            raise RobotError(f"the robot is not ready after {seconds:g} s: no {missing}{found}")

    def request(self, name: str, seconds: float = SERVICE_TIMEOUT_S) -> None:
        """Makes one of the requests of `operator_requests` and waits for its end, at most `seconds` [s].

        Raises RobotError if it is refused.
        """
        request = self._robot.request(name)
        self.until_robot(lambda: request.success is not None, seconds, f"answer to {name}")
        if not request.success:
            raise RobotError(f"{name} was refused: {request.answer}")

    def stand(self, seconds: float) -> None:
        """Requests to stand and waits until the robot stands and can walk."""
        self.request("stand")
        self.until_standing(seconds)

    def until_standing(self, seconds: float) -> None:
        """Waits until the robot stands and can walk."""
        robot = self._robot
        self.until_robot(lambda: robot.state == "standing" and max(robot.maxima) > 0.0, seconds, "stand up")
