# SPDX-License-Identifier: Apache-2.0
"""Emergency stop of a simulated robot, with an emulated bus and without: the planner is in the state without torque."""

import pytest
from geometry_msgs.msg import Pose
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger
from support.phantomx import robot as phantomx
from support.real_time.ros_bench import overrides, twist, walking

from hexapod_control.bringup import node_graph
from hexapod_control.core.kinematics.support_detection import belly_height
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros import messages
from hexapod_control.ros.qos import LATCHED

LYING_M = belly_height(phantomx()) + 0.001  # of base_link
ROSE_M = 0.003  # by which contacts of a body at rest may lift it
STANDS_UP_M = 0.02  # by which only a robot that stands up lifts its body
PRESSED, RELEASED = SetBool.Request(data=True), SetBool.Request(data=False)
TORQUE_OFF = "the torque is off: run hexapod arm, after an emergency stop hexapod reset first, then hexapod stand"


class SimulatedRobot:
    """Hardware nodes, kinematics and planner in this process; the robot walks."""

    def __init__(self, bench, given):
        self.bench, self.height = bench, 0.0  # [m] of base_link
        specs = {spec.executable: spec for spec in node_graph.specs("sim", {"web": False, **given})}
        self.hardware = [
            bench.add(node(parameter_overrides=overrides(**specs[name].parameters)))
            for name, node in (("servo_driver", ServoDriverNode), ("mujoco_sim", MujocoSimNode))
            if name in specs
        ]
        bench.add(InverseKinematicsNode())
        self.holds = bench.listen(Bool, "armed", LATCHED)
        bench.probe.create_subscription(Odometry, "simulator/floating_base_state", self._see, QoSProfile(depth=5))
        bench.until(lambda: self.holds and self.holds[-1].data, 15.0, "armed")
        self.node = bench.planner()  # its first target is the standing pose: quicker than standing up step by step
        bench.until(lambda: self.height > 0.95 * phantomx().walk.height, 5.0, "standing")
        self.stream = walking(bench, self.node)

    def _see(self, message):
        self.height = message.pose.pose.position.z

    def state(self):
        return self.node.planner.state.value


@pytest.mark.parametrize("given", [{}, {"bus": "feetech_st"}], ids=["without bus", "bus"])
def test_after_an_emergency_stop_every_request_is_refused_and_the_robot_stays_as_it_lies_until_stand(
    bench, tmp_path, given
):
    if given:
        given = {**given, "servo_port": str(tmp_path / "bus")}
    robot = SimulatedRobot(bench, given)
    node, stood = robot.node, robot.height
    assert bench.call(SetBool, "estop", PRESSED).success
    bench.until(lambda: not robot.holds[-1].data and robot.state() == "unknown", 0.5, "torque off is known")
    for service in ("stand", "sit", "pack"):
        answer = bench.call(Trigger, service)
        assert (answer.success, answer.message) == (False, TORQUE_OFF)
    bench.publisher(Pose, "body_pose").publish(Pose(orientation=messages.quaternion(0.0, 0.0, 0.1)))
    bench.publisher(String, "gait").publish(String(data="wave"))
    bench.publisher(String, "motion").publish(String(data="bow"))
    bench.publisher(MultiDOFJointState, "foot_command").publish(MultiDOFJointState())
    robot.stream.command = twist  # a zero, after which velocities count again
    bench.until(lambda: not node.velocity.filter.ignored)
    robot.stream.command = lambda: twist(0.08)
    for kind in ("pose", "gait", "motion", "foot", "not standing"):
        bench.until(lambda kind=kind: TORQUE_OFF in node.last_report(kind), 2.0, kind)
    bench.until(lambda: robot.height < LYING_M, 5.0, "the robot sinks")

    assert bench.call(SetBool, "estop", RELEASED).success
    assert bench.call(Trigger, "reset_fault").success
    bench.until(lambda: bench.call(Trigger, "arm").success, 5.0)
    assert not [text for each in robot.hardware for text in each.recent_reports() if "emergency stop" in text]
    bench.until(lambda: robot.state() == "sitting", 2.0, "the pose is known")
    lay, rows = robot.height, bench.listen(JointState, "joint_states")
    bench.until(lambda: len(rows) > 25)  # half a second, in which velocities keep coming
    assert robot.state() == "sitting"
    assert robot.height < lay + ROSE_M
    assert bench.call(Trigger, "stand").success
    bench.until(lambda: robot.height > lay + STANDS_UP_M, 15.0, "it stands up")
    if not given:  # the planner goes on in the same way over a bus
        bench.until(lambda: robot.state() == "walking" and robot.height > 0.9 * stood, 15.0, "it walks again")
