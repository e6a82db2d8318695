"""The operator behind `hexapod patrol`: where the robot is, what is around it, who drives it; cmd_vel out."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan
from std_msgs.msg import UInt32

from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.robot_client import RobotClient, sample
from hexapod_control.clients.trajectory_log import TrajectoryLog
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.steering.command_priorities import SOURCES
from hexapod_control.core.steering.obstacle_avoidance import moved, points
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import LATCHED, LATCHED_TREE, SENSOR

FRESH = 0.6  # [s] of the odometry's time that a scan is good for
SILENT = 1.0  # [s] without odometry after which the robot is stopped
UNKNOWN = Pose(0.0, 0.0, 0.0)


class PatrolClient(RobotClient):
    """An operator who knows where the robot is and what is around it."""

    source_name = "navigation"

    def __init__(self, link: ConnectionOptions) -> None:
        super().__init__(link)
        self.odometry, self.truth = TrajectoryLog(), TrajectoryLog()
        self.heard_odometry = -math.inf  # [s] steady time
        self.obstacles: Array = np.zeros((0, 2))  # [m] in odom
        self.scanned = -math.inf  # [s] time of the odometry at the last scan
        self.collisions: int | None = None  # by the simulator
        self._waiting: tuple[float, Array] | None = None  # [s], [m] in base_footprint: a scan not yet placed
        self._sensors: dict[str, Pose] = {}  # by frame, in base_link
        create = self._node.create_subscription
        create(Odometry, "odom", self._take_odometry, 50)
        create(Odometry, "simulator/floating_base_state", lambda message: self.truth.add(sample(message)), 50)
        create(LaserScan, "scan", self._take_scan, SENSOR)
        create(TFMessage, "/tf_static", self._take_frames, LATCHED_TREE)
        create(UInt32, "simulator/collisions", lambda message: setattr(self, "collisions", message.data), LATCHED)

    def _take_odometry(self, message: Any) -> None:
        self.odometry.add(sample(message))
        self.heard_odometry = time.monotonic()
        self._place()

    def _take_frames(self, message: Any) -> None:
        for item in message.transforms:
            if item.header.frame_id.endswith("base_link"):
                place = item.transform.translation
                try:
                    yaw = messages.roll_pitch_yaw(item.transform.rotation)[2]
                except messages.MessageError:
                    continue
                self._sensors[item.child_frame_id] = Pose(place.x, place.y, yaw)

    def _take_scan(self, message: Any) -> None:
        if not len(self.odometry):
            return
        try:
            scan = messages.scan(message)
        except messages.MessageError:
            return
        sensor = self._sensors.get(message.header.frame_id, UNKNOWN)
        self._waiting = messages.nanoseconds(message.header.stamp) / messages.NANOSECONDS, points(scan, sensor)
        self._place()

    def _place(self) -> None:
        """Puts the last scan where the robot was when it was taken, as soon as odometry tells: it walks and turns."""
        if self._waiting is None:
            return
        time, seen = self._waiting
        last, age = self.odometry.last, self.odometry.last.time - time
        if -FRESH < age < 0.0:
            return  # not there yet
        known = 0.0 <= age < FRESH and len(self.odometry) > 1  # else the lidar has another clock
        self.obstacles = moved(seen, self.odometry.at(time) if known else last.pose)
        self.scanned, self._waiting = last.time, None

    @property
    def blind(self) -> bool:
        """True without a fresh scan."""
        return self.odometry.last.time - self.scanned > FRESH

    @property
    def lost(self) -> bool:
        """True without fresh odometry."""
        return time.monotonic() - self.heard_odometry > SILENT

    @property
    def other(self) -> str:
        """Who else drives the robot; empty if nobody does."""
        return self.source if self.source in SOURCES and self.source != self.source_name else ""
