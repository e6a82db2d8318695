# SPDX-License-Identifier: Apache-2.0
"""The node of `hexapod patrol`: receives the pose of the robot and the obstacles around it, publishes cmd_vel."""

from __future__ import annotations

import math
import time

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan
from std_msgs.msg import UInt32

from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient, TrajectoryLog, sample
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.command_priorities import SOURCES
from hexapod_control.core.steering.obstacle_avoidance import points, transform_points
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import LATCHED, LATCHED_TREE, SENSOR
from hexapod_control.ros.row_messages import MessageError

MAX_SCAN_AGE_S = 0.6  # in the time of the odometry
MAX_ODOMETRY_AGE_S = 1.0  # without odometry the robot is stopped
SENSOR_AT_BASE = Pose(0.0, 0.0, 0.0)
BASES = ("base_link", "base_footprint")  # frames, without the prefix of a robot


class PatrolClient(RobotClient):
    """A robot client that also receives odometry and scans, and transforms the scanned obstacles to odom."""

    source_name = "navigation"

    def __init__(self, options: ConnectionOptions) -> None:
        super().__init__(options)
        self.odometry = TrajectoryLog()
        self.truth = TrajectoryLog()
        self._odometry_received = -math.inf  # [s] steady time
        self.obstacles: Array = np.zeros((0, 2))  # [m] in odom
        self.scanned = -math.inf  # [s] time of the odometry at the last scan
        self.collisions: int | None = None  # counted by the simulator
        # Scan not yet transformed: time [s] and points [m] in base_footprint.
        self._pending: tuple[float, Array] | None = None
        self._sensors: dict[str, Pose] = {}  # by frame, in base_link
        self.unplaced_frame = ""  # frame of the last scan, if its place on the robot is unknown
        create = self._node.create_subscription
        create(Odometry, "odom", self._on_odometry, 50)
        create(Odometry, "simulator/floating_base_state", lambda message: self.truth.add(sample(message)), 50)
        create(LaserScan, "scan", self._on_scan, SENSOR)
        create(TFMessage, "/tf_static", self._on_frames, LATCHED_TREE)
        create(UInt32, "simulator/collisions", self._on_collisions, LATCHED)

    def _on_collisions(self, message: UInt32) -> None:
        self.collisions = message.data

    def _on_odometry(self, message: Odometry) -> None:
        self.odometry.add(sample(message))
        self._odometry_received = time.monotonic()
        self._transform_scan()

    def _on_frames(self, message: TFMessage) -> None:
        for item in message.transforms:
            if _unprefixed(item.header.frame_id) == "base_link":
                place = item.transform.translation
                try:
                    yaw = messages.roll_pitch_yaw(item.transform.rotation)[2]
                except MessageError:
                    continue
                self._sensors[item.child_frame_id] = Pose(place.x, place.y, yaw)

    def _on_scan(self, message: LaserScan) -> None:
        if not len(self.odometry):
            return
        try:
            scan = messages.scan(message)
        except MessageError:
            return
        frame = message.header.frame_id
        self.unplaced_frame = "" if frame in self._sensors or _unprefixed(frame) in BASES else frame
        sensor = self._sensors.get(frame, SENSOR_AT_BASE)
        self._pending = messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS, points(scan, sensor)
        self._transform_scan()

    def _transform_scan(self) -> None:
        """Transforms the pending scan to odom, once the odometry for its time has arrived."""
        if self._pending is None:
            return
        stamp, scanned = self._pending
        last = self.odometry.last
        age = self.odometry.last.time - stamp
        if -MAX_SCAN_AGE_S < age < 0.0:
            return  # the odometry for that time has not arrived yet
        same_clock = 0.0 <= age < MAX_SCAN_AGE_S and len(self.odometry) > 1
        self.obstacles = transform_points(scanned, self.odometry.at(stamp) if same_clock else last.pose)
        self.scanned = last.time
        self._pending = None

    @property
    def scan_is_old(self) -> bool:
        """True if there is no recent scan."""
        return self.odometry.last.time - self.scanned > MAX_SCAN_AGE_S

    @property
    def odometry_is_old(self) -> bool:
        """True if there is no recent odometry."""
        return time.monotonic() - self._odometry_received > MAX_ODOMETRY_AGE_S

    @property
    def other_driver(self) -> str:
        """The other command source that drives the robot now; empty if there is none."""
        return self.source if self.source in SOURCES and self.source != self.source_name else ""


def _unprefixed(frame: str) -> str:
    """Name of a frame without the prefix of its robot."""
    return frame.rpartition("/")[2]
