# SPDX-License-Identifier: Apache-2.0
"""Input of joint_states for all nodes: measured joints are checked by publisher, name, range and speed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import HARDWARE_NODES
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.joint_plausibility import JointPlausibility
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.endpoints import node_name
from hexapod_control.ros.row_messages import JointLayout, MessageError
from hexapod_control.ros.transport.senders import LOCAL

TOPIC = "joint_states"
DISCOVERY_PERIOD_S = 0.5  # after which the publishers are looked up again, if not all messages are from the driver
NEW_PUBLISHER_S = 0.02  # the same for the message of a publisher that is not known yet
DRIVER_SILENCE_S = 0.5  # without a message of a driver, after which another one replaces it


class DriverPriority:
    """Whose joint_states are used: while a driver of this robot publishes them, only its own."""

    def __init__(self, node: GuardedNode) -> None:
        namespace = node.get_namespace().rstrip("/")
        self._node = node
        self._driver_names = {f"{namespace}/{name}" for name in HARDWARE_NODES}
        self._publishers: dict[bytes, str] = {}  # node by GID, as discovered
        self._discovered_at = -math.inf  # [s] steady time
        self._identified = False  # whether a sender was found among the publishers: not all middlewares allow it
        # the newest message of a driver: its GID and steady time [s]
        self._used = LOCAL
        self._used_at = -math.inf
        self.refused = 0  # messages

    def admits(self, sender: bytes) -> bool:
        """Whether a message of this publisher is used; reports the publisher if it is not."""
        now = time.monotonic()
        if self._is_of_driver(sender, now):
            if sender != self._used and now - self._used_at < DRIVER_SILENCE_S:
                return False  # a second robot, which GraphPresence reports
            self._used = sender
            self._used_at = now
            return True
        if not self._identified or self._driver_names.isdisjoint(self._publishers.values()):
            return True
        self.refused += 1
        name = self._publishers.get(sender, "an unknown node")
        text = f"{TOPIC} of {name} are not used, {self.refused} so far: the driver of the robot publishes them; stop "
        self._node.report(f"foreign {TOPIC}", ReportLevel.WARNING, f"{text}that node, or what it publishes there")
        return False

    def _is_of_driver(self, sender: bytes, now: float) -> bool:
        if sender == LOCAL or (sender == self._used and sender in self._publishers):
            return True
        age = now - self._discovered_at
        if age > DISCOVERY_PERIOD_S or (age > NEW_PUBLISHER_S and sender not in self._publishers):
            found = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(TOPIC))
            self._publishers = {bytes(info.endpoint_gid): node_name(info) for info in found}
            self._discovered_at = now
        self._identified |= sender in self._publishers
        return self._publishers.get(sender) in self._driver_names


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
        self._node = node
        self._layout = JointLayout(robot, mapping)
        self._plausibility = JointPlausibility(robot)
        self.priority = DriverPriority(node)
        self.rejected = 0  # messages

    def subscribe(self, use: Callable[[MeasuredSample], None], qos: QoSProfile, **options: Any) -> None:
        """Calls `use` with every accepted sample; the node reports rejected messages. `options`: see GuardedNode."""

        def on_joint_states(message: JointState) -> None:
            use(self.accept(message))

        self._node.create_subscription(JointState, TOPIC, on_joint_states, qos, admit=self.priority.admits, **options)

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
