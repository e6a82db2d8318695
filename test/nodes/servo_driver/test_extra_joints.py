# SPDX-License-Identifier: Apache-2.0
"""Extra joints on the bus of a walk, over real DDS: emulated servos, servos in physics, and physics without a bus."""

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool
from support.phantomx import standing_joints
from support.real_time.ros_bench import overrides, walking
from support.robots.head import GRIPPER, PLAIN, gripper, head, head_file

from hexapod_control.bringup import node_graph
from hexapod_control.core.names import joint_names
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.nodes.link_frames.link_frames import LinkFramesNode
from hexapod_control.nodes.mujoco_sim.mujoco_sim import MujocoSimNode
from hexapod_control.nodes.servo_driver.servo_driver import ServoDriverNode
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import EVENTS, LATCHED
from hexapod_control.ros.row_messages import JointLayout

LEGS = joint_names(head().robot.leg_names)


class WalkingHead:
    """A robot with a camera head that walks on the hardware nodes of the test."""

    def __init__(self, bench, hardware):
        self.bench, self.hardware = bench, hardware
        bench.add(InverseKinematicsNode())
        self.states = bench.listen(JointState, "joint_states")
        self.targets = bench.publisher(JointState, "extra_joint_targets", EVENTS)
        holds = bench.listen(Bool, "armed", LATCHED)
        bench.until(lambda: holds and holds[-1].data, 15.0, "armed")
        self.planner = bench.planner()  # its first target is the standing pose
        layout = JointLayout(head().robot)
        bench.until(lambda: np.abs(layout.joints(self.states[-1]) - standing_joints()).max() < 0.15, 8.0, "standing")
        self.stream = walking(bench, self.planner)

    def aim(self, **angles):
        names = [f"{name}_joint" for name in angles]
        self.targets.publish(JointState(name=names, position=list(angles.values())))

    def angle(self, joint):
        message = self.states[-1]
        assert len(message.name) == len(message.position) == len(message.velocity) == len(LEGS) + 2
        return message.position[message.name.index(f"{joint}_joint")]

    def walks(self):
        return self.planner.output.last.twist.vx > 0.07


@pytest.fixture(params=["servos", "physics", "servos in physics"])
def walker(request, bench, wire, tmp_path):
    robot = str(head_file(tmp_path))
    if request.param == "servos":
        return WalkingHead(bench, [wire(start=standing_joints(), name=robot).driver(bench)])
    bus = {"bus": "feetech_st", "servo_port": str(tmp_path / "bus")} if request.param == "servos in physics" else {}
    nodes = {"servo_driver": ServoDriverNode, "mujoco_sim": MujocoSimNode}
    specs = {each.executable: each for each in node_graph.specs("sim", {"web": False, "robot": robot, **bus})}
    made = [
        bench.add(nodes[name](parameter_overrides=overrides(**specs[name].parameters)))
        for name in nodes
        if name in specs
    ]
    return WalkingHead(bench, made)


def test_they_move_beside_the_walk_and_an_emergency_stop_frees_them(walker):
    bench = walker.bench
    walker.aim(pan=0.5)
    walker.aim(tilt=0.7)
    bench.until(lambda: walker.angle("pan") > 0.47 and walker.angle("tilt") > 0.67, 5.0, "the head has turned")
    assert walker.walks() and set(LEGS) < set(walker.states[-1].name)
    walker.aim(nose=1.0)
    refused = "joint 'nose_joint' is unknown; the extra joints are pan_joint, tilt_joint"
    bench.until(lambda: any(refused in text for node in walker.hardware for text in node.recent_reports()), 3.0)
    assert bench.call(SetBool, "estop", SetBool.Request(data=True)).success
    stopped = walker.angle("pan")
    walker.aim(pan=-0.5)
    seen = len(walker.states)
    bench.until(lambda: len(walker.states) > seen + 50, 5.0)
    assert walker.angle("pan") > stopped - 0.2  # without torque it coasts at most


