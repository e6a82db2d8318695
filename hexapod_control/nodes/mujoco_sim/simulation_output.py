"""What mujoco_sim says of its world: the topics of a driver node, and the truth that only a simulator knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.leg_kinematics import forward
from hexapod_control.core.kinematics.se2 import wrap
from hexapod_control.core.robot import Robot, Vector
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, EVENTS
from hexapod_control.ros.row_messages import FootLayout, JointLayout
from hexapod_control.sim.imu_noise import ImuNoise
from hexapod_control.sim.simulation import SimulationReading

WORLD = "world"
EXACT = np.zeros((6, 6))  # covariance of the truth


class SimulationOutput:
    """Publishers of one simulated robot."""

    def __init__(self, node: GuardedNode, robot: Robot, prefix: str, *, servos: bool = True) -> None:
        """`prefix` comes before base_link and imu_link; without `servos` others speak of joints and feet."""
        self._robot = robot
        self._base, self._imu_frame = f"{prefix}base_link", f"{prefix}imu_link"
        self._joints, self._feet = JointLayout(robot), FootLayout(robot, self._base)
        self._joint_states = node.create_publisher(JointState, "joint_states", COMMAND) if servos else None
        self._foot_states = node.create_publisher(MultiDOFJointState, "foot_states", COMMAND) if servos else None
        self._imu = node.create_publisher(Imu, "imu/data", COMMAND)
        self._truth = node.create_publisher(Odometry, "simulator/floating_base_state", EVENTS)
        self._noise, self._imu_time = ImuNoise(seed=0), 0.0
        self._last: tuple[float, Array] | None = None  # [s], [m] feet at the last time

    def imu(self, reading: SimulationReading, stamp: Any) -> None:
        """Publishes imu/data, with the errors of a small IMU."""
        rate, acceleration = self._noise.step(reading.time - self._imu_time)
        self._imu_time = reading.time
        roll, pitch, yaw = quaternion_angles(*reading.orientation.tolist())
        inertial = messages.Inertial(
            (roll, pitch, wrap(yaw + self._noise.heading)),
            _vector(reading.angular_velocity + rate),
            _vector(reading.acceleration + acceleration),
        )
        self._imu.publish(messages.inertial_message(inertial, stamp, self._imu_frame))

    def state(self, reading: SimulationReading, stamp: Any) -> None:
        """Publishes feet, joints and the truth: who takes the joints knows then which feet stand."""
        if self._foot_states:
            feet = forward(self._robot, reading.joints)
            velocities = self._foot_velocities(feet, reading.time)
            self._foot_states.publish(self._feet.message(feet, velocities, reading.foot_forces, stamp))
        if self._joint_states:
            message = self._joints.message(reading.joints, reading.joint_velocity, stamp, reading.joint_torque)
            self._joint_states.publish(message)
        pose = BodyPose(*_vector(reading.position), *quaternion_angles(*reading.orientation.tolist()))
        velocity = (_vector(reading.velocity), _vector(reading.angular_velocity))
        self._truth.publish(messages.odometry_message(pose, velocity, (EXACT, EXACT), (WORLD, self._base), stamp))

    def _foot_velocities(self, feet: Array, time: float) -> Array:
        """Mean speeds (n, 3) [m/s] in base_link since the last time."""
        last, self._last = self._last, (time, feet)
        if last is None or time <= last[0]:
            return np.zeros_like(feet)
        velocities: Array = (feet - last[1]) / (time - last[0])
        return velocities


def _vector(values: Array) -> Vector:
    x, y, z = values.tolist()
    return x, y, z
