# SPDX-License-Identifier: Apache-2.0
"""A client of Nav2 that sends a simulated robot to goals and judges the walks by ground truth."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Twist as TwistMessage
from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry
from rclpy.action.client import ActionClient
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.task import Future
from std_msgs.msg import String, UInt32
from std_srvs.srv import Trigger

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Pose, wrap
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import EVENTS, LATCHED

ASK_PERIOD_S = 0.5  # for whether Nav2 is active
ANSWER_S = 2.0  # for an answer; the first one may be lost, if the server has not yet found its client
CANCEL_S = 10.0  # for an answer to a cancellation
COMMANDS = {"controller": "cmd_vel_nav", "smoother": "cmd_vel_smoothed"}  # topics whose rates are measured
STATUS = {
    GoalStatus.STATUS_SUCCEEDED: "succeeded",
    GoalStatus.STATUS_CANCELED: "canceled",
    GoalStatus.STATUS_ABORTED: "aborted",
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an action of Nav2 ended."""

    status: str  # succeeded, canceled, aborted, refused, or timeout
    seconds: float
    error: int = 0  # code of Nav2


class Nav2Walker(Node):
    """Sends goals and listens to ground truth, odometry and commands; call `spin` of its own executor only."""

    def __init__(self, actions: Mapping[str, Any], *, stamped: bool, fixed_map: bool) -> None:
        """`actions` are action types by name; `fixed_map`: publish `map` at the origin of `odom`."""
        super().__init__("nav2_check")
        self.truth: Pose | None = None
        self.state = ""
        self.collisions = 0
        self.latencies: list[float] = []  # [s] of odom at its arrival
        self.arrivals: dict[str, list[float]] = {name: [] for name in COMMANDS}  # [s] steady times
        self._servers = {name: ActionClient(self, kind, name) for name, kind in actions.items()}
        self.create_subscription(Odometry, "simulator/floating_base_state", self._on_truth, EVENTS)
        self.create_subscription(Odometry, "odom", self._on_odometry, EVENTS)
        self.create_subscription(UInt32, "simulator/collisions", self._on_collisions, LATCHED)
        self.create_subscription(String, "gait_state", self._on_state, LATCHED)
        for name, topic in COMMANDS.items():
            kind = TwistStamped if stamped else TwistMessage
            self.create_subscription(kind, topic, partial(self._on_command, self.arrivals[name]), EVENTS)
        if fixed_map:
            self._tf = self.create_publisher(TFMessage, "/tf_static", LATCHED)
            stamp = self.get_clock().now().to_msg()
            self._tf.publish(TFMessage(transforms=[messages.transform_message("map", "odom", BodyPose(), stamp)]))
        self._spinner = SingleThreadedExecutor()
        self._spinner.add_node(self)

    def _on_truth(self, message: Odometry) -> None:
        self.truth = messages.planar_pose(message.pose.pose)

    def _on_odometry(self, message: Odometry) -> None:
        self.latencies.append(
            self.get_clock().now().nanoseconds * 1e-9 - messages.nanoseconds(message.header.stamp) * 1e-9
        )

    @staticmethod
    def _on_command(arrived: list[float], message: TwistMessage | TwistStamped) -> None:
        arrived.append(time.monotonic())

    def _on_collisions(self, message: UInt32) -> None:
        self.collisions = message.data

    def _on_state(self, message: String) -> None:
        self.state = message.data.split(" ")[0]

    def until(self, reached: Callable[[], bool], seconds: float) -> bool:
        """Spins until a condition holds. Returns False after `seconds`."""
        deadline = time.monotonic() + seconds
        while not reached():
            left = deadline - time.monotonic()
            if left <= 0.0:
                return False
            self._spinner.spin_once(timeout_sec=min(left, 0.05))
        return True

    def active(self, manager: str, seconds: float) -> bool:
        """Waits until all servers of a lifecycle manager are active; before that they refuse goals."""
        asked = self.create_client(Trigger, f"{manager}/is_active")
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0.0:
            if self.until(asked.service_is_ready, left):
                answer: Future = asked.call_async(Trigger.Request())
                if self.until(answer.done, min(left, ANSWER_S)) and answer.result().success:
                    return True
                self.until(lambda: False, ASK_PERIOD_S)
        return False

    def run(self, name: str, goal: Any, seconds: float, cancel_after: float = math.inf) -> Outcome:
        """Runs an action to its end; after `cancel_after` [s], or `seconds`, it is canceled."""
        started = time.monotonic()
        self.until(self._servers[name].server_is_ready, CANCEL_S)
        sent: Future = self._servers[name].send_goal_async(goal)
        if not self.until(sent.done, CANCEL_S) or not sent.result().accepted:
            return Outcome("refused", time.monotonic() - started)
        handle = sent.result()
        result: Future = handle.get_result_async()
        if not self.until(result.done, min(seconds, cancel_after)):
            handle.cancel_goal_async()
            answered = self.until(result.done, CANCEL_S)
            if not answered or cancel_after == math.inf:
                return Outcome("timeout", time.monotonic() - started)
        answer = result.result()
        error = int(getattr(answer.result, "error_code", 0))
        return Outcome(STATUS.get(answer.status, str(answer.status)), time.monotonic() - started, error)

    def send(self, name: str, goal: Any) -> None:
        """Sends a goal whose end does not matter, for one that preempts it."""
        self.until(self._servers[name].send_goal_async(goal).done, CANCEL_S)

    def off(self, goal: Pose) -> tuple[float, float]:
        """Distance [m] and angle [rad] of the robot from a goal, by ground truth."""
        if self.truth is None:
            return math.inf, math.inf
        return math.dist(self.truth[:2], goal[:2]), abs(wrap(self.truth.yaw - goal.yaw))

    def rates(self) -> dict[str, float]:
        """Rate [Hz] of each command topic while it was in use, gaps of more than a second left out; 0 if it was not."""
        found = {}
        for name, times in self.arrivals.items():
            gaps = np.diff(times)
            gaps = gaps[gaps < 1.0]
            found[name] = 1.0 / float(gaps.mean()) if len(gaps) else 0.0
        return found

    def stop(self) -> None:
        """Ends the node."""
        self._spinner.shutdown()
        self.destroy_node()


def pose_goal(kind: Any, goal: Pose) -> Any:
    """The goal of NavigateToPose in `map`."""
    request = kind.Goal()
    request.pose.header.frame_id = "map"
    request.pose.pose = messages.body_pose_message(BodyPose(x=goal.x, y=goal.y, yaw=goal.yaw))
    return request


def spin_goal(kind: Any, angle: float, allowance: float) -> Any:
    """The goal of Spin for an angle [rad] and a time allowance [s]."""
    return kind.Goal(target_yaw=angle, time_allowance=Duration(sec=math.ceil(allowance)))


def drive_goal(kind: Any, distance: float, speed: float, allowance: float) -> Any:
    """The goal of BackUp or DriveOnHeading for a distance [m], a speed [m/s] and a time allowance [s]."""
    request = kind.Goal(speed=speed, time_allowance=Duration(sec=math.ceil(allowance)))
    request.target.x = distance
    return request


def wait_goal(kind: Any, seconds: float) -> Any:
    """The goal of Wait for a time [s]."""
    return kind.Goal(time=Duration(sec=math.ceil(seconds)))
