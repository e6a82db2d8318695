# SPDX-License-Identifier: Apache-2.0
"""Input of extra_joint_targets for both hardware nodes."""

from __future__ import annotations

from collections.abc import Callable

from sensor_msgs.msg import JointState

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import EVENTS
from hexapod_control.ros.row_messages import ExtraJointLayout

TOPIC = "extra_joint_targets"


def subscribe_extra_targets(node: GuardedNode, robot: Robot, take: Callable[[Array, Array], None]) -> None:
    """Passes targets (m,) [rad] and speeds [rad/s] on to `take`."""
    layout = ExtraJointLayout(robot)
    node.create_subscription(JointState, TOPIC, lambda message: take(*layout.targets(message)), EVENTS)
