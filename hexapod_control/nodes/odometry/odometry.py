"""Node odometry: joints and the feet that stand -> odom and tf odom -> base_footprint -> base_link.

mode       where the feet are       which stand                                    heading
commanded  joint_targets            planned support of foot_targets                feet
legs       joint_states, measured   foot_states while they come, else as planned   feet
legs_imu   joint_states, measured   foot_states while they come, else as planned   imu/data while it comes, else feet

A motion in joint space (joint_motion) has no standing feet.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
from nav_msgs.msg import Odometry as OdometryMessage
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_srvs.srv import Trigger

from hexapod_control.config.robots.odometry_scale import odometry_scale
from hexapod_control.config.robots.robot_file import load
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import wrap
from hexapod_control.core.sensing.odometry import Odometry
from hexapod_control.core.statics.static_stability import GRAVITY
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.ros import messages, parameters
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.node_process import run
from hexapod_control.ros.qos import COMMAND, EVENTS, SAMPLES
from hexapod_control.ros.row_messages import FootLayout, JointLayout

FLOOR = 1e-6  # [m^2, rad^2, (m/s)^2, (rad/s)^2] least variance of what is estimated
OTHER = 1e-4  # likewise of height, roll, pitch and their rates, which odom does not estimate
FRESH = 0.2  # [s] an IMU's heading and the loads of foot_states are used this long
AHEAD = 0.01  # [s] by which a heading may be newer than the joints it is taken for
FROZEN = 0.1  # [rad] the feet may turn while the IMU says exactly the same, before it is not believed
STANDING = 0.02  # of the weight: a measured load below it is none
GAP = 1.0  # [s] between two samples beyond which their distance in time is no measure of a speed
EARLY = 0.9  # share of the period after which the next sample is published: stamps jitter


class OdometryNode(GuardedNode):
    """Dead reckoning of one robot."""

    def __init__(self, **options: Any) -> None:
        super().__init__("odometry", **options)
        self._settings = parameters.declare(self, OdometrySettings)
        robot_file = load(self._settings.robot)
        robot = robot_file.robot
        self._odometry = Odometry(robot, odometry_scale(robot_file))
        self._joint_layout, self._foot_layout = JointLayout(robot), FootLayout(robot)
        self._planned = [0.0] * len(robot.legs)  # [N]
        self._measured: tuple[float, list[float]] | None = None  # [s], [N] of foot_states
        self._least_load = STANDING * robot.mass * GRAVITY
        self._last: float | None = None  # [s] stamp of the last joints
        self._published = -math.inf  # [s]
        self._imu: tuple[float, float] | None = None  # [s], [rad] stamp and heading
        self._used: tuple[float, float] | None = None  # [s], [rad] of the IMU, as last taken
        self._by_feet = 0.0  # [rad] the feet have turned since then
        self._unchanged = 0.0  # [rad] the feet have turned since the IMU last said something new
        prefix = self._settings.tf_frame_prefix
        self._odom, self._footprint = prefix + self._settings.odom_frame_id, prefix + self._settings.base_frame_id
        self._base = f"{prefix}base_link"
        self._publisher = self.create_publisher(OdometryMessage, "odom", EVENTS)
        self._tf = self.create_publisher(TFMessage, "/tf", SAMPLES)
        # What has come at the same time is taken in this order: loads and heading before the joints they belong to.
        self.create_subscription(MultiDOFJointState, "foot_targets", self._take_feet, SAMPLES)
        self.create_subscription(JointState, "joint_motion", self._take_motion, COMMAND)
        if self._settings.mode != "commanded":
            self.create_subscription(MultiDOFJointState, "foot_states", self._take_loads, SAMPLES)
        if self._settings.mode == "legs_imu":
            self.create_subscription(Imu, "imu/data", self._take_imu, COMMAND)
        joints = "joint_targets" if self._settings.mode == "commanded" else "joint_states"
        self.create_subscription(JointState, joints, self._take_joints, SAMPLES)
        self.create_service(Trigger, "~/reset_odometry", self._reset)

    def _take_feet(self, message: Any) -> None:
        self._planned = self._foot_layout.forces(message).tolist()

    def _take_loads(self, message: Any) -> None:
        forces = self._foot_layout.forces(message).tolist()
        self._measured = self._seconds(message), [f if f > self._least_load else 0.0 for f in forces]

    def _take_motion(self, message: Any) -> None:
        self._planned = [0.0] * len(self._planned)

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
        used, turn = self._used, self._turn(now)
        self._odometry.update(joints, self._loads(now), dt if 0.0 < dt < GAP else 0.0, turn)
        self._by_feet += self._odometry.fitted_turn if self._used is used else 0.0
        if not 0.0 <= now - self._published < EARLY / self._settings.publish_rate:
            self._published = now
            self._publish(message.header.stamp if messages.nanoseconds(message.header.stamp) else self._now())

    def _now(self) -> Any:
        return self.get_clock().now().to_msg()

    def _loads(self, now: float) -> list[float]:
        """Loads of the feet [N], 0 in the air: measured if there are fresh ones, else as planned."""
        if self._measured is not None and abs(now - self._measured[0]) <= FRESH:
            return self._measured[1]
        return self._planned

    def _turn(self, now: float) -> float | None:
        """Change of heading [rad] since the last joints by the IMU; None if the feet have to say it.

        Where no new heading has come for these joints the feet fill in, and the next one makes up for what they did.
        """
        if self._imu is None or abs(now - self._imu[0]) > FRESH:
            self._used, self._unchanged = None, 0.0
            return None
        used = self._used
        if used is not None and (self._imu[0] == used[0] or self._imu[0] > now + AHEAD):
            return None
        by_feet, self._used, self._by_feet = self._by_feet, self._imu, 0.0
        if used is None:
            return None
        change, believed = wrap(self._imu[1] - used[1]), abs(self._unchanged) <= FROZEN
        self._unchanged = 0.0 if change else self._unchanged + self._odometry.fitted_turn
        if abs(self._unchanged) <= FROZEN:
            return change - by_feet if believed else None
        text = "imu/data says the same while the robot turns: the feet give the heading; check the IMU"
        self.report("imu", ReportLevel.WARNING, text)
        return self._unchanged if believed else None  # what it has kept back so far, once

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
