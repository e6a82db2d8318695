# SPDX-License-Identifier: Apache-2.0
"""Converts between ROS messages and the types of the core (joints and feet: row_messages.py).

Units are SI; orientations are Rz(yaw) Ry(pitch) Rx(roll). A message that cannot be used raises MessageError, whose text
names the error and the remedy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Pose as PoseMessage
from geometry_msgs.msg import Quaternion, TransformStamped, TwistStamped, Vector3, Wrench
from geometry_msgs.msg import Twist as TwistMessage
from nav_msgs.msg import Odometry
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import Imu, LaserScan, MultiDOFJointState
from std_msgs.msg import Float64, String

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose, quaternion_angles
from hexapod_control.core.kinematics.se2 import Pose, Twist
from hexapod_control.core.robot import Vector
from hexapod_control.core.steering.obstacle_avoidance import Scan
from hexapod_control.ros.row_messages import MessageError, xyz
from hexapod_control.ros.transport.decoding import FootDecoder

MAX_BODY_SHIFT_M = 10.0
MAX_FORCE_N = 10_000.0
MAX_RATE = 200.0  # [rad/s]
MAX_ACCELERATION = 2000.0  # [m/s^2] that an IMU can measure
MAX_NORM_ERROR = 0.01  # of the norm of a quaternion from 1
MAX_MESSAGE_BYTES = 200_000  # the largest useful one is a motion file
MAX_REQUEST_ITEMS = 1000  # of a service: more than any node has parameters
IMU_VARIANCE = 1e-4  # [SI units] of every value
NANOSECONDS = 1_000_000_000  # per second


def bounded(data: bytes, most: int = MAX_MESSAGE_BYTES) -> bytes:
    """Returns the bytes of a message. Raises MessageError if there are too many."""
    if len(data) > most:
        raise MessageError(f"it has {len(data)} bytes, at most {most} are accepted")
    return data


def excess(request: Any) -> str:
    """Why a request of a service is too long to be handled, which takes time for each of its items; empty if it is not.

    Requests are decoded by rclpy, whatever their size.
    """
    for name in request.get_fields_and_field_types():
        value = getattr(request, name)
        if hasattr(value, "__len__") and len(value) > MAX_REQUEST_ITEMS:
            return f"it has {len(value)} {name}, at most {MAX_REQUEST_ITEMS} are accepted"
    return ""


def decoder(kind: Any) -> Callable[[bytes], Any]:
    """Returns a function that decodes messages of a type (`Any`: messages have no common base) one after the other.

    It raises MessageError, and may reuse its last message.
    """
    return guarded(FootDecoder() if kind is MultiDOFJointState else partial(deserialize_message, message_type=kind))


def forces_decoder() -> Callable[[bytes], MultiDOFJointState]:
    """As `decoder`, for foot messages whose forces only are used."""
    return guarded(FootDecoder(forces_only=True))


def guarded(decode: Callable[[bytes], Any], most: int = MAX_MESSAGE_BYTES) -> Callable[[bytes], Any]:
    """Returns a function that decodes messages of at most so many bytes and raises MessageError."""

    def decoded(data: bytes) -> Any:
        bounded(data, most)
        try:
            return decode(data)
        except Exception as error:  # the type depends on the error in the bytes
            raise MessageError(f"it cannot be decoded: {error}") from None

    return decoded


# --- velocity and pose ------------------------------------------------------------------------------------


def twist(message: TwistMessage) -> Twist:
    """Returns the planar part of geometry_msgs/Twist; its values may be infinite or NaN."""
    return Twist(message.linear.x, message.linear.y, message.angular.z)


def non_planar(message: TwistMessage) -> Vector:
    """Returns linear.z, angular.x, angular.y of geometry_msgs/Twist, which a walking robot cannot follow."""
    return message.linear.z, message.angular.x, message.angular.y


def twist_message(value: Twist) -> TwistMessage:
    """Converts a planar twist to geometry_msgs/Twist."""
    return TwistMessage(linear=Vector3(x=value.vx, y=value.vy), angular=Vector3(z=value.wz))


def twist_stamped_message(value: Twist, stamp: Time, frame: str = "base_footprint") -> TwistStamped:
    """Converts a planar twist to geometry_msgs/TwistStamped."""
    message = TwistStamped(twist=twist_message(value))
    message.header.stamp = stamp
    message.header.frame_id = frame
    return message


def quaternion(roll: float, pitch: float, yaw: float) -> Quaternion:
    """Returns the geometry_msgs/Quaternion of Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    x, y, z, w = BodyPose(roll=roll, pitch=pitch, yaw=yaw).quaternion()
    return Quaternion(x=x, y=y, z=z, w=w)