def test_an_unplugged_one_is_named_and_the_robot_walks_on(bench, wire, tmp_path):
    servos = wire(start=standing_joints(), name=str(head_file(tmp_path)))
    walker = WalkingHead(bench, [servos.driver(bench)])
    received = bench.listen(DiagnosticArray, "/diagnostics")
    servos.world.unplug(len(LEGS))
    text = "the robot walks on without it: check its cable and id"
    bench.until(lambda: any(text in status.message for m in received for status in m.status), 10.0, "the report")
    begin, seen = np.array(walker.planner.output.last.joint_angles), len(walker.states)
    bench.until(lambda: len(walker.states) > seen + 25, 5.0)
    bench.until(walker.walks, 5.0, "walking on")  # a loaded machine may have been late
    assert np.abs(walker.planner.output.last.joint_angles - begin).max() > 0.02


@pytest.mark.parametrize("kind", ["servos", "physics"])
def test_a_gripper_closes_by_metres_and_says_where_every_finger_is(kind, bench, wire, tmp_path):
    path = tmp_path / "gripper.yaml"
    path.write_text(PLAIN + GRIPPER)
    states = bench.listen(JointState, "joint_states")
    moving = bench.listen(TFMessage, "/tf", EVENTS)
    holds = bench.listen(Bool, "armed", LATCHED)
    if kind == "servos":
        node = wire(start=standing_joints(), name=str(path)).driver(bench)
    else:
        spec = next(
            s for s in node_graph.specs("sim", {"web": False, "robot": str(path)}) if s.executable == "mujoco_sim"
        )
        node = bench.add(MujocoSimNode(parameter_overrides=overrides(**spec.parameters)))
    bench.add(LinkFramesNode(parameter_overrides=overrides(robot=str(path))))
    bench.until(lambda: holds and holds[-1].data, 15.0, "armed")
    targets = bench.publisher(JointState, "extra_joint_targets", EVENTS)

    def at(name):
        return states[-1].position[states[-1].name.index(f"{name}_joint")]

    targets.publish(JointState(name=["left_finger_joint"], position=[0.015], velocity=[0.05]))
    bench.until(lambda: states and abs(at("left_finger") - 0.015) < 1e-3, 8.0, "the finger is there")
    message = states[-1]
    assert list(message.name) == [*LEGS, *(f"{extra.name}_joint" for extra in gripper().robot.extra_joints)]
    assert len(message.position) == len(message.velocity) == len(message.name)
    assert at("right_finger") == pytest.approx(-1.5 * at("left_finger") - 0.001)
    assert at("tip") == pytest.approx(20.0 * at("left_finger") + np.radians(5.0))

    def slid():
        frames = {each.child_frame_id: each.transform for message in moving[-1:] for each in message.transforms}
        return "right_finger_link" in frames and abs(frames["right_finger_link"].translation.y + 0.0335) < 2e-3

    bench.until(slid, 8.0, "the frame of the finger that mimics")
    targets.publish(JointState(name=["tip_joint"], position=[0.1]))
    refused = "joint 'tip_joint' follows left_finger_joint; send a target of that one"
    bench.until(lambda: any(refused in text for text in node.recent_reports()), 5.0, "the refusal")


def test_urdf_and_frames_of_a_walking_robot_have_them(bench, tmp_path):
    moving = bench.listen(TFMessage, "/tf", EVENTS)
    text = bench.listen(String, "robot_description", LATCHED)
    bench.add(LinkFramesNode(parameter_overrides=overrides(robot=str(head_file(tmp_path)))))
    sender = bench.publisher(JointState, "joint_states")
    angles = [*np.ravel(standing_joints()).tolist(), 0.5, 0.3]
    message = JointState(name=[*LEGS, "pan_joint", "tilt_joint"], position=angles)
    bench.until(lambda: sender.publish(message) or moving, what="/tf")
    frames = {each.child_frame_id: each for each in moving[-1].transforms}
    turn = frames["pan_link"].transform.rotation
    assert frames["tilt_link"].header.frame_id == "pan_link"
    assert 2.0 * np.arctan2(turn.z, turn.w) == pytest.approx(0.5)
    assert '<ros2_control name="phantomx_extra_joints"' in text[-1].data and text[-1].data.count("<ros2_control") == 1
