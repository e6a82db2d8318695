"""Decides when a planner that has just started may move the robot: once inverse_kinematics has answered a target.

The answer is a message on joint_targets with the stamp of that target. Subscribers alone say little: odometry is one
too, and DDS shows a subscription before it delivers messages to it. A planner that walked meanwhile would be ahead of
the robot, which would then jump after it.
"""

from __future__ import annotations

import time

from sensor_msgs.msg import JointState

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.nodes.announcements.graph_presence import UNKNOWN_NAME
from hexapod_control.nodes.gait_planner.output.planner_output import PlannerOutput
from hexapod_control.ros.guarded_node import DISCOVERY_TIME_S, GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND

TOPIC = "joint_targets"
KINEMATICS = "inverse_kinematics"  # the node that publishes TOPIC
ANSWERING = {KINEMATICS, UNKNOWN_NAME}  # nodes that answer, or are not discovered completely yet
OBSERVERS = {"odometry", "recorder", "rosbag2_recorder", "web"}  # nodes that receive targets without moving the robot
REPORT_AFTER_S = 2.0 * DISCOVERY_TIME_S  # without an answer
MAX_WAIT_S = 10.0  # for an answer: another node in place of KINEMATICS may not repeat the stamps


class StartPermission:
    """Life cycle: the planner asks `is_granted` with every measured sample until its pose is known."""

    def __init__(self, node: GuardedNode, output: PlannerOutput) -> None:
        """Subscribes to joint_targets."""
        self._node, self._output = node, output
        self._joints: Array | None = None  # (n, 3) [rad] the target
        self._stamps: set[tuple[int, int]] = set()  # of the target, each time it was sent
        self._first = 0.0  # [s] steady time at which it was sent first
        self._is_answered = False
        self._subscription = node.create_subscription(JointState, TOPIC, self._on_joint_targets, COMMAND)

    def is_granted(self, joints: Array) -> bool:
        """Whether the planner may move the robot: a target was answered, or nothing that moves it would answer.

        Until then, publishes the first measured joints (n, 3) [rad] as a target. Not the newest ones: a robot that
        follows its measured joints under load sinks.
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
        self._stamps.add((stamp.sec, stamp.nanosec))
        self._output.publish_joint_motion(self._joints, stamp)
        return False

    def _awaits_answer(self, waited: float) -> bool:
        """Whether a node may still answer, after `waited` [s]; if not, another program moves the robot."""
        receivers = {info.node_name for info in self._node.get_subscriptions_info_by_topic("foot_targets")} - OBSERVERS
        may_answer = self._node.count_publishers(TOPIC) > 0 or not receivers.isdisjoint(ANSWERING)
        return not receivers or (may_answer and waited <= MAX_WAIT_S)

    def _on_joint_targets(self, message: JointState) -> None:
        stamp = message.header.stamp
        self._is_answered = self._is_answered or (stamp.sec, stamp.nanosec) in self._stamps
