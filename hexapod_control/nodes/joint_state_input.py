"""Input of joint_states for all nodes: measured joints are checked by name, range and speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

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
    """An accepted message of joint_states."""

    joints: Array  # (n, 3) [rad]
    stamp: Time
    jumped: bool  # discontinuous with the previous sample
    torques: Array | None = None  # (n, 3) [N m]; None if unknown or not requested


class JointStateInput:
    """Subscribes to joint_states and passes on the accepted messages."""

    def __init__(
        self, node: GuardedNode, robot: Robot, mapping: JointMapping | None = None, *, torques: bool = False
    ) -> None:
        """Does not subscribe yet. `torques`: also read the torques."""
        self._torques = torques
        self._node, self._layout, self._plausibility = node, JointLayout(robot, mapping), JointPlausibility(robot)
        self.rejected = 0  # messages

    def subscribe(self, use: Callable[[MeasuredSample], None], qos: QoSProfile, **options: Any) -> None:
        """Calls `use` with every accepted sample; the node reports rejected messages. `options`: see GuardedNode."""

        def on_joint_states(message: JointState) -> None:
            use(self.accept(message))

        self._node.create_subscription(JointState, TOPIC, on_joint_states, qos, **options)

    def restart(self) -> None:
        """Forgets the samples so far: the next one need not continue them."""
        self._plausibility.restart()

    def accept(self, message: JointState) -> MeasuredSample:
        """The sample of a message. Raises MessageError for values that this robot cannot have."""
        joints = self._layout.joints(message)
        now = self._node.control_time
        stamp = messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS
        verdict = self._plausibility.check(joints, stamp or now, now)
        if verdict.reason:
            self.rejected += 1
            raise MessageError(
                f"{verdict.reason}; {self.rejected} dropped so far; does another program publish {TOPIC}?"
            )
        torques = self._layout.torques(message) if self._torques else None
        return MeasuredSample(joints, message.header.stamp, verdict.jumped, torques)
