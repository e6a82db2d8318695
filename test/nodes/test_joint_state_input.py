# SPDX-License-Identifier: Apache-2.0
"""Every node that reads joint_states refuses invalid samples and uses valid ones."""

import math
import subprocess
import sys

import numpy as np
import pytest
from geometry_msgs.msg import Pose, PoseWithCovariance, Quaternion
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import CONTROL_RATE, overrides

from hexapod_control.core.names import joint_names
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.gait_planner.gait_planner import GaitPlannerNode
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.odometry.odometry import OdometryNode
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.ros import messages
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.row_messages import JointLayout
from hexapod_control.ros.transport.handover import Handover


def refusal(node, topic="joint_states"):
    return node.last_report(f"refused {topic}")


def test_planner_kinematics_and_page_use_no_foreign_joint_states(bench):
    planner, kinematics = bench.planner(on_its_feet=False), bench.add(InverseKinematicsNode())
    page = bench.add(GuardedNode("web"))
    feed = RobotFeed(page, robot(), stamped_by_default(), lambda *what: None)
    feed.watch(wanted=True)
    targets = bench.listen(JointState, "joint_targets")
    layout = JointLayout(robot())
    joints = bench.publisher(JointState, "joint_states", matched=3)
    odom = bench.publisher(Odometry, "odom")
    for _ in range(3):
        joints.publish(layout.message(np.full((6, 3), 100.0), None, messages.time(0)))
        bench.until(lambda: refusal(planner) and refusal(kinematics))
        joints.publish(layout.message(np.full((6, 3), 100.0), None, messages.time(0)))  # the page reads only new ones
        odom.publish(Odometry(pose=PoseWithCovariance(pose=Pose(orientation=Quaternion(w=0.0)))))
        bench.until(lambda: feed.state() and refusal(page) and refusal(page, "odom"))
    for node in (planner, kinematics, page):
        assert "left_front_coxa_joint is 100 rad, far outside its limits -1.31 to 1.31 rad" in refusal(node)
        assert not [kind for kind in node.sent_reports if kind.startswith("failed")]
    assert planner.planner.state.value == "unknown"
    assert not targets
    bench.probe.create_timer(0.02, lambda: joints.publish(layout.message(standing_joints(), None, messages.time(0))))
    bench.until(lambda: planner.planner.state.value != "unknown")


STRANGER = """
import sys, rclpy
from sensor_msgs.msg import JointState
rclpy.init()
node = rclpy.create_node("stranger")
publisher = node.create_publisher(JointState, "joint_states", 10)
names, position = sys.argv[1].split(), [float(value) for value in sys.argv[2].split()]

def send():
    message = JointState(name=names, position=position)
    message.header.stamp = node.get_clock().now().to_msg()
    publisher.publish(message)

node.create_timer(0.02, send)
rclpy.spin(node)
"""


@pytest.mark.parametrize("shared", [False, True], ids=["separate nodes", "one process"])
def test_while_the_driver_is_there_joint_states_of_another_program_are_never_used_even_if_the_driver_is_late(
    bench, shared
):
    """A stranger sends the angles with permuted names, and the driver gets no computing time for a second."""
    handover = Handover() if shared else None
    lying = np.array(Planner(robot()).view.lying_joints)
    options = {"handover": handover, "parameter_overrides": overrides(control_rate=CONTROL_RATE)}
    driver = bench.add(ServoDriverNode(start=lying, **options))
    nodes = [bench.add(kind(handover=handover)) for kind in (InverseKinematicsNode, OdometryNode)]
    planner = bench.add(GaitPlannerNode(**options))
    odom = bench.listen(Odometry, "odom")
    bench.until(lambda: planner.planner.state is RobotState.SITTING and odom)
    arguments = " ".join(reversed(joint_names(robot().leg_names))), " ".join(map(str, lying.ravel()))
    stranger = subprocess.Popen([sys.executable, "-c", STRANGER, *arguments], start_new_session=True)
    try:
        bench.until(lambda: all(each.last_report("foreign joint_states") for each in (planner, *nodes)), 10.0)
        bench.executor.remove_node(driver)
        bench.spin(1.0)
        assert np.abs(planner.output.last.joint_angles - lying).max() < 0.05
        bench.executor.add_node(driver)
        odom.clear()
        bench.until(lambda: odom)
    finally:
        stranger.kill()
        stranger.wait()
    for node in (planner, *nodes):
        assert "joint_states of /stranger are not used" in node.last_report("foreign joint_states")
    position = odom[-1].pose.pose.position
    assert math.hypot(position.x, position.y) < 0.01


def test_joints_of_a_gripper_beside_those_of_the_robot_are_ignored(bench):
    planner, odometry = bench.planner(on_its_feet=False), bench.add(OdometryNode())
    bench.add(InverseKinematicsNode())
    odom, states = bench.listen(Odometry, "odom"), bench.publisher(JointState, "joint_states", matched=3)
    message = JointLayout(robot()).message(standing_joints(), None, messages.time(0))
    message.name, message.position = ["gripper", *message.name, "pan"], [math.nan, *message.position, 7.0]
    bench.probe.create_timer(0.02, lambda: states.publish(message))
    bench.until(lambda: planner.planner.state is RobotState.STANDING and odom)
    assert not refusal(planner) and not refusal(odometry)
    message.name = message.name[:-2]
    message.position = message.position[:-2]
    bench.until(lambda: refusal(planner) and refusal(odometry))
    assert "joint 'gripper' is unknown; this robot has left_front_coxa_joint, " in refusal(planner)
    assert ": right_rear_tibia_joint missing; send all 18 in one message" in refusal(planner)