def roll_pitch_yaw(message: Quaternion) -> Vector:
    """Converts geometry_msgs/Quaternion to roll, pitch, yaw [rad]. Raises MessageError unless its norm is about 1."""
    x, y, z, w = message.x, message.y, message.z, message.w
    norm = math.sqrt(x * x + y * y + z * z + w * w) if math.isfinite(x + y + z + w) else math.nan
    if not abs(norm - 1.0) <= MAX_NORM_ERROR:
        raise MessageError(f"orientation ({x:g}, {y:g}, {z:g}, {w:g}) has norm {norm:g}; send 1 (w = 1 is level)")
    return quaternion_angles(x / norm, y / norm, z / norm, w / norm)


class FrameTransform(NamedTuple):
    """The pose of a frame in its parent."""

    frame: str
    parent: str
    position: tuple[float, float, float]  # [m]
    quaternion: tuple[float, float, float, float]  # x, y, z, w
    stamp: float  # [s]


def frame_transforms(transforms: Sequence[TransformStamped]) -> Iterator[FrameTransform]:
    """Converts the transforms of tf2_msgs/TFMessage. Raises MessageError."""
    for each in transforms:
        shift = each.transform.translation
        turn = each.transform.rotation
        roll_pitch_yaw(turn)  # refuses what is no rotation
        position = shift.x, shift.y, shift.z
        if not all(map(math.isfinite, position)):
            raise MessageError(f"the position of {each.child_frame_id} is not finite; send finite numbers")
        quaternion = turn.x, turn.y, turn.z, turn.w
        stamp = nanoseconds(each.header.stamp) / NANOSECONDS
        yield FrameTransform(each.child_frame_id, each.header.frame_id, position, quaternion, stamp)


def planar_pose(message: PoseMessage) -> Pose:
    """Position (x, y) and yaw of geometry_msgs/Pose, for instance of an odometry. Raises MessageError."""
    return Pose(message.position.x, message.position.y, roll_pitch_yaw(message.orientation)[2])


def body_pose(message: PoseMessage) -> BodyPose:
    """Converts geometry_msgs/Pose to a body pose. Raises MessageError."""
    position = xyz(message.position)
    if not all(map(math.isfinite, position)):
        raise MessageError(f"position {position} is not finite; send metres from the neutral stance")
    if max(map(abs, position)) > MAX_BODY_SHIFT_M:
        most = f"more than {MAX_BODY_SHIFT_M:g} m from the neutral stance"
        raise MessageError(f"position ({position[0]:g}, {position[1]:g}, {position[2]:g}) is {most}; send metres")
    return BodyPose(*position, *roll_pitch_yaw(message.orientation))


def body_pose_message(pose: BodyPose) -> PoseMessage:
    """Converts a body pose to geometry_msgs/Pose."""
    message = PoseMessage(orientation=quaternion(pose.roll, pose.pitch, pose.yaw))
    message.position.x, message.position.y, message.position.z = float(pose.x), float(pose.y), float(pose.z)
    return message


# --- sensors and odometry ---------------------------------------------------------------------------------


def force(message: Wrench) -> Vector:
    """Returns the force [N] of geometry_msgs/Wrench. Raises MessageError."""
    value = xyz(message.force)
    if not all(map(math.isfinite, value)):
        raise MessageError(f"force {value} is not finite; send newtons")
    if max(map(abs, value)) > MAX_FORCE_N:
        raise MessageError(f"force ({value[0]:g}, {value[1]:g}, {value[2]:g}) is more than {MAX_FORCE_N:g} N")
    return value


class Inertial(NamedTuple):
    """One sample of an IMU, in its own frame; None: the IMU does not know it, by -1 in its covariance (REP 145)."""

    orientation: Vector | None  # [rad] roll, pitch, yaw
    angular_velocity: Vector | None  # [rad/s]
    acceleration: Vector | None  # [m/s^2] including gravity: + up at rest


def inertial(message: Imu) -> Inertial:
    """Converts sensor_msgs/Imu to a sample. Raises MessageError."""
    rates = xyz(message.angular_velocity) if message.angular_velocity_covariance[0] >= 0.0 else None
    acceleration = xyz(message.linear_acceleration) if message.linear_acceleration_covariance[0] >= 0.0 else None
    values = (*(rates or ()), *(acceleration or ()))
    if not all(map(math.isfinite, values)):
        raise MessageError(f"angular velocity {rates} or acceleration {acceleration} is not finite; check the IMU")
    if max(map(abs, rates or (0.0,))) > MAX_RATE or max(map(abs, acceleration or (0.0,))) > MAX_ACCELERATION:
        most = f"at most {MAX_RATE:g} rad/s and {MAX_ACCELERATION:g} m/s^2 can be measured"
        text = ", ".join(f"{value:g}" for value in values)
        raise MessageError(f"angular velocity and acceleration ({text}) are too large, {most}; check the IMU's units")
    known = message.orientation_covariance[0] >= 0.0
    return Inertial(roll_pitch_yaw(message.orientation) if known else None, rates, acceleration)


