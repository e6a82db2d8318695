# SPDX-License-Identifier: Apache-2.0
"""The node of `hexapod patrol`: receives the pose of the robot and the obstacles around it, publishes cmd_vel."""

from __future__ import annotations

from nav_msgs.msg import Odometry
from std_msgs.msg import UInt32

from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient
from hexapod_control.core.steering.command_priorities import SOURCES
from hexapod_control.nodes.obstacle_view import ObstacleView
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.trajectory_log import TrajectoryLog, sample


class PatrolClient(RobotClient):
    """A robot client that also receives odometry, scans, and in simulation the true pose."""

    source_name = "navigation"

    def __init__(self, options: ConnectionOptions) -> None:
        super().__init__(options)
        create = self._node.create_subscription
        self.view = ObstacleView(create)
        self.odometry = self.view.odometry
        self.truth = TrajectoryLog()
        self.collisions: int | None = None  # counted by the simulator
        create(Odometry, "simulator/floating_base_state", lambda message: self.truth.add(sample(message)), 50)
        create(UInt32, "simulator/collisions", self._on_collisions, LATCHED)

    def _on_collisions(self, message: UInt32) -> None:
        self.collisions = message.data

    @property
    def other_driver(self) -> str:
        """The other command source that drives the robot now; empty if there is none."""
        return self.source if self.source in SOURCES and self.source != self.source_name else ""
