"""The lidar of mujoco_sim: `scan`, its frame on /tf_static, and a count of collisions.

`simulator/collisions` counts contacts with walls and obstacles: ground truth for tests of navigation.
"""

from __future__ import annotations

import math

from builtin_interfaces.msg import Time
from sensor_msgs.msg import LaserScan
from std_msgs.msg import UInt32

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.robot import Robot
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import LATCHED, SCANS
from hexapod_control.ros.static_frames import publish_mounting
from hexapod_control.sim.lidar import Lidar
from hexapod_control.sim.simulation import CollisionCounter, Simulation
from hexapod_control.sim.world_settings import LidarSettings

SCHEDULE_TOLERANCE_S = 0.5e-3  # by which a scan may be early: half a step


class LidarOutput:
    """Publishes the scans of one simulated lidar, and the collisions."""

    def __init__(self, node: GuardedNode, robot: Robot, prefix: str, settings: LidarSettings) -> None:
        """`prefix` is that of the frame ids base_link and lidar_link."""
        self._lidar = Lidar(robot, settings)
        self._collisions = CollisionCounter()
        self._period = 1.0 / settings.scan_rate
        self._last = -math.inf  # [s] simulated time of the last scan
        self._scan = node.create_publisher(LaserScan, "scan", SCANS)
        self._count = node.create_publisher(UInt32, "simulator/collisions", LATCHED)
        self._count.publish(UInt32(data=0))
        x, y, z = self._lidar.position
        self._frame = publish_mounting(node, prefix, "lidar_link", BodyPose(x=x, y=y, z=z))

    @property
    def collisions(self) -> int:
        """Number of collisions so far."""
        return self._collisions.count

    def publish(self, simulation: Simulation, stamp: Time) -> None:
        """Publishes a scan if one is due, and new collisions; call it after every step of the world."""
        before = self._collisions.count
        self._collisions.update(simulation)
        if self._collisions.count != before:
            self._count.publish(UInt32(data=self._collisions.count))
        if 0.0 <= simulation.time - self._last < self._period - SCHEDULE_TOLERANCE_S:
            return
        self._last = simulation.time
        if self._scan.is_received:
            self._scan.publish(messages.scan_message(self._lidar.scan(simulation), self._period, stamp, self._frame))
