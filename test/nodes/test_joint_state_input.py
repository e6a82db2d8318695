"""Every node that reads joint_states refuses invalid samples and uses valid ones."""

import numpy as np
from geometry_msgs.msg import Pose, PoseWithCovariance, Quaternion
from nav_msgs.msg import Odometry
from sensor_msgs.msg import JointState
from support.phantomx import robot, standing_joints

from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.ros import messages
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.row_messages import JointLayout


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
        odom.publish(Odometry(pose=PoseWithCovariance(pose=Pose(orientation=Quaternion(w=0.0)))))
        bench.until(lambda: refusal(planner) and refusal(kinematics))
        bench.until(lambda: feed.state() and refusal(page) and refusal(page, "odom"))
    for node in (planner, kinematics, page):
        assert "left_front_coxa_joint is 100 rad, far outside its limits -1.31 to 1.31 rad" in refusal(node)
        assert not [kind for kind in node.sent_reports if kind.startswith("failed")]
    assert planner.planner.state.value == "unknown"
    assert not targets
    bench.probe.create_timer(0.02, lambda: joints.publish(layout.message(standing_joints(), None, messages.time(0))))
    bench.until(lambda: planner.planner.state.value != "unknown")
