"""Measured joints for every node that reads joint_states: checked by name, range and speed before they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from builtin_interfaces.msg import Time
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.joint_plausibility import JointPlausibility
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.row_messages import JointLayout, MessageError

TOPIC = "joint_states"


class MeasuredSample(NamedTuple):
    """One accepted message."""

    joints: Array  # (n, 3) [rad]
    stamp: Time
    jumped: bool  # the joints are not a continuation of those before
    torques: Array | None = None  # (n, 3) [N m]; None if they are not known, or not asked for


class JointStateInput:
    """The accepted messages of joint_states."""

    def __init__(
        self, node: GuardedNode, robot: Robot, mapping: JointMapping | None = None, *, torques: bool = False
    ) -> None:
        """Subscribes to nothing yet; `torques`: read them too."""
        self._torques = torques
        self._node, self._layout, self._plausibility = node, JointLayout(robot, mapping), JointPlausibility(robot)
        self.rejected = 0  # messages

    def subscribe(self, use: Callable[[MeasuredSample], None], qos: QoSProfile) -> None:
        """Calls `use` with every accepted message; the node reports the others."""

        def on_joint_states(message: JointState) -> None:
            use(self.accept(message))

        self._node.create_subscription(JointState, TOPIC, on_joint_states, qos)

    def accept(self, message: JointState) -> MeasuredSample:
        """The sample in a message. Raises MessageError for one that cannot be measured on this robot."""
        joints = self._layout.joints(message)
        now = self._node.control_clock.now().nanoseconds / messages.NANOSECONDS
        stamp = messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS
        verdict = self._plausibility.check(joints, stamp or now, now)
        if verdict.reason:
            self.rejected += 1
            raise MessageError(
                f"{verdict.reason}; {self.rejected} dropped so far; does another program publish {TOPIC}?"
            )
        torques = self._layout.torques(message) if self._torques else None
        return MeasuredSample(joints, message.header.stamp, verdict.jumped, torques)
