# SPDX-License-Identifier: Apache-2.0
"""Where the robot is, and what its lidar sees around it: odometry and scans, both in odom.

A planar lidar on a tilted body sees the ground as walls: with an IMU, rays that meet the ground are left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import Imu, LaserScan

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.obstacle_avoidance import levelled, points, transform_points
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import LATCHED_TREE, SENSOR
from hexapod_control.ros.row_messages import MessageError
from hexapod_control.ros.trajectory_log import TrajectoryLog, sample

ODOMETRY_DEPTH = 50
MAX_SCAN_AGE_S = 0.6  # in the time of the odometry
MAX_TILT_AGE_S = 0.5  # of imu/data
MAX_ODOMETRY_AGE_S = 1.0  # without odometry the robot is stopped
SENSOR_AT_BASE = Pose(0.0, 0.0, 0.0)
BASES = ("base_link", "base_footprint")  # frames, without the prefix of a robot


class ObstacleView:
    """Receives `odom`, `scan`, `/tf_static` and, with `height`, `imu/data` of a node."""

    def __init__(self, create: Callable[..., Any], kept: int = 0, height: Callable[[], float] | None = None) -> None:
        """`create(type, topic, callback, qos)` creates a subscription; `kept` as in TrajectoryLog.

        `height()` is at least how high base_link is above the ground now [m]; without it the tilt is not looked at.
        """
        self._height = height
        self._tilt: tuple[float, float] | None = None  # [rad] roll and pitch
        self._tilted_at = -math.inf  # [s] steady time
        self.tilted = False  # whether most of the last scan was on the ground
        self.odometry = TrajectoryLog(kept)
        self._odometry_received = -math.inf  # [s] steady time
        self.obstacles: Array = np.zeros((0, 2))  # [m] in odom
        self.scan: Array = np.zeros((0, 2))  # the same [m] in base_footprint
        self.scan_pose = Pose(0.0, 0.0, 0.0)  # in odom, where it was taken
        self.deviation = 0.0  # [m] standard deviation of the place by odometry; 0: not known
        self.scanned = -math.inf  # [s] time of the odometry at the last scan
        # Scan not yet transformed: time [s] and points [m] in base_footprint.
        self._pending: tuple[float, Array] | None = None
        self._sensors: dict[str, Pose] = {}  # by frame, in base_link
        self._above: dict[str, float] = {}  # [m] by frame, above base_link
        self.unplaced_frame = ""  # frame of the last scan, if its place on the robot is unknown
        self.subscriptions = (
            create(Odometry, "odom", self._on_odometry, ODOMETRY_DEPTH),
            create(LaserScan, "scan", self._on_scan, SENSOR),
            create(TFMessage, "/tf_static", self._on_frames, LATCHED_TREE),
            *([create(Imu, "imu/data", self._on_imu, SENSOR)] if height else []),
        )

    def _on_odometry(self, message: Odometry) -> None:
        self.odometry.add(sample(message))
        self.deviation = math.sqrt(max(0.0, message.pose.covariance[0], message.pose.covariance[7]))
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
                self._above[item.child_frame_id] = place.z

    def _on_imu(self, message: Imu) -> None:
        if message.orientation_covariance[0] < 0.0:
            return
        try:
            roll, pitch, _ = messages.roll_pitch_yaw(message.orientation)
        except MessageError:
            return
        self._tilt = (roll, pitch) if math.isfinite(roll + pitch) else None
        self._tilted_at = time.monotonic()

    def _levelled(self, scanned: Array, frame: str) -> Array:
        self.tilted = False
        if self._height is None or self._tilt is None or time.monotonic() - self._tilted_at > MAX_TILT_AGE_S:
            return scanned
        seen = levelled(scanned, self._tilt, self._above.get(frame, 0.0), self._height())
        self.tilted = 2 * len(seen) < len(scanned)
        return seen

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
        seen = self._levelled(points(scan, sensor), frame)
        self._pending = messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS, seen
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
        self.scan = scanned
        self.scan_pose = self.odometry.at(stamp) if same_clock else last.pose
        self.obstacles = transform_points(scanned, self.scan_pose)
        self.scanned = last.time
        self._pending = None

    @property
    def scan_is_old(self) -> bool:
        """True if there is no recent scan."""
        return not len(self.odometry) or self.odometry.last.time - self.scanned > MAX_SCAN_AGE_S

    @property
    def odometry_is_old(self) -> bool:
        """True if there is no recent odometry."""
        return time.monotonic() - self._odometry_received > MAX_ODOMETRY_AGE_S


def _unprefixed(frame: str) -> str:
    """Name of a frame without the prefix of its robot."""
    return frame.rpartition("/")[2]
