# SPDX-License-Identifier: Apache-2.0
"""Receives joint_targets of the graphs in place of driver and operator, and measures their latency."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from geometry_msgs.msg import Twist as TwistMessage
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64, String

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import ZERO, Twist
from hexapod_control.core.kinematics.whole_body import standing_joints
from hexapod_control.core.robot import Robot
from hexapod_control.ros import messages
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.qos import COMMAND, LATCHED
from hexapod_control.ros.row_messages import JointLayout

COMMAND_PERIOD_S = 0.1


class ReceiverSide:
    """Driver and operator of one graph: receives joint_targets, publishes them as joint_states, sends cmd_vel."""

    def __init__(self, node: Any, namespace: str, robot: Robot, start: Array, echo: bool) -> None:
        """`start` are the first joint angles (n, 3) [rad]; without `echo`, another node publishes joint_states."""
        self._node = node
        self._layout = JointLayout(robot)
        self._start = start
        self._echo = echo
        self.twist = ZERO
        self.state = ""
        self.received = 0
        self.ages: list[float] | None = None  # [s] of the targets, while they are measured
        self.planning: list[float] = []  # [s] planning times
        self._states = node.create_publisher(JointState, f"{namespace}/joint_states", COMMAND) if echo else None
        self._cmd_vel = node.create_publisher(TwistMessage, f"{namespace}/cmd_vel", COMMAND)
        node.create_subscription(JointState, f"{namespace}/joint_targets", self._on_targets, COMMAND)
        node.create_subscription(Float64, f"{namespace}/planning_time", self._on_planning_time, COMMAND)
        node.create_subscription(String, f"{namespace}/gait_state", self._on_state, LATCHED)

    def _on_targets(self, message: Any) -> None:
        age = 1e-9 * (time.time_ns() - messages.nanoseconds(message.header.stamp))
        self.received += 1
        if self.ages is not None:
            self.ages.append(age)
        if self._states is not None:
            message.header.stamp = self._node.get_clock().now().to_msg()
            self._states.publish(message)

    def _on_planning_time(self, message: Any) -> None:
        if self.ages is not None:
            self.planning.append(message.data)

    def _on_state(self, message: Any) -> None:
        self.state = message.data

    def send(self) -> None:
        """Publishes the command and, until the first targets arrive, the start angles."""
        self._cmd_vel.publish(messages.twist_message(self.twist))
        if self._states is not None and not self.received:
            self._states.publish(self._layout.message(self._start, None, self._node.get_clock().now().to_msg()))


class TopicReceiver(ClientNode):
    """Context manager: one node that receives from several graphs."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._start = np.array(standing_joints(robot))
        super().__init__("receiver")
        self._sides: dict[str, ReceiverSide] = {}
        self._sent = 0.0

    def side(self, namespace: str, echo: bool) -> ReceiverSide:
        """Creates the receiver of the graph in a namespace."""
        self._sides[namespace] = ReceiverSide(self._node, namespace, self._robot, self._start, echo)
        return self._sides[namespace]

    def watch(self, namespaces: Iterable[str], topics: Mapping[str, Any]) -> None:
        """Subscribes to topics, given with their types, like a program that shows or records them."""
        for namespace in namespaces:
            for topic, kind in topics.items():
                self._node.create_subscription(kind, f"{namespace}/{topic}", lambda data: None, COMMAND, raw=True)

    def call(self, kind: Any, service: str, seconds: float) -> None:
        """Waits at most `seconds` [s] for a service and calls it without waiting for the response."""
        client = self._node.create_client(kind, service)
        client.wait_for_service(timeout_sec=seconds)
        client.call_async(kind.Request())

    def spin(
        self,
        seconds: float,
        side: ReceiverSide,
        until: Callable[[], bool] = lambda: False,
        also: Sequence[ReceiverSide] = (),
    ) -> bool:
        """Receives and sends for `seconds` [s] or until a condition holds. Returns True if it holds.

        Commands go to `side`, or to all of `also` if given.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if until():
                return True
            if time.monotonic() - self._sent >= COMMAND_PERIOD_S:
                self._sent = time.monotonic()
                for one in also or (side,):
                    one.send()
            self._executor.spin_once(timeout_sec=COMMAND_PERIOD_S / 2)
        return until()


FORWARD = Twist(0.08, 0.0, 0.2)
"""Commanded twist during the measurements."""
