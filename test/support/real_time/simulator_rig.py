# SPDX-License-Identifier: Apache-2.0
"""A simulator node with a recorder of its topics."""

from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import overrides

from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.ros.row_messages import JointLayout

MANY = QoSProfile(depth=50)


ON, OFF = SetBool.Request(data=True), SetBool.Request(data=False)


class Rig:
    """A simulator node in this process, and its published messages."""

    def __init__(self, bench, **parameters):
        self.bench = bench
        self.node = bench.add(MujocoSimNode(parameter_overrides=overrides(**parameters)))
        self.states = bench.listen(JointState, "joint_states", MANY)
        self.truth = bench.listen(Odometry, "simulator/floating_base_state", MANY)
        self.layout = JointLayout(robot())
        self.targets = bench.publisher(JointState, "joint_targets")
        bench.until(lambda: self.states and self.truth)

    def send(self, joints, velocities=None):
        stamp = self.node.get_clock().now().to_msg()
        self.targets.publish(self.layout.message(joints, velocities, stamp))

    def wait(self, count):
        """Waits for `count` further joint_states."""
        goal = len(self.states) + count
        self.bench.until(lambda: len(self.states) >= goal, seconds=10.0)

    def stand(self):
        for _ in range(50):
            self.send(standing_joints())
            self.wait(1)

    @property
    def joints(self):
        return self.layout.joints(self.states[-1])

    @property
    def height(self):
        return self.truth[-1].pose.pose.position.z

    def call(self, service, request=None):
        return self.bench.call(SetBool if request else Trigger, service, request)
