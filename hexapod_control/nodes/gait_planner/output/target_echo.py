"""Checks that the targets of the planner arrive, before it moves the robot: joint_targets repeats their stamps.

DDS shows a subscription for many seconds after its node was killed, and before it delivers messages to it. A planner
that walked meanwhile would be ahead of the robot, which would then jump after it.
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
REPEATING = {KINEMATICS, UNKNOWN_NAME}  # nodes that repeat the stamps, or are not discovered completely yet
OBSERVERS = {"odometry", "recorder", "rosbag2_recorder", "web"}  # nodes that receive targets without moving the robot
MAX_WAIT_S = 10.0  # for an echo: another node in place of KINEMATICS may not repeat the stamps


class TargetEcho:
    """Life cycle: `arrives` with every sample of a robot at rest, until it is True."""

    def __init__(self, node: GuardedNode, output: PlannerOutput) -> None:
        """Subscribes to joint_targets."""
        self._node, self._output = node, output
        self._joints: Array | None = None  # (n, 3) [rad] the target
        self._stamps: set[tuple[int, int]] = set()  # of the target, each time it was sent
        self._first = 0.0  # [s] steady time at which it was sent first
        self._arrived = False
        self._subscription = node.create_subscription(JointState, TOPIC, self._on_joint_targets, COMMAND)

    def arrives(self, joints: Array) -> bool:
        """Whether targets arrive. Until one has, publishes the first measured joints (n, 3) [rad] as a target.

        Not the newest ones: a robot that follows its measured joints under load sinks.
        """
        if self._subscription is None:
            return True
        now = time.monotonic()
        if self._joints is None:
            self._joints, self._first = joints, now
        if self._arrived or now - self._first > MAX_WAIT_S or not self._is_expected():
            self._node.destroy_subscription(self._subscription)
            self._subscription = None
            return True
        if now - self._first > DISCOVERY_TIME_S:
            text = f"no joint_targets follow joint_motion, so the robot stays as it is: start {KINEMATICS}"
            self._node.report("unheard", ReportLevel.WARNING, text)
        stamp = self._node.get_clock().now().to_msg()
        self._stamps.add((stamp.sec, stamp.nanosec))
        self._output.publish_joint_motion(self._joints, stamp)
        return False

    def _is_expected(self) -> bool:
        """Whether a node publishes joint_targets, or soon may; otherwise another program moves the robot."""
        receivers = {info.node_name for info in self._node.get_subscriptions_info_by_topic("foot_targets")}
        others = receivers - OBSERVERS
        return self._node.count_publishers(TOPIC) > 0 or not others or not others.isdisjoint(REPEATING)

    def _on_joint_targets(self, message: JointState) -> None:
        stamp = message.header.stamp
        self._arrived = self._arrived or (stamp.sec, stamp.nanosec) in self._stamps
