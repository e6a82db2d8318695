# SPDX-License-Identifier: Apache-2.0
"""Node link_frames: robot_description and the frames of the links, from the robot file and joint_states.

It publishes what robot_state_publisher does, with the same topics and rate, where that program is not installed or not
started; RViz and Foxglove then show the robot. Of the two only one may run: both publish the same frames.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sensor_msgs.msg import JointState
from std_msgs.msg import String

from hexapod_control.config.robots.draft.rotations import angles_of_rotation
from hexapod_control.config.robots.urdf import walking_urdf
from hexapod_control.config.robots.urdf_import.reading.urdf_tree import UrdfJoint, parse_tree
from hexapod_control.config.ros_names import frame_prefix
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.names import joint_names
from hexapod_control.core.quantity import choice, number
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import RobotSettings, declare
from hexapod_control.ros.qos import COMMAND, LATCHED, NEWEST_SENSOR
from hexapod_control.ros.row_messages import ExtraJointLayout, JointLayout
from hexapod_control.ros.started_files import started_mapping, started_robot

MIN_PERIOD_SHARE = 0.9  # share of the period after which frames are published again: stamps jitter


@dataclass(frozen=True, slots=True)
class LinkFramesSettings(RobotSettings):
    """Parameters of link_frames."""

    publish_rate: float = number(20.0, "Hz", 1.0, 100.0, "frames of the links on /tf, at most")
    tf_frame_prefix: str = choice("", "put before every frame id", check=frame_prefix)


class LinkFramesNode(GuardedNode):
    """Publishes the URDF and the frames of one robot."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for unusable input."""
        super().__init__("link_frames", **options)
        settings = declare(self, LinkFramesSettings)
        file = started_robot(settings.robot)
        text = walking_urdf(file)
        self._tree = parse_tree(file.path, text)
        self._layout = JointLayout(file.robot, started_mapping(settings.joint_mapping, file.robot))
        self._names = joint_names(file.robot.leg_names)
        self._extra = ExtraJointLayout(file.robot)
        self._prefix = settings.tf_frame_prefix
        self._period = MIN_PERIOD_SHARE / settings.publish_rate
        self._published = -math.inf  # [s] stamp of the last joints whose frames were published
        self.create_publisher(String, "robot_description", LATCHED).publish(String(data=text))
        fixed = [joint for joint in self._tree.joints.values() if joint.kind == "fixed"]
        stamp = self.get_clock().now().to_msg()
        frames = self._transforms(fixed, {}, stamp)
        self.create_publisher(TFMessage, "/tf_static", LATCHED).publish(TFMessage(transforms=frames))
        self._moving = [joint for joint in self._tree.joints.values() if joint.kind != "fixed"]
        self._tf = self.create_publisher(TFMessage, "/tf", COMMAND)
        self.create_subscription(JointState, "joint_states", self._take_joints, NEWEST_SENSOR)

    def _take_joints(self, message: JointState) -> None:
        time = messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS
        if 0.0 <= time - self._published < self._period or not self._tf.is_received:
            return
        self._published = time
        angles = dict(zip(self._names, self._layout.joints(message).ravel().tolist(), strict=True))
        angles |= self._extra.positions(message)
        self._tf.publish(TFMessage(transforms=self._transforms(self._moving, angles, message.header.stamp)))

    def _transforms(self, joints: Sequence[UrdfJoint], angles: dict[str, float], stamp: Any) -> list[Any]:
        """Transforms from the parent to the child of each joint at its angle [rad] or way [m]."""
        found = []
        for joint in joints:
            pose = self._tree.local(joint, angles)
            x, y, z = pose[:3, 3].tolist()
            placed = BodyPose(x, y, z, *angles_of_rotation(pose[:3, :3]))
            parent, child = (f"{self._prefix}{link}" for link in (joint.parent, joint.child))
            found.append(messages.transform_message(parent, child, placed, stamp))
        return found


def main() -> int:
    """Runs the node. Returns the exit code."""
    return run(LinkFramesNode)


if __name__ == "__main__":
    sys.exit(main())
