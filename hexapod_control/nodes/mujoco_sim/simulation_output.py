# SPDX-License-Identifier: Apache-2.0
"""Publishers of mujoco_sim: the topics of a hardware node, ground truth, lidar, depth cameras, markers of the terrain.

`simulator/collisions` counts contacts with walls and obstacles: ground truth for tests of navigation.
The web page draws the markers, too.
"""

from __future__ import annotations

import math

import mujoco
import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point as PointMessage
from nav_msgs.msg import Odometry
from sensor_msgs.msg import CameraInfo, Image, Imu, JointState, LaserScan, MultiDOFJointState, PointCloud2
from std_msgs.msg import ColorRGBA, UInt32
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.config.robots.urdf_import.joint_mapping import JointMapping
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.se2 import wrap
from hexapod_control.core.robot import Camera, Robot, Vector
from hexapod_control.core.sensing.cameras import frames
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED, SCANS
from hexapod_control.ros.row_messages import FootStates, JointLayout
from hexapod_control.ros.static_frames import publish_mounting
from hexapod_control.ros.terrain_messages import (
    Lens,
    camera_info_message,
    camera_info_topic,
    cloud_message,
    depth_message,
)
from hexapod_control.sim.depth_sensors import DepthCamera, Lidar3D
from hexapod_control.sim.lidar import Lidar
from hexapod_control.sim.simulation import CollisionCounter, ImuNoise, InertialReading, Simulation, SimulationReading
from hexapod_control.sim.terrain import GROUND_GROUP
from hexapod_control.sim.world_settings import DepthSettings, LidarSettings

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
            measured = reading.joints, reading.joint_velocity, stamp, reading.joint_torque
            message = self._joints.message(*measured, reading.extra)
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


LIDAR_FRAME = "lidar_link"
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
        self._frame = publish_mounting(node, prefix, LIDAR_FRAME, BodyPose(x=x, y=y, z=z))

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


class DepthOutput:
    """Publishes the images of one simulated depth camera; without a subscriber nothing is measured."""

    def __init__(self, node: GuardedNode, camera: Camera, prefix: str, settings: DepthSettings) -> None:
        """`prefix` is that of the frame ids."""
        self._camera = DepthCamera(camera, settings)
        self._lens = Lens(camera.focal, camera.center, camera.resolution)
        self._images = node.create_publisher(Image, camera.image_topic, SCANS)
        self._infos = node.create_publisher(CameraInfo, camera_info_topic(camera.image_topic), SCANS)
        for parent, child, pose in frames(camera):
            self._frame = publish_mounting(node, prefix, child, pose, parent)

    def publish(self, simulation: Simulation, stamp: Time) -> None:
        """Publishes an image that is due, with the stamp of its taking; call it after every step of the world."""
        frame = self._camera.step(simulation, wanted=self._images.is_received, label=stamp)
        if frame is not None:
            self._infos.publish(camera_info_message(self._lens, self._frame, frame.label))
            self._images.publish(depth_message(frame.depth, self._frame, frame.label))


class CloudOutput:
    """Publishes the clouds of the simulated 3D lidar; without a subscriber nothing is measured."""

    def __init__(
        self, node: GuardedNode, robot: Robot, prefix: str, scans: LidarSettings, settings: DepthSettings
    ) -> None:
        """`prefix` is that of lidar_link, which LidarOutput publishes."""
        self._lidar = Lidar3D(robot, scans, settings)
        self._frame = f"{prefix}{LIDAR_FRAME}"
        self._clouds = node.create_publisher(PointCloud2, "lidar/points", SCANS)

    def publish(self, simulation: Simulation, stamp: Time) -> None:
        """Publishes a cloud that is due, with the stamp of its taking; call it after every step of the world."""
        frame = self._lidar.step(simulation, wanted=self._clouds.is_received, label=stamp)
        if frame is not None:
            self._clouds.publish(cloud_message(frame.grid, "xyz", self._frame, frame.label))


COLUMN_M = 0.1  # side of the boxes that represent a height field
COLUMN_HEIGHT_M = 0.3
COLOR = ColorRGBA(r=0.62, g=0.66, b=0.70, a=1.0)
KINDS = {int(mujoco.mjtGeom.mjGEOM_BOX): Marker.CUBE, int(mujoco.mjtGeom.mjGEOM_CYLINDER): Marker.CYLINDER}


def terrain_markers(model: mujoco.MjModel) -> MarkerArray:
    """Terrain without planes: equal upright boxes as one list, single boxes and cylinders, height fields as boxes."""
    lists: dict[tuple[float, ...], list[Array]] = {}
    markers = []
    for geom in np.flatnonzero(model.geom_group == GROUND_GROUP):
        kind, size, at, turn = (
            each[geom] for each in (model.geom_type, model.geom_size, model.geom_pos, model.geom_quat)
        )
        if kind == mujoco.mjtGeom.mjGEOM_HFIELD:
            half = (COLUMN_M / 2, COLUMN_M / 2, COLUMN_HEIGHT_M / 2)
            lists.setdefault(half, []).extend(_columns(model, int(model.geom_dataid[geom]), at))
        elif kind == mujoco.mjtGeom.mjGEOM_BOX and abs(turn[0]) == 1.0:
            lists.setdefault(tuple(size.tolist()), []).append(at)
        elif kind in KINDS:
            markers.append(_single(KINDS[kind], size, at, turn))
    markers += [_list(half, points) for half, points in lists.items()]
    for number, marker in enumerate(markers):
        marker.id = number
        marker.ns = "terrain"
        marker.action = Marker.ADD
        marker.color = COLOR
        marker.header.frame_id = WORLD_FRAME
    return MarkerArray(markers=markers)


def _columns(model: mujoco.MjModel, field: int, at: Array) -> list[Array]:
    """Centers of boxes whose tops are the heights of a field."""
    rows, columns, start = (int(each[field]) for each in (model.hfield_nrow, model.hfield_ncol, model.hfield_adr))
    half_x, half_y, top, _ = model.hfield_size[field]
    heights = model.hfield_data[start : start + rows * columns].reshape(rows, columns) * top + at[2]
    step_x, step_y = (max(1, round(COLUMN_M * (n - 1) / (2 * half))) for n, half in ((columns, half_x), (rows, half_y)))
    xs = np.linspace(-half_x, half_x, columns)
    ys = np.linspace(-half_y, half_y, rows)
    return [
        np.array([at[0] + xs[i], at[1] + ys[j], heights[j, i] - COLUMN_HEIGHT_M / 2])
        for j in range(0, rows, step_y)
        for i in range(0, columns, step_x)
    ]


def _single(kind: int, size: Array, at: Array, turn: Array) -> Marker:
    marker = Marker(type=kind)
    cylinder = kind == Marker.CYLINDER
    x, y, z = (size[0], size[0], size[1]) if cylinder else size
    marker.scale.x, marker.scale.y, marker.scale.z = 2.0 * float(x), 2.0 * float(y), 2.0 * float(z)
    position, rotation = marker.pose.position, marker.pose.orientation
    position.x, position.y, position.z = (float(value) for value in at)
    rotation.w, rotation.x, rotation.y, rotation.z = (float(value) for value in turn)
    return marker


def _list(half: tuple[float, ...], points: list[Array]) -> Marker:
    marker = Marker(type=Marker.CUBE_LIST)
    marker.scale.x, marker.scale.y, marker.scale.z = (2.0 * value for value in half)
    marker.points = [PointMessage(x=float(x), y=float(y), z=float(z)) for x, y, z in points]
    return marker
