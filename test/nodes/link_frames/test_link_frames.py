# SPDX-License-Identifier: Apache-2.0
"""Node link_frames on real DDS: the frames of the links are where the kinematics put them."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import overrides

from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.leg_kinematics import hip_to_base, leg_forward
from hexapod_control.core.names import joint_names
from hexapod_control.nodes.link_frames.link_frames import LinkFramesNode
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import EVENTS, LATCHED
from hexapod_control.ros.row_messages import JointLayout

PREFIX = "spider/"


class Frames:
    """The node with what it publishes, for joints that the test sends."""

    def __init__(self, bench, **parameters):
        self.bench = bench
        self.moving = bench.listen(TFMessage, "/tf", EVENTS)
        self.fixed = bench.listen(TFMessage, "/tf_static", LATCHED)
        self.urdf = bench.listen(String, "robot_description", LATCHED)
        self.node = bench.add(LinkFramesNode(parameter_overrides=overrides(tf_frame_prefix=PREFIX, **parameters)))
        self.joints, self.sender = JointLayout(robot()), bench.publisher(JointState, "joint_states")
        bench.until(lambda: self.fixed and self.urdf, what="the latched topics")

    def send(self, seconds, angles):
        """Sends the joint angles (n, 3) [rad] with a stamp [s]."""
        self.sender.publish(self.joints.message(angles, None, messages.time(round(seconds * 1e9))))

    def position(self, link):
        """Position [m] of a link in base_link."""
        parents = {each.child_frame_id: each for each in (*self.fixed[-1].transforms, *self.moving[-1].transforms)}
        point, frame = np.zeros(3), PREFIX + link
        while frame != f"{PREFIX}base_link":
            placed = parents[frame].transform
            q, shift = placed.rotation, placed.translation
            turn = np.array(BodyPose(0, 0, 0, *quaternion_angles(q.x, q.y, q.z, q.w)).rotation())
            point = turn @ point + (shift.x, shift.y, shift.z)
            frame = parents[frame].header.frame_id
        return point


def test_every_foot_is_where_its_joints_put_it_and_the_urdf_has_these_joints(bench):
    frames = Frames(bench)
    angles = np.asarray(standing_joints()) + 0.1 * np.random.default_rng(3).standard_normal((6, 3))
    bench.until(lambda: frames.send(10.0, angles) or frames.moving, what="/tf")
    for leg, row in zip(robot().legs, angles.tolist(), strict=True):
        expected = hip_to_base(leg, leg_forward(leg, tuple(row))[1])
        assert frames.position(f"{leg.name}_foot") == pytest.approx(expected, abs=1e-6)
    stamps = {(each.header.stamp.sec, each.header.frame_id.startswith(PREFIX)) for each in frames.moving[-1].transforms}
    assert stamps == {(10, True)}
    assert all(f'"{name}"' in frames.urdf[-1].data for name in joint_names(robot().leg_names))


def test_frames_come_at_most_at_their_rate_and_again_once_the_clock_was_set_back(bench):
    frames = Frames(bench, publish_rate=10.0)
    bench.until(lambda: frames.send(10.0, standing_joints()) or frames.moving, what="/tf")
    frames.moving.clear()
    for seconds in (10.02, 10.04, 10.06, 10.1, 10.12, 5.0):
        count = frames.node.received["joint_states"]
        frames.send(seconds, standing_joints())
        bench.until(lambda count=count: frames.node.received["joint_states"] > count, what="the joints")
    bench.until(lambda: len(frames.moving) == 2, what="/tf")
    stamps = [messages.nanoseconds(each.transforms[0].header.stamp) / 1e9 for each in frames.moving]
    assert stamps == [10.1, 5.0]
