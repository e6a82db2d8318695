"""Node odometry: joints and the feet that stand -> odom and tf odom -> base_footprint -> base_link.

Which feet stand is the planner's word (support of foot_targets); where they are, that of the measured joints, or in
mode `commanded` of joint_targets. A motion in joint space (joint_motion) has no standing feet.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry as OdometryMessage
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_srvs.srv import Trigger

from hexapod_control.core.body import BodyPose
from hexapod_control.core.kinematics import Array
from hexapod_control.core.odometry import Odometry
from hexapod_control.core.se2 import Pose, wrap
from hexapod_control.nodes import messages, parameters
from hexapod_control.nodes.base import COMMAND, GuardedNode
from hexapod_control.nodes.layouts import FootLayout, JointLayout
from hexapod_control.nodes.parameters import OdometrySettings
from hexapod_control.nodes.runner import run
from hexapod_control.nodes.tf2_messages import TFMessage
from hexapod_control.robots.load import load

FLOOR = 1e-6  # [m^2, rad^2, (m/s)^2, (rad/s)^2] least variance of what is estimated
OTHER = 1e-4  # likewise of height, roll, pitch and their rates, which odom does not estimate
FRESH = 0.2  # [s] an IMU's heading is used this long
GAP = 1.0  # [s] between two samples beyond which their distance in time is no measure of a speed
EARLY = 0.9  # share of the period after which the next sample is published: stamps jitter


class OdometryNode(GuardedNode):
    """Dead reckoning of one robot."""

    def __init__(self, **options: Any) -> None:
        super().__init__("odometry", **options)
        self._settings = parameters.declare(self, OdometrySettings)
        robot = load(self._settings.robot).robot
        self._odometry = Odometry(robot)
        self._joint_layout, self._foot_layout = JointLayout(robot), FootLayout(robot)
        self._planted = [False] * len(robot.legs)
        self._last: float | None = None  # [s] stamp of the last joints
        self._published = -math.inf  # [s]
        self._imu: tuple[float, float] | None = None  # [s], [rad] stamp and heading
        self._heading: float | None = None  # [rad] of the IMU at the last joints
        prefix = self._settings.tf_frame_prefix
        self._odom, self._footprint = prefix + self._settings.odom_frame_id, prefix + self._settings.base_frame_id
        self._base = f"{prefix}base_link"
        self._publisher = self.create_publisher(OdometryMessage, "odom", 10)
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        joints = "joint_states" if self._settings.mode == "legs" else "joint_targets"
        self.create_subscription(JointState, joints, self._take_joints, COMMAND)
        self.create_subscription(MultiDOFJointState, "foot_targets", self._take_feet, COMMAND)
        self.create_subscription(JointState, "joint_motion", self._take_motion, COMMAND)
        if self._settings.use_imu_yaw:
            self.create_subscription(Imu, "imu/data", self._take_imu, COMMAND)
        self.create_service(Trigger, "~/reset_odometry", self._reset)

    def _take_feet(self, message: Any) -> None:
        self._planted = (self._foot_layout.forces(message) > 0.0).tolist()

    def _take_motion(self, message: Any) -> None:
        self._planted = [False] * len(self._planted)

    def _take_imu(self, message: Any) -> None:
        orientation = messages.inertial(message).orientation
        if orientation is not None:
            self._imu = self._seconds(message), orientation[2]

    def _seconds(self, message: Any) -> float:
        """Stamp [s] of a message; the time of its arrival if it has none."""
        stamp = messages.nanoseconds(message.header.stamp)
        return (stamp or self.get_clock().now().nanoseconds) / messages.NANOSECONDS

    def _take_joints(self, message: Any) -> None:
        joints = self._joint_layout.joints(message)
        now = self._seconds(message)
        dt = now - self._last if self._last is not None else 0.0
        if self._last is not None and dt == 0.0:
            return  # the same sample again
        self._last = now
        before = self._odometry.pose
        self._odometry.update(joints, self._planted, dt if 0.0 < dt < GAP else 0.0)
        self._turn_as_imu(before, now)
        if not 0.0 <= now - self._published < EARLY / self._settings.publish_rate:
            self._published = now
            self._publish(message.header.stamp if messages.nanoseconds(message.header.stamp) else self._now())

    def _now(self) -> Any:
        return self.get_clock().now().to_msg()

    def _turn_as_imu(self, before: Pose, now: float) -> None:
        """Puts the IMU's change of heading in the place of the legs', if there is a fresh one."""
        if self._imu is None or abs(now - self._imu[0]) > FRESH:
            self._heading = None
            return
        heading = self._imu[1]
        if self._heading is not None:
            pose = self._odometry.pose
            self._odometry.pose = Pose(pose.x, pose.y, wrap(before.yaw + heading - self._heading))
        self._heading = heading

    def _publish(self, stamp: Any) -> None:
        odometry = self._odometry
        x, y, yaw = odometry.pose
        vx, vy, wz = odometry.twist
        place = BodyPose(x=x, y=y, yaw=yaw)
        covariances = (_in_space(odometry.covariance), _in_space(odometry.twist_covariance))
        velocity = ((vx, vy, 0.0), (0.0, 0.0, wz))
        frames = (self._odom, self._footprint)
        self._publisher.publish(messages.odometry_message(place, velocity, covariances, frames, stamp))
        transforms = [messages.transform_message(self._footprint, self._base, odometry.attitude, stamp)]
        if self._settings.enable_odom_tf:
            transforms.insert(0, messages.transform_message(self._odom, self._footprint, place, stamp))
        self._tf.publish(TFMessage(transforms=transforms))

    def _reset(self, request: Any, response: Any) -> Any:
        self._odometry.reset()
        response.success, response.message = True, "the origin of odom is where the robot is now"
        return response


def _in_space(planar: Array) -> Array:
    """Covariance (6, 6) of (x, y, z, roll, pitch, yaw) for that of (x, y, yaw)."""
    covariance = np.diag([FLOOR, FLOOR, OTHER, OTHER, OTHER, FLOOR])
    covariance[np.ix_([0, 1, 5], [0, 1, 5])] += planar
    return covariance


def main() -> int:
    """Runs the node. Returns the exit code."""
    return run(OdometryNode)


if __name__ == "__main__":
    sys.exit(main())
