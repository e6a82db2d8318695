"""Publishers of mujoco_sim: the topics of a hardware node, and ground truth."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.se2 import wrap
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, EVENTS
from hexapod_control.ros.row_messages import FootStates, JointLayout
from hexapod_control.ros.static_frames import publish_mounting
from hexapod_control.sim.simulation import ImuNoise, InertialReading, SimulationReading

WORLD_FRAME = "world"
NO_COVARIANCE = np.zeros((6, 6))  # of ground truth


class SimulationOutput:
    """Publishers of one simulated robot."""

    def __init__(
        self, node: GuardedNode, robot: Robot, prefix: str, mapping: JointMapping | None = None, *, servos: bool = True
    ) -> None:
        """`prefix` is that of the frame ids; `servos`: also publish joint_states and foot_states."""
        self._base = f"{prefix}base_link"
        self._joints = JointLayout(robot, mapping)
        self._feet = FootStates(robot, self._base)
        self._joint_states = node.create_publisher(JointState, "joint_states", COMMAND) if servos else None
        self._foot_states = node.create_publisher(MultiDOFJointState, "foot_states", COMMAND) if servos else None
        self._imu = node.create_publisher(Imu, "imu/data", COMMAND)
        self._truth = node.create_publisher(Odometry, "simulator/floating_base_state", EVENTS)
        zero = (0.0, 0.0, 0.0)
        x, y, z = robot.imu
        frame = publish_mounting(node, prefix, "imu_link", BodyPose(x=x, y=y, z=z))
        self._inertial = messages.inertial_message(messages.Inertial(zero, zero, zero), Time(), frame)
        self._noise = ImuNoise(seed=0)
        self._imu_time = 0.0

    def imu(self, reading: InertialReading, stamp: Time) -> None:
        """Publishes imu/data, with noise and drift of a small IMU."""
        rate, acceleration = self._noise.step(reading.time - self._imu_time)
        self._imu_time = reading.time
        if not self._imu.is_received:
            return
        roll, pitch, yaw = quaternion_angles(*reading.orientation)
        inertial = messages.Inertial(
            (roll, pitch, wrap(yaw + self._noise.heading)),
            _vector(reading.angular_velocity + rate),
            _vector(reading.acceleration + acceleration),
        )
        self._imu.publish(messages.refill(self._inertial, inertial, stamp))

    def state(self, reading: SimulationReading, stamp: Time) -> None:
        """Publishes foot_states, then joint_states (which odometry pairs with them), and ground truth."""
        if self._foot_states:
            self._feet.update(reading.joints, reading.time)
            self._foot_states.publish(self._feet.message(reading.foot_forces, stamp))
        if self._joint_states:
            message = self._joints.message(reading.joints, reading.joint_velocity, stamp, reading.joint_torque)
            self._joint_states.publish(message)
        if not self._truth.is_received:
            return
        pose = BodyPose(*_vector(reading.position), *quaternion_angles(*reading.orientation.tolist()))
        velocity = (_vector(reading.velocity), _vector(reading.angular_velocity))
        self._truth.publish(
            messages.odometry_message(pose, velocity, (NO_COVARIANCE, NO_COVARIANCE), (WORLD_FRAME, self._base), stamp)
        )


def _vector(values: Array) -> Vector:
    x, y, z = values.tolist()
    return x, y, z
