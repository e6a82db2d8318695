# SPDX-License-Identifier: Apache-2.0
"""gazebo_driver on real DDS. Another physics engine has the place of Gazebo, with the topics of gazebo_graph."""

from pathlib import Path

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger
from support.real_time.ros_bench import overrides, walking
from support.robots.head import head, head_file

from hexapod_control.config.robots.robot_file import from_text
from hexapod_control.config.robots.urdf import urdf
from hexapod_control.config.shipped_files import share
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.names import joint_names
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.gazebo_driver.gazebo_driver import GazeboDriverNode, vertical_force
from hexapod_control.nodes.inverse_kinematics.inverse_kinematics import InverseKinematicsNode
from hexapod_control.ros import messages
from hexapod_control.ros.qos import COMMAND, EVENTS
from hexapod_control.sim.simulation import Simulation
from hexapod_control.sim.start_poses import sitting_pose
from hexapod_control.sim.world_settings import WorldSettings

PERIOD_S = 0.02
FILE = head()
LEGS = FILE.robot.leg_names


class StandIn:
    """A simulated robot with the topics of a controller of positions, joint_state_broadcaster and force sensors."""

    def __init__(self, bench):
        self.simulation = Simulation(FILE.robot, urdf(FILE), WorldSettings())
        self.simulation.reset(sitting_pose(FILE.robot))
        self._command = self.simulation.servo_angles
        node = bench.probe
        self._clock = node.create_publisher(Clock, "/clock", EVENTS)
        self._states = node.create_publisher(JointState, "joint_states", COMMAND)
        self._wrenches = [node.create_publisher(WrenchStamped, f"{leg}_foot/wrench", COMMAND) for leg in LEGS]
        self.received = bench.listen(Float64MultiArray, "position_controller/commands")
        self._names = [*joint_names(LEGS), "pan_joint", "tilt_joint"]
        node.create_timer(PERIOD_S, self._step)

    def _step(self):
        simulation, legs = self.simulation, 3 * len(LEGS)
        if self.received:
            self._command = np.array(self.received[-1].data)
        simulation.aim_extra(self._command[legs:])
        simulation.step(self._command[:legs].reshape(-1, 3), PERIOD_S)
        stamp = messages.time(round(simulation.time * 1e9))
        self._clock.publish(Clock(clock=stamp))
        forces = zip(self._wrenches, simulation.world.feet, simulation.foot_forces.tolist(), strict=True)
        for publisher, body, force in forces:
            message = WrenchStamped()
            vector = message.wrench.force
            vector.x, vector.y, vector.z = force * simulation.data.xmat[body].reshape(3, 3)[2]
            publisher.publish(message)
        # joint_state_broadcaster may have another order, and has NaN for what the joints do not report
        turned = [*range(5, len(self._names)), *range(5)]
        angles = simulation.servo_angles
        message = JointState(name=[self._names[k] for k in turned], position=[float(angles[k]) for k in turned])
        message.effort = [np.nan] * len(turned)
        message.header.stamp = stamp
        self._states.publish(message)


def test_a_robot_stands_up_and_walks_with_the_topics_of_gazebo(bench, tmp_path):
    gazebo = StandIn(bench)
    feet = bench.listen(MultiDOFJointState, "foot_states")
    robot = {"robot": str(head_file(tmp_path)), "use_sim_time": True}
    bench.add(InverseKinematicsNode(parameter_overrides=overrides(**robot)))
    driver = bench.add(GazeboDriverNode(parameter_overrides=overrides(**robot)))
    planner = bench.planner(False, control_rate=50.0, **robot)
    bench.until(lambda: planner.planner.state is RobotState.SITTING, 10.0, "a known pose")
    assert bench.call(Trigger, "stand").success
    bench.until(lambda: planner.planner.state is RobotState.STANDING, 20.0, "standing")
    weight = FILE.robot.mass * 9.81
    bench.until(lambda: sum(w.force.z for w in feet[-1].wrench) == pytest.approx(weight, rel=0.2), 5.0, "the weight")
    targets = bench.publisher(JointState, "extra_joint_targets", EVENTS)
    targets.publish(JointState(name=["pan_joint"], position=[0.4]))
    walking(bench, planner)
    begin, since = gazebo.simulation.data.qpos[:2].copy(), gazebo.simulation.time
    bench.until(lambda: gazebo.simulation.time > since + 2.0, 20.0)
    way = np.linalg.norm(gazebo.simulation.data.qpos[:2] - begin)
    assert way == pytest.approx(2.0 * 0.08, rel=0.2)
    assert gazebo.simulation.reading().extra.angles[0] == pytest.approx(0.4, abs=0.03)
    assert len(gazebo.received[-1].data) == 3 * len(LEGS) + 2
    assert driver.status()["feet"] == "6 of 6 report a force"


@pytest.mark.parametrize("name", ["phantomx", "tilted"])
def test_a_force_along_the_base_s_z_is_found_from_its_components_at_the_foot_in_any_pose(name):
    """The direction in which the tibia points is that in which a longer one would move the foot."""
    text = share("config", "robots", "phantomx.yaml").read_text()
    tilted = text.replace("yaw_deg: 45.0,", "yaw_deg: 45.0, tilt_deg: [12, -20],")
    robot = from_text(Path("/robot.yaml"), tilted if name == "tilted" else text).robot
    assert any(leg.rotation is not None for leg in robot.legs) == (name == "tilted")
    rng = np.random.default_rng(4)
    for _ in range(20):
        joints = rng.uniform(-0.8, 0.8, (len(robot.legs), 3))
        feet = forward(robot, joints)
        turn = 1e-6
        for row, leg in enumerate(robot.legs):
            moved = joints.copy()
            moved[row, 2] += turn
            # the foot moves along z of its own frame when the tibia is lifted
            along = (forward(robot, moved)[row] - feet[row]) / (turn * leg.tibia.length)
            angles = joints[row].tolist()
            assert vertical_force(leg, angles, (0.0, 0.0, 1.0)) == pytest.approx(along[2], abs=1e-5)
            total = sum(vertical_force(leg, angles, tuple(axis)) ** 2 for axis in np.eye(3).tolist())
            assert total == pytest.approx(1.0)
