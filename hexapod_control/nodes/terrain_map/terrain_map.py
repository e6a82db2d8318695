# SPDX-License-Identifier: Apache-2.0
"""Node terrain_map: the heights of the ground around the robot, from depth sensors and feet.

It publishes the map on terrain_map, and where the robot can walk on traversability. A scan enters the map with the pose
that its sensor had at the scan's stamp, however late it arrives. Without a new scan nothing is published: the stamp
tells the age of a map. See docs/terrain-map.md.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import OccupancyGrid
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image, JointState, MultiDOFJointState, PointCloud2

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.frame_tree import HISTORY_S, FrameTree, UnknownPoseError
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.foot_force_estimator import MIN_LOAD_SHARE
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.core.terrain.depth_image import cloud_points
from hexapod_control.core.terrain.height_map import HeightMap
from hexapod_control.core.terrain.own_legs import on_robot
from hexapod_control.core.terrain.traversability import ClimbLimits, highest_step, traversability
from hexapod_control.nodes.terrain_map.settings import TerrainMapSettings
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.node_process import run
from hexapod_control.ros.parameters import declare
from hexapod_control.ros.qos import COMMAND, LATCHED, LATCHED_TREE, NEWEST_SENSOR, SAMPLES, SENSOR
from hexapod_control.ros.row_messages import FootLayout, JointLayout, MessageError
from hexapod_control.ros.started_files import started_mapping, started_robot
from hexapod_control.ros.terrain_messages import (
    GRID_MAP,
    Lens,
    camera_info_topic,
    cloud,
    depth_image_points,
    grid_map_message,
    large_decoder,
    lens,
    occupancy_message,
    terrain_map_message,
)

PERIOD_S = 0.05  # in which scans and feet enter the map
MAX_WAIT_S = 1.0  # for the pose of a scan
MAX_JOINT_AGE_S = 0.1  # between a scan and the joints by which the robot itself is left out
MARGIN_M = 0.02  # between the robot and what hangs over it
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
    """Subscribes to the sensors of one robot; `waiting` are the scans that are not in the map yet."""

    def __init__(self, node: GuardedNode, robot: Robot, settings: TerrainMapSettings) -> None:
        self._node = node
        self._min_gap = MIN_PERIOD_SHARE / settings.scan_rate
        self.waiting: deque[SensorScan] = deque(maxlen=MAX_WAITING)
        self.sensors: dict[str, Sensor] = {}
        for topic in settings.images(robot):
            sensor = Sensor(topic, camera_info_topic(topic))
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
        return depth_image_points(message, sensor.lens)

    def _take_cloud(self, sensor: Sensor, message: PointCloud2) -> Array:
        points = cloud_points(cloud(message, "x", "y", "z"))
        return points[:: max(1, math.ceil(len(points) / MAX_POINTS))]

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
                text = "{topic} is silent for {seconds:.0f} s: start its driver, or name another topic"
                said = Statement("topic_silent", text, topic=sensor.topic, seconds=silence)
                self._node.report(f"silent {sensor.topic}", ReportLevel.WARNING, said)
            else:
                self._node.withdraw(f"silent {sensor.topic}")


class TerrainMapNode(GuardedNode):
    """Builds the map of one robot."""

    def __init__(self, **options: Any) -> None:
        """Raises RobotFileError or ParameterError for unusable input."""
        super().__init__("terrain_map", **options)
        settings = declare(self, TerrainMapSettings)
        robot = self._robot = started_robot(settings.robot).robot
        self._odom = settings.tf_frame_prefix + settings.odom_frame_id
        self._base = f"{settings.tf_frame_prefix}base_link"
        self._period = 1.0 / settings.rate
        step = highest_step(robot) if math.isnan(settings.max_step) else settings.max_step
        clearance = robot.walk.height + robot.body.center[2] + 0.5 * robot.body.size[2] + MARGIN_M
        self._limits = ClimbLimits(step, math.tan(math.radians(settings.max_slope_deg)), clearance)
        self._min_load = MIN_LOAD_SHARE * robot.mass * GRAVITY  # [N]
        self._joint_layout = JointLayout(robot, started_mapping(settings.joint_mapping, robot))
        self._foot_layout = FootLayout(robot)
        self._tree = FrameTree()
        self._restart()
        self._published = -math.inf  # [s] steady time
        self._map_publisher = self.create_publisher(PointCloud2, "terrain_map", COMMAND)
        self._grid_map_publisher = (
            self.create_publisher(GRID_MAP, "grid_map", COMMAND) if settings.publish_grid_map else None
        )
        self._cost_publisher = self.create_publisher(OccupancyGrid, "traversability", LATCHED)
        self.create_subscription(TFMessage, "/tf_static", self._take_fixed_frames, LATCHED_TREE)
        self.create_subscription(TFMessage, "/tf", self._take_frames, SAMPLES)
        self.create_subscription(JointState, "joint_states", self._take_joints, NEWEST_SENSOR)
        self.create_subscription(MultiDOFJointState, "foot_states", self._take_feet, NEWEST_SENSOR)
        self._scans = ScanInput(self, robot, settings)
        self.create_timer(PERIOD_S, self._update, clock=self.steady)

    def _restart(self) -> None:
        """Begins an empty map."""
        self.terrain = HeightMap(headroom=self._limits.clearance)
        self._joints: deque[tuple[float, Array]] = deque(maxlen=200)  # stamp [s] and angles [rad]
        self._feet: tuple[float, Array] | None = None  # stamp [s], centers [m] of the balls that stand, in base_link
        self._newest_pose = -math.inf  # [s] stamp of the body's pose
        self._published_scan = -math.inf  # [s] stamp of the newest scan in the last map

    # --- what arrives ---------------------------------------------------------------------------------------

    def _take_fixed_frames(self, message: TFMessage) -> None:
        self._place(message, fixed=True)

    def _take_frames(self, message: TFMessage) -> None:
        self._place(message, fixed=False)

    def _place(self, message: TFMessage, *, fixed: bool) -> None:
        for frame, parent, position, quaternion, stamp in messages.frame_transforms(message.transforms):
            if not fixed and frame == self._base:
                self._watch_clock(stamp)
            self._tree.place(frame, parent, position, quaternion, None if fixed else stamp)

    def _watch_clock(self, stamp: float) -> None:
        """Begins again when the clock was set back, as by a simulation that starts anew."""
        if stamp < self._newest_pose - HISTORY_S:
            self.report("clock set back", ReportLevel.WARNING, "the clock was set back: the map begins again, empty")
            self._tree.forget()
            self._scans.forget()
            self._restart()
        self._newest_pose = max(stamp, self._newest_pose)

    def _take_joints(self, message: JointState) -> None:
        self._joints.append((_seconds(message.header.stamp), self._joint_layout.joints(message)))

    def _take_feet(self, message: MultiDOFJointState) -> None:
        feet = self._foot_layout.feet(message)
        self._feet = _seconds(message.header.stamp), feet.positions[feet.forces > self._min_load]

    # --- the map --------------------------------------------------------------------------------------------

    def _update(self) -> None:
        """Processes all scans whose poses are known, and the newest contacts; publishes the map if it is due."""
        for _ in range(len(self._scans.waiting)):
            scan = self._scans.waiting.popleft()
            if not self._process(scan):
                self._scans.waiting.append(scan)
        self._feel()
        now = time.monotonic()
        if now - self._published >= self._period and self.terrain.time > self._published_scan:
            self._published = now
            self._published_scan = self.terrain.time
            self._publish()

    def _process(self, scan: SensorScan) -> bool:
        """Puts a scan into the map; False if its pose may still arrive."""
        sensor = self._scans.sensors[scan.topic]
        try:
            base = self._tree.find(self._base, self._odom, scan.time)
            mounted = self._tree.find(scan.frame, self._base, scan.time)
        except UnknownPoseError as error:
            if error.early and time.monotonic() - scan.arrived < MAX_WAIT_S:
                return False
            sensor.lost += 1
            if time.monotonic() - sensor.placed > MAX_WAIT_S:
                text = f"{scan.topic}: {error}: {sensor.lost} scans are not used; publish it on /tf or /tf_static"
                self.report(f"pose {scan.topic}", ReportLevel.WARNING, text)
            return True
        points = mounted.apply(scan.points)
        points = points[~self._on_robot(points, mounted.position, scan.time)]
        if scan.time >= self.terrain.time:
            self.terrain.move(float(base.position[0]), float(base.position[1]))
        self.terrain.insert(base.apply(points), base.apply(mounted.position), scan.time)
        sensor.used += 1
        sensor.placed = time.monotonic()
        return True

    def _on_robot(self, points: Array, lens: Array, stamp: float) -> NDArray[np.bool_]:
        """Which points (n, 3) [m] are the robot's own, all in base_link; none if its joints are not known then."""
        near = min(self._joints, key=lambda sample: abs(sample[0] - stamp), default=None)
        if near is None or abs(near[0] - stamp) > MAX_JOINT_AGE_S:
            return np.zeros(len(points), dtype=bool)
        return on_robot(self._robot, near[1], points, lens)

    def _feel(self) -> None:
        """Puts the newest contacts into the map, once the pose of the body at their time is known."""
        if self._feet is None:
            return
        stamp, centers = self._feet
        try:
            base = self._tree.find(self._base, self._odom, stamp)
        except UnknownPoseError as error:
            if not error.early:
                self._feet = None
            return
        self._feet = None
        self.terrain.feel(base.apply(centers) - (0.0, 0.0, self._robot.foot_radius), stamp)

    def _publish(self) -> None:
        grid = self.terrain.grid()
        if self._map_publisher.is_received:
            self._map_publisher.publish(terrain_map_message(grid, self._odom))
        if self._grid_map_publisher is not None and self._grid_map_publisher.is_received:
            self._grid_map_publisher.publish(grid_map_message(grid, self._odom))
        if self._cost_publisher.is_received:
            stamp = messages.time(round(grid.time * messages.NANOSECONDS))
            self._cost_publisher.publish(occupancy_message(traversability(grid, self._limits), grid, self._odom, stamp))

    # --- reports --------------------------------------------------------------------------------------------

    def every_second(self) -> None:
        """Reports sensors that are silent."""
        self._scans.report_silence()

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        sensors = self._scans.sensors.values()
        return {
            **{f"{sensor.topic}, messages": sensor.count for sensor in sensors},
            **{f"{sensor.topic}, scans used": sensor.used for sensor in sensors},
            **{f"{sensor.topic}, scans without a pose": sensor.lost for sensor in sensors},
            "error of the sensors in height [mm]": f"{1000.0 * self.terrain.bias:.0f}",
        }


def _seconds(stamp: Time) -> float:
    return messages.nanoseconds(stamp) / messages.NANOSECONDS


def main() -> int:
    """Runs the node. Returns the exit code."""
    return run(TerrainMapNode)


if __name__ == "__main__":
    sys.exit(main())
