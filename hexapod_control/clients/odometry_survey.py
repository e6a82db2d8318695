"""The drive of `hexapod odom-calibrate`: so far ahead and so far round by odom, over the running graph."""

from __future__ import annotations

import argparse
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nav_msgs.msg import Odometry
from rclpy.parameter_client import AsyncParameterClient

from hexapod_control.bringup.process_supervisor import StopSignal, stop_requests
from hexapod_control.clients.connection_options import ConnectionOptions, link
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.config.errors import RobotFileError
from hexapod_control.config.robots.odometry_scale import odometry_scale
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, wrap
from hexapod_control.ros import messages
from hexapod_control.ros.qos import EVENTS

POLL = 0.02  # [s]
READY, POSTURE, ANSWER = 20.0, 20.0, 3.0  # [s]
SLOW = 4.0  # times as long as planned a drive may take
STILL = 0.5  # [s] of standing without a change of odom
SPEED, RATE, SHARE = 0.08, 0.4, 0.6  # [m/s], [rad/s] at most; of what the robot can do
SAME = 1e-4  # [m, rad]

ENDED = "ended before all was measured; nothing was written"

Ask = Callable[[str, float, float | None], float]
"""Name, value by odometry [m or deg], value given if any -> what it really was."""


class RobotDidNot(RuntimeError):  # noqa: N818 - told to the user
    """The robot did not do its part; one sentence."""


class SurveyClient(RobotClient):
    """An operator who knows how far the robot has gone by odom."""

    def __init__(self, link: ConnectionOptions) -> None:
        super().__init__(link)
        self.pose: Pose | None = None
        self.turned = 0.0  # [rad] since the node started
        self._parameters = AsyncParameterClient(self._node, "odometry")
        self._node.create_subscription(Odometry, "odom", self._take, EVENTS)

    def _take(self, message: Any) -> None:
        place = message.pose.pose
        pose = Pose(place.position.x, place.position.y, messages.roll_pitch_yaw(place.orientation)[2])
        self.turned += wrap(pose.yaw - self.pose.yaw) if self.pose else 0.0
        self.pose = pose

    def missing(self) -> list[str]:
        """What of the robot is not there yet."""
        return [*super().missing(), *([] if self.pose else ["odom"])]

    def settings(self) -> Any:
        """A future of mode and robot of the odometry node, None if it does not answer."""
        if not self._parameters.services_are_ready():
            return None
        return self._parameters.get_parameters(["mode", "robot"])


class OdometrySurvey:
    """Waiting with a bound, on one robot. Everything raises Failed."""

    def __init__(self, surveyor: SurveyClient, asked: StopSignal) -> None:
        self._robot, self._asked = surveyor, asked

    def until(self, condition: Callable[[], bool], seconds: float, what: str) -> None:
        """Waits at most so long [s]; `what` completes "the robot did not ..."."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                state = self._robot.state or "none"
                raise RobotDidNot(f"the robot did not {what} within {seconds:g} s (gait_state: {state})")
            self._pump()

    def _pump(self) -> None:
        self._robot.spin(POLL)
        if self._asked.is_set():
            raise RobotDidNot(ENDED)

    def stand(self) -> None:
        """Waits for the robot and brings it to its feet."""
        robot, deadline = self._robot, time.monotonic() + READY
        while missing := robot.missing():
            if time.monotonic() > deadline:
                raise RobotDidNot(f"the robot is not ready after {READY:g} s: no {', no '.join(missing)}; does it run?")
            self._pump()
        if robot.state != "standing":
            answer = robot.request("stand")
            self.until(answer.done, ANSWER, "answer to stand")
            if not answer.result().success:
                raise RobotDidNot(f"stand was refused: {answer.result().message}")
        self.until(lambda: robot.state == "standing" and max(robot.maxima) > 0.0, POSTURE, "stand")

    def settings(self) -> tuple[str, str]:
        """Mode and robot of the running odometry; empty if it does not tell."""
        future = self._robot.settings()
        if future is None:
            return "", ""
        self.until(future.done, ANSWER, "tell the parameters of its odometry")
        mode, robot = future.result().values
        return mode.string_value, robot.string_value

    def drive(self, twist: Twist, goal: float) -> tuple[float, float]:
        """Drives until odom says so far [m or rad], stops and returns (way [m], turn [rad]) by odom."""
        robot = self._robot
        start, turned = robot.pose, robot.turned
        assert start is not None

        def gone() -> tuple[float, float]:
            assert robot.pose is not None
            return math.dist(start[:2], robot.pose[:2]), abs(robot.turned - turned)

        axis = 0 if twist.vx else 1
        robot.twist = twist
        robot.send()
        try:
            self.until(lambda: gone()[axis] >= goal, SLOW * goal / max(map(abs, twist)) + 5.0, "get that far")
        finally:
            robot.twist = ZERO
            robot.send()
        self._still()
        return gone()

    def _still(self) -> None:
        """Waits until the feet are down and odom says the same for a while."""
        robot, since, last = self._robot, time.monotonic(), self._robot.pose

        def still() -> bool:
            nonlocal since, last
            assert robot.pose is not None and last is not None
            moved = max(abs(a - b) for a, b in zip(robot.pose, last, strict=True))
            if robot.state != "standing" or moved > SAME:
                since, last = time.monotonic(), robot.pose
            return time.monotonic() - since >= STILL

        self.until(still, POSTURE, "come to rest")


def survey(args: argparse.Namespace, path: Path, ask: Ask) -> dict[str, float]:
    """Drives and asks. Returns the new factors by name. Raises Failed."""
    with stop_requests() as asked, SurveyClient(link(args)) as surveyor:
        drives = OdometrySurvey(surveyor, asked)
        print(f"the robot walks {args.distance:g} m ahead and turns {args.turn:g} deg to the left", flush=True)
        drives.stand()
        mode, robot = drives.settings()
        far, round_ = _in_force(robot, path)
        way, _ = drives.drive(Twist(min(SPEED, SHARE * surveyor.maxima.vx), 0.0, 0.0), args.distance)
        factors = {"distance": far * _asked(ask, "distance", way, args.measured_distance) / way}
        if mode == "legs_imu":
            print("the odometry runs in mode legs_imu, whose turns are those of the IMU: only distance is measured")
            return factors
        rate = min(RATE, SHARE * surveyor.maxima.wz)
        _, turn = drives.drive(Twist(0.0, 0.0, rate), math.radians(args.turn))
        turn = math.degrees(turn)
        return {**factors, "turn": round_ * _asked(ask, "turn", turn, args.measured_turn) / turn}


def _in_force(robot: str, path: Path) -> tuple[float, float]:
    """The factors the running odometry multiplies with: those of its robot file, if that can be read here."""
    try:
        return odometry_scale(load(robot or path))
    except RobotFileError:
        return odometry_scale(load(path))


def _asked(ask: Ask, name: str, told: float, given: float | None) -> float:
    """Asks; here Ctrl-C ends the question."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return ask(name, told, given)
    except (KeyboardInterrupt, EOFError):
        raise RobotDidNot(ENDED) from None
    finally:
        signal.signal(signal.SIGINT, before)
