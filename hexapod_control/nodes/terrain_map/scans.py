# SPDX-License-Identifier: Apache-2.0
"""Scans of the depth sensors: points in the frame of their sensor, at their own stamps."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from sensor_msgs.msg import CameraInfo, Image, PointCloud2

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.robot import Robot
from hexapod_control.core.terrain.depth_image import depth_points
from hexapod_control.nodes.terrain_map.settings import TerrainMapSettings
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import NEWEST_SENSOR, SENSOR
from hexapod_control.ros.row_messages import MessageError
from hexapod_control.ros.terrain_messages import Lens, cloud, depth_image, large_decoder, lens

# pixels of an image that are used: 10 mm apart at half a metre
MAX_COLUMNS = 96
MAX_ROWS = 72
MAX_POINTS = 10_000  # of a cloud that are used
MIN_PERIOD_SHARE = 0.6  # of the period, between the stamps of two scans that are used: stamps jitter
REMEMBERED_STAMPS = 32
MAX_WAITING = 20  # scans whose pose is not known yet
SILENCE_S = 2.0  # after which a sensor is reported


@dataclass(frozen=True, slots=True)
class SensorScan:
    """What a sensor has seen."""

    topic: str
    frame: str  # of the points
    time: float  # [s] stamp
    points: Array  # (n, 3) [m]
    arrived: float  # [s] steady time


@dataclass(slots=True)
class Sensor:
    """One topic with depth images or clouds."""

    topic: str
    info_topic: str = ""  # of the camera_info
    heard: float = field(default_factory=time.monotonic)  # [s] steady time of the last message, at first of the start
    count: int = 0  # messages
    used: int = 0  # scans in the map
    placed: float = field(default_factory=time.monotonic)  # [s] steady time of the last one, at first of the start
    lost: int = 0  # scans whose pose stayed unknown
    lens: Lens | None = None
    stamps: deque[float] = field(default_factory=lambda: deque(maxlen=REMEMBERED_STAMPS))  # [s] of the scans taken


class ScanInput:
    """Subscribes to the sensors of one robot; `waiting` are the scans that nobody has taken yet."""

    def __init__(self, node: GuardedNode, robot: Robot, settings: TerrainMapSettings) -> None:
        self._node = node
        self._min_gap = MIN_PERIOD_SHARE / settings.scan_rate
        self.waiting: deque[SensorScan] = deque(maxlen=MAX_WAITING)
        self.sensors: dict[str, Sensor] = {}
        for topic in settings.images(robot):
            sensor = Sensor(topic, f"{topic.rpartition('/')[0]}/camera_info".lstrip("/"))
            if topic.startswith("/"):
                sensor.info_topic = f"/{sensor.info_topic}"
            self._listen(sensor, Image, self._take_image)
            node.create_subscription(CameraInfo, sensor.info_topic, partial(self._take_info, sensor), NEWEST_SENSOR)
        for topic in settings.point_clouds.split():
            self._listen(Sensor(topic), PointCloud2, self._take_cloud)

    def _listen(self, sensor: Sensor, kind: Any, take: Any) -> None:
        self.sensors[sensor.topic] = sensor

        def on_message(message: Any) -> None:
            sensor.heard = time.monotonic()
            sensor.count += 1
            stamp = messages.nanoseconds(message.header.stamp) or self._node.get_clock().now().nanoseconds
            seconds = stamp / messages.NANOSECONDS
            if all(abs(seconds - other) >= self._min_gap for other in sensor.stamps):
                points = take(sensor, message)
                sensor.stamps.append(seconds)
                scan = SensorScan(sensor.topic, message.header.frame_id, seconds, points, sensor.heard)
                self.waiting.append(scan)

        self._node.create_subscription(kind, sensor.topic, on_message, SENSOR, decode=large_decoder(kind))

    def _take_info(self, sensor: Sensor, message: CameraInfo) -> None:
        sensor.lens = lens(message)

    def _take_image(self, sensor: Sensor, message: Image) -> Array:
        if sensor.lens is None:
            raise MessageError(f"nothing has come on {sensor.info_topic}, which tells its focal lengths; publish it")
        depth = depth_image(message, sensor.lens)
        across = math.ceil(depth.shape[1] / MAX_COLUMNS)
        down = math.ceil(depth.shape[0] / MAX_ROWS)
        (fx, fy), (cx, cy), _ = sensor.lens
        return depth_points(depth[::down, ::across], (fx / across, fy / down), (cx / across, cy / down))

    def _take_cloud(self, sensor: Sensor, message: PointCloud2) -> Array:
        points = cloud(message, "x", "y", "z").reshape(-1, 3)
        points = points[:: max(1, math.ceil(len(points) / MAX_POINTS))]
        return points[np.isfinite(points).all(axis=1)]

    def forget(self) -> None:
        """Forgets all scans, as when the clock was set back."""
        self.waiting.clear()
        for sensor in self.sensors.values():
            sensor.stamps.clear()

    def report_silence(self) -> None:
        """Reports each sensor that sends nothing."""
        now = time.monotonic()
        for sensor in self.sensors.values():
            silence = now - sensor.heard
            if silence > SILENCE_S:
                text = f"{sensor.topic} is silent for {silence:.0f} s: start its driver, or name another topic"
                self._node.report(f"silent {sensor.topic}", ReportLevel.WARNING, text)
            else:
                self._node.withdraw(f"silent {sensor.topic}")