def inertial_message(value: Inertial, stamp: Time, frame: str = "imu_link") -> Imu:
    """Converts a sample to sensor_msgs/Imu."""
    message = Imu()
    message.header.frame_id = frame
    covariances = (
        message.orientation_covariance,
        message.angular_velocity_covariance,
        message.linear_acceleration_covariance,
    )
    for quantity, covariance in zip(value, covariances, strict=True):
        covariance[0::4] = IMU_VARIANCE
        if quantity is None:
            covariance[0] = -1.0
    return refill(message, value, stamp)


def refill(message: Imu, value: Inertial, stamp: Time) -> Imu:
    """Stores another sample in a message of `inertial_message`, and returns that message."""
    message.header.stamp = stamp
    if value.orientation is not None:
        message.orientation = quaternion(*value.orientation)
    if value.angular_velocity is not None:
        message.angular_velocity = _vector(value.angular_velocity)
    if value.acceleration is not None:
        message.linear_acceleration = _vector(value.acceleration)
    return message


def _vector(values: Sequence[float]) -> Vector3:
    x, y, z = values
    return Vector3(x=float(x), y=float(y), z=float(z))


def odometry_message(
    pose: BodyPose,
    velocity: tuple[Vector, Vector],
    covariance: tuple[Array, Array],
    frames: tuple[str, str],
    stamp: Time,
) -> Odometry:
    """Returns nav_msgs/Odometry: pose in frames[0], linear and angular velocity in frames[1], covariances (6, 6)."""
    message = Odometry(child_frame_id=frames[1])
    message.header.stamp = stamp
    message.header.frame_id = frames[0]
    message.pose.pose = body_pose_message(pose)
    message.pose.covariance = np.ravel(covariance[0]).astype(np.float64)
    message.twist.twist.linear, message.twist.twist.angular = _vector(velocity[0]), _vector(velocity[1])
    message.twist.covariance = np.ravel(covariance[1]).astype(np.float64)
    return message


def transform_message(parent: str, child: str, pose: BodyPose, stamp: Time) -> TransformStamped:
    """Returns geometry_msgs/TransformStamped: the pose of frame `child` in frame `parent`."""
    message = TransformStamped(child_frame_id=child)
    message.header.stamp = stamp
    message.header.frame_id = parent
    message.transform.translation = _vector(pose[:3])
    message.transform.rotation = quaternion(pose.roll, pose.pitch, pose.yaw)
    return message


def scan(message: LaserScan) -> Scan:
    """Converts sensor_msgs/LaserScan to a scan. Raises MessageError."""
    start, increment = message.angle_min, message.angle_increment
    if not (math.isfinite(start) and math.isfinite(increment) and increment != 0.0):
        raise MessageError(
            f"angle_min {start:g} or angle_increment {increment:g} is not a valid direction; check the lidar"
        )
    return Scan(np.asarray(message.ranges, dtype=np.float64), start, increment, message.range_min, message.range_max)


def scan_message(value: Scan, period: float, stamp: Time, frame: str) -> LaserScan:
    """Converts a scan to sensor_msgs/LaserScan; all rays are simultaneous, `period` [s] after the previous scan."""
    message = LaserScan(scan_time=period, time_increment=0.0)
    message.header.stamp = stamp
    message.header.frame_id = frame
    message.angle_min, message.angle_increment = value.start, value.increment
    message.angle_max = value.start + value.increment * (len(value.ranges) - 1)
    message.range_min, message.range_max = value.shortest, value.longest
    message.ranges = value.ranges.astype(np.float32)
    return message


# --- text, numbers, time, diagnostics --------------------------------------------------------------------------------


def text(value: str) -> String:
    """Converts a text to std_msgs/String."""
    return String(data=value)


def number(value: float) -> Float64:
    """Converts a number to std_msgs/Float64."""
    return Float64(data=float(value))


def time(nanoseconds: int) -> Time:
    """Converts nanoseconds to builtin_interfaces/Time."""
    return Time(sec=nanoseconds // NANOSECONDS, nanosec=nanoseconds % NANOSECONDS)


def nanoseconds(stamp: Time) -> int:
    """Converts builtin_interfaces/Time to nanoseconds; 0 means not stamped."""
    total: int = stamp.sec * NANOSECONDS + stamp.nanosec
    return total


def diagnostics(
    name: str, hardware: str, level: int, summary: str, values: Mapping[str, object], stamp: Time
) -> DiagnosticArray:
    """Returns diagnostic_msgs/DiagnosticArray with one status; level 0 is ok, 1 warning, 2 error, 3 stale."""
    status = DiagnosticStatus(
        level=bytes([level]),
        name=name,
        hardware_id=hardware,
        message=summary,
        values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
    )
    message = DiagnosticArray(status=[status])
    message.header.stamp = stamp
    return message
