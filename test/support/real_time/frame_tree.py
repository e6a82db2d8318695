# SPDX-License-Identifier: Apache-2.0
"""The frames and the URDF of a robot, as the tools of ROS receive them over DDS."""

import re

from std_msgs.msg import String

from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import LATCHED, LATCHED_TREE, SAMPLES


class FrameTree:
    """What is published on /tf, /tf_static and robot_description from now on."""

    def __init__(self, bench, namespace=""):
        self._moving = bench.listen(TFMessage, "/tf", SAMPLES)
        self._fixed = bench.listen(TFMessage, "/tf_static", LATCHED_TREE)
        self.descriptions = bench.listen(String, f"{namespace}/robot_description".lstrip("/"), LATCHED)

    @property
    def transforms(self):
        """Every transform that was received."""
        return [each for message in (*self._fixed, *self._moving) for each in message.transforms]

    @property
    def parents(self):
        """Name of the parent of each frame."""
        return {each.child_frame_id: each.header.frame_id for each in self.transforms}

    @property
    def links(self):
        """Names of the links of the URDF."""
        return set(re.findall(r'<link name="(\w+)"', self.descriptions[-1].data)) if self.descriptions else set()

    def reach(self, frame, root):
        """Whether a frame is below another one."""
        parents = self.parents
        while frame != root and frame in parents:
            frame = parents[frame]
        return frame == root

    def whole(self):
        """Whether every link of the URDF is below `odom`."""
        return bool(self.links) and all(self.reach(link, "odom") for link in self.links)
