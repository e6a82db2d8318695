# SPDX-License-Identifier: Apache-2.0
"""The drives of `hexapod odom-calibrate` with a running robot: straight ahead, then a rotation, both by odometry."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from nav_msgs.msg import Odometry
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future

from hexapod_control.bringup.process_supervisor import StopSignal, stop_requests
from hexapod_control.clients.bounded_wait import (
    POSTURE_S,
    SERVICE_TIMEOUT_S,
    BoundedWait,
    EndRequested,
    drive_limit,
)
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.config.errors import RobotError, RobotFileError
from hexapod_control.config.robots.robot_file import load, odometry_scale
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, wrap
from hexapod_control.core.sensing.odometry import WITH_IMU
from hexapod_control.ros import messages
from hexapod_control.ros.qos import EVENTS

READY_S = 20.0  # time limit for all topics and services to be available
REST_TIME_S = 0.5  # without a change of odom, until the robot counts as at rest
MAX_SPEED = 0.08  # [m/s]
MAX_YAW_RATE = 0.4  # [rad/s] of a drive
SPEED_SHARE = 0.6  # largest share of the maximum speed of the robot
REST_TOLERANCES = (1e-4, 1e-4, 3e-3)  # [m, m, rad] changes of odom that still count as rest: an IMU's heading drifts

ENDED = "ended before everything was measured; nothing was written"

Ask = Callable[[str, float], float]
"""(name, value by odometry [m or deg]) -> measured value."""


class SurveyDrives(NamedTuple):
    """The drives of a survey, by odometry."""

    distance: float  # [m] ahead
    turn: float  # [deg] to the left


class SurveyClient(RobotClient):
    """A robot client that sums up the rotation by odometry and reads the parameters of the node odometry."""

    def __init__(self, options: ConnectionOptions) -> None:
        super().__init__(options)
        self.pose: Pose | None = None
        self.turned = 0.0  # [rad] since the node started
        self._parameters = AsyncParameterClient(self._node, "odometry")
        self._node.create_subscription(Odometry, "odom", self._on_odometry, EVENTS)

    def _on_odometry(self, message: Odometry) -> None:
        pose = messages.planar_pose(message.pose.pose)
        self.turned += wrap(pose.yaw - self.pose.yaw) if self.pose else 0.0
        self.pose = pose

    def missing(self) -> list[str]:
        """Topics and services that are not available yet."""
        return [*super().missing(), *([] if self.pose else ["odom"])]

    def settings(self) -> Future | None:
        """Requests the parameters `mode` and `robot` of odometry. Returns a future; None if the node does not run."""
        if not self._parameters.services_are_ready():
            return None
        return self._parameters.get_parameters(["mode", "robot"])


class OdometrySurvey:
    """Drives one robot and measures its odometry. The methods raise RobotError and EndRequested."""

    def __init__(self, robot: SurveyClient, stop: StopSignal) -> None:
        self._robot = robot
        self._wait = BoundedWait(robot, stop)

    def stand(self) -> None:
        """Waits for the robot and stands it up."""
        self._wait.until_ready(READY_S, "; is it running?")
        if self._robot.state != "standing":
            self._wait.request("stand")
        self._wait.until_standing(POSTURE_S)

    def settings(self) -> tuple[str, str]:
        """Mode and robot of the running odometry node; empty if it does not respond."""
        future = self._robot.settings()
        if future is None:
            return "", ""
        self._wait.until_robot(future.done, SERVICE_TIMEOUT_S, "answer with the parameters of its odometry")
        mode, robot = future.result().values
        return mode.string_value, robot.string_value

    def drive(self, twist: Twist, goal: float) -> tuple[float, float]:
        """Drives until odometry reaches the goal [m or rad]. Returns (distance [m], rotation [rad]) at rest."""
        robot = self._robot
        start, turned = robot.pose, robot.turned
        assert start is not None

        def travelled() -> tuple[float, float]:
            assert robot.pose is not None
            return math.dist(start[:2], robot.pose[:2]), abs(robot.turned - turned)

        axis = 0 if twist.vx else 1
        robot.twist = twist
        robot.send()
        try:
            limit = drive_limit(goal / max(map(abs, twist)))
            self._wait.until_robot(lambda: travelled()[axis] >= goal, limit, "get that far")
        finally:
            robot.twist = ZERO
            robot.send()
        self._come_to_rest()
        return travelled()

    def _come_to_rest(self) -> None:
        """Waits until all feet are on the ground and odom changes no more than a heading that drifts."""
        robot = self._robot
        since = time.monotonic()
        last = self._robot.pose

        def at_rest() -> bool:
            nonlocal since, last
            assert robot.pose is not None and last is not None
            rows = zip(robot.pose, last, REST_TOLERANCES, strict=True)
            if robot.state != "standing" or any(abs(now - then) > least for now, then, least in rows):
                since = time.monotonic()
                last = robot.pose
            return time.monotonic() - since >= REST_TIME_S

        self._wait.until_robot(at_rest, POSTURE_S, "come to rest")


def survey(
    options: ConnectionOptions, drives: SurveyDrives, path: Path, ask: Ask, tell: Callable[[str], None]
) -> dict[str, float]:
    """Drives and asks for the measured values. Returns the new scale factors by name. Raises RobotError."""
    try:
        return _survey(options, drives, path, ask, tell)
    except EndRequested:
        raise RobotError(ENDED) from None


def _survey(
    options: ConnectionOptions, drives: SurveyDrives, path: Path, ask: Ask, tell: Callable[[str], None]
) -> dict[str, float]:
    with stop_requests() as stop, SurveyClient(options) as client:
        robot = OdometrySurvey(client, stop)
        tell(f"the robot walks {drives.distance:g} m ahead and turns {drives.turn:g} deg to the left")
        robot.stand()
        mode, robot_file = robot.settings()
        distance_scale, turn_scale = _present_scale(robot_file, path)
        driven, _ = robot.drive(Twist(min(MAX_SPEED, SPEED_SHARE * client.maxima.vx), 0.0, 0.0), drives.distance)
        factors = {"distance": distance_scale * _ask(ask, "distance", driven) / driven}
        if mode in WITH_IMU:
            tell(f"odometry runs in mode {mode}, which takes rotations from the IMU: only the distance is measured")
            return factors
        rate = min(MAX_YAW_RATE, SPEED_SHARE * client.maxima.wz)
        _, turn = robot.drive(Twist(0.0, 0.0, rate), math.radians(drives.turn))
        turn = math.degrees(turn)
        return {**factors, "turn": turn_scale * _ask(ask, "turn", turn) / turn}


def _present_scale(robot: str, path: Path) -> tuple[float, float]:
    """Scale factors of the running odometry, from its robot file if this computer can read it, else from `path`."""
    try:
        return odometry_scale(load(robot or path).document)
    except RobotFileError:
        return odometry_scale(load(path).document)


def _ask(ask: Ask, name: str, by_odometry: float) -> float:
    """Asks the user for a measured value. Raises EndRequested on Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return ask(name, by_odometry)
    except (KeyboardInterrupt, EOFError):
        raise EndRequested from None
    finally:
        signal.signal(signal.SIGINT, before)
