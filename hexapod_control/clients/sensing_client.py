# SPDX-License-Identifier: Apache-2.0
"""A robot client that also receives joint angles, torques and tilt."""

from __future__ import annotations

from sensor_msgs.msg import Imu, JointState

from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Point, Robot
from hexapod_control.ros import messages
from hexapod_control.ros.qos import COMMAND, NEWEST_SENSOR
from hexapod_control.ros.row_messages import JointLayout


class SensingClient(RobotClient):
    """The newest measurements of one robot."""

    def __init__(self, options: ConnectionOptions, robot: Robot) -> None:
        super().__init__(options)
        self.joints: Array | None = None  # (n, 3) [rad]
        self.torques: Array | None = None  # (n, 3) [N m], None if the servos do not report them
        self.tilt: Point | None = None  # [rad] roll and pitch, None without an IMU
        self._layout = JointLayout(robot)
        self._node.create_subscription(JointState, "joint_states", self._on_joints, COMMAND)
        self._node.create_subscription(Imu, "imu/data", self._on_imu, NEWEST_SENSOR)

    def _on_joints(self, message: JointState) -> None:
        self.joints = self._layout.joints(message).copy()
        torques = self._layout.torques(message)
        self.torques = None if torques is None else torques.copy()

    def _on_imu(self, message: Imu) -> None:
        orientation = messages.inertial(message).orientation
        if orientation is not None:
            self.tilt = orientation[0], orientation[1]
