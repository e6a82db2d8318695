"""Decides when a planner that has just started may move the robot: once inverse_kinematics has answered a target.

The answer is a message on joint_targets with the stamp of that target. The subscribers of the targets are not enough:
odometry is one, too, and DDS reports a subscription before it delivers messages to it. A planner that walked meanwhile
would be ahead of the robot, which would then jump.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from sensor_msgs.msg import JointState

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.nodes.gait_planner.planner_output import PlannerOutput
from hexapod_control.ros.guarded_node import DISCOVERY_TIME_S, GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.endpoints import UNKNOWN_NAME
from hexapod_control.ros.qos import COMMAND

TOPIC = "joint_targets"
KINEMATICS = "inverse_kinematics"  # the node that publishes TOPIC
ANSWERING = {KINEMATICS, UNKNOWN_NAME}  # nodes that answer, or are not discovered completely yet
# Nodes that receive targets without moving the robot: nodes of this package, recorders, displays, and the command ros2.
OBSERVERS = {"odometry", "recorder", "web", "rosbag2_recorder", "rosbag2_transport", "foxglove_bridge", "rviz", "rviz2"}
COMMAND_LINE = "_ros2cli"
MAX_STAMPS = 1000  # stored ones: 20 s
REPORT_AFTER_S = 2.0 * DISCOVERY_TIME_S  # without an answer
MAX_WAIT_S = 10.0  # for an answer: another node in place of KINEMATICS may not repeat the stamps


class StartPermission:
    """Permission of the planner to move the robot. Call `is_granted` with every sample until the pose is known."""

    def __init__(self, node: GuardedNode, output: PlannerOutput) -> None:
        """Subscribes to joint_targets."""
        self._node, self._output = node, output
        self._subscription: Any = None  # None: the permission is granted. Any: rclpy's subscriptions have no types
        self.reset()

    def reset(self) -> None:
        """Withdraws the permission while the torque is off: nodes may end, and the robot may be moved by hand."""
        self._joints: Array | None = None  # (n, 3) [rad] the target
        self._stamps: deque[tuple[int, int]] = deque(maxlen=MAX_STAMPS)  # of the target, one for each message
        self._first = 0.0  # [s] steady time of its first message
        self._is_answered = False
        if self._subscription is None:
            self._subscription = self._node.create_subscription(JointState, TOPIC, self._on_joint_targets, COMMAND)

    def is_granted(self, joints: Array) -> bool:
        """Whether the planner may move the robot: a target was answered, or another program than KINEMATICS moves it.

        Until then it publishes the first measured joints (n, 3) [rad] as a target. It does not use newer ones: a robot
        that follows its measured joints sinks under load.
        """
        if self._subscription is None:
            return True
        now = time.monotonic()
        if self._joints is None:
            self._joints, self._first = joints, now
        if self._is_answered or not self._awaits_answer(now - self._first):
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            return True
        if now - self._first > REPORT_AFTER_S:
            text = f"no joint_targets follow joint_motion, so the robot stays as it is: start {KINEMATICS}"
            self._node.report("unheard", ReportLevel.WARNING, text)
        stamp = self._node.get_clock().now().to_msg()
        self._stamps.append((stamp.sec, stamp.nanosec))
        self._output.publish_joint_motion(self._joints, stamp)
        return False

    def _awaits_answer(self, waited: float) -> bool:
        """Whether a node may still answer, after `waited` [s]; if not, another program moves the robot."""
        names = {info.node_name for info in self._node.get_subscriptions_info_by_topic("foot_targets")}
        receivers = {name for name in names - OBSERVERS if not name.startswith(COMMAND_LINE)}
        may_answer = self._subscription.get_publisher_count() > 0 or not receivers.isdisjoint(ANSWERING)
        return not receivers or (may_answer and waited <= MAX_WAIT_S)

    def _on_joint_targets(self, message: JointState) -> None:
        stamp = message.header.stamp
        self._is_answered = self._is_answered or (stamp.sec, stamp.nanosec) in self._stamps
