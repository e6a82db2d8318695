# SPDX-License-Identifier: Apache-2.0
"""Frames fixed to the body, on /tf_static."""

from __future__ import annotations

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import LATCHED


def publish_mounting(node: GuardedNode, prefix: str, frame: str, pose: BodyPose, parent: str = "base_link") -> str:
    """Publishes the pose [m, rad] of a sensor's frame in its parent, once and latched. Returns the frame's full name.

    `prefix` is put before both names. Each frame has a publisher of its own, as the newest message of one is kept.
    """
    stamp = node.get_clock().now().to_msg()
    mounting = messages.transform_message(f"{prefix}{parent}", f"{prefix}{frame}", pose, stamp)
    node.create_publisher(TFMessage, "/tf_static", LATCHED).publish(TFMessage(transforms=[mounting]))
    return f"{prefix}{frame}"
