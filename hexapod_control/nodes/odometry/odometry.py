# SPDX-License-Identifier: Apache-2.0
"""Node odometry: dead reckoning from the joints and the supporting feet.

It publishes odom and the transforms odom -> base_footprint -> base_link. The parameter `mode` selects the sources:

mode       positions of the feet    supporting feet                                heading
commanded  joint_targets            as planned (foot_targets)                      feet
legs       joint_states, measured   foot_states if received, else as planned       feet
legs_imu   joint_states, measured   foot_states if received, else as planned       imu/data if received, else feet

legs_imu_3d is legs_imu in which roll and pitch of imu/data tell the slope of the ground: base_footprint rises in odom.
In the other modes the ground counts as level, so that Nav2 sees no drift of the height.

A motion in joint space (joint_motion) has no supporting feet.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from nav_msgs.msg import Odometry as OdometryMessage
from sensor_msgs.msg import BatteryState, Imu, JointState, MultiDOFJointState
from std_srvs.srv import Trigger

from hexapod_control.config.robots.robot_file import odometry_scale
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.names import joint_names
from hexapod_control.core.refusal import Statement
from hexapod_control.core.robot import Robot
from hexapod_control.core.sensing.foot_force_estimator import SupportForces
from hexapod_control.core.sensing.odometry import MAX_AGE_S, WITH_IMU, WITH_SLOPE, HeadingFusion, Odometry
from hexapod_control.core.sensing.usage import UsageMeter
from hexapod_control.nodes.announcements.graph_presence import create_exclusive_node
from hexapod_control.nodes.joint_state_input import JointStateInput, MeasuredSample
from hexapod_control.nodes.odometry.settings import OdometrySettings
from hexapod_control.nodes.odometry.stored_values import PoseMemory, UsageMemory
from hexapod_control.ros import messages, parameters
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.node_process import run
from hexapod_control.ros.qos import COMMAND, EVENTS, SAMPLES, SENSOR
from hexapod_control.ros.row_messages import FootLayout, JointLayout
from hexapod_control.ros.started_files import started_mapping, started_robot

MAX_BATTERY_AGE_S = 3.0
STEP_S = 0.1  # between two counted samples: joints reverse less often
MIN_VARIANCE = 1e-6  # [m^2, rad^2, (m/s)^2, (rad/s)^2] of the estimated quantities
OTHER_VARIANCE = 1e-4  # likewise of height, roll, pitch and their rates: zero by the definition of base_footprint
LEAST_COVARIANCE = np.diag(
    [MIN_VARIANCE, MIN_VARIANCE, OTHER_VARIANCE, OTHER_VARIANCE, OTHER_VARIANCE, MIN_VARIANCE]
)  # of x, y, z, roll, pitch, yaw
PLANAR = np.ix_([0, 1, 5], [0, 1, 5])  # x, y and yaw in it
MAX_SAMPLE_GAP_S = 1.0  # between two samples; after a longer gap no velocity is computed
STARTING_RUNS = 4  # housekeeping runs (every 0.5 s) before a missing IMU is reported
MIN_PERIOD_SHARE = 0.9  # share of the period after which the next sample is published: stamps jitter


class OdometryNode(GuardedNode):
    """Publishes the dead reckoning of one robot."""

    def __init__(self, **options: Any) -> None:
        super().__init__("odometry", **options)
        self._settings = parameters.declare(self, OdometrySettings)
        robot_file = started_robot(self._settings.robot)
        robot = robot_file.robot
        self._odometry = Odometry(robot, odometry_scale(robot_file.document))
        self._memory = PoseMemory(self.get_fully_qualified_name())
        self._resume()
        mapping = started_mapping(self._settings.joint_mapping, robot)
        self._joint_layout = JointLayout(robot, mapping)
        self._foot_layout = FootLayout(robot)
        self._support = SupportForces(robot)
        self._heading = HeadingFusion()
        self._last: float | None = None  # [s] stamp of the last joints
        self._published = -math.inf  # [s]
        prefix = self._settings.tf_frame_prefix
        self._odom = prefix + self._settings.odom_frame_id
        self._footprint = prefix + self._settings.base_frame_id
        self._base = f"{prefix}base_link"
        self._publisher = self.create_publisher(OdometryMessage, "odom", EVENTS)
        self._tf = self.create_publisher(TFMessage, "/tf", SAMPLES)
        # Polled in this order with every joint sample, up to its stamp.
        self._subscribe_to_forces("foot_targets", self._take_foot_targets, needed=self._support.needs_plan)
        self.create_subscription(JointState, "joint_motion", self._take_motion, COMMAND, polled=True)
        if self._settings.mode != "commanded":
            self._subscribe_to_forces("foot_states", self._take_foot_states)
        if self._settings.mode in WITH_IMU:
            self.create_subscription(Imu, "imu/data", self._take_imu, SENSOR, polled=True)
        self._measured = JointStateInput(self, robot, mapping, torques=True)
        self._rejected = 0
        self._usage = UsageInput(self, robot, keep=self._settings.keep_usage)
        if self._settings.mode == "commanded":
            self.create_subscription(JointState, "joint_targets", self._take_targets, SAMPLES)
        else:
            self._measured.subscribe(self._take_joints, SAMPLES)
        self.create_service(Trigger, "~/reset_odometry", self._reset)

    def _subscribe_to_forces(self, topic: str, take: Callable[[MultiDOFJointState], None], **options: Any) -> None:
        decode = messages.forces_decoder()
        self.create_subscription(MultiDOFJointState, topic, take, SAMPLES, decode=decode, polled=True, **options)

    def _resume(self) -> None:
        remembered = self._memory.recall()
        if remembered is not None:
            self._odometry.resume(remembered.pose, remembered.covariance)
            text = "restarted: odom continues from its last pose, {age:.1f} s old, with grown covariance"
            self.report("restart", ReportLevel.WARNING, Statement("odom_continues", text, age=remembered.age))

    def _take_foot_targets(self, message: MultiDOFJointState) -> None:
        self._support.plan(self._foot_layout.forces(message).tolist())

    def _take_foot_states(self, message: MultiDOFJointState) -> None:
        self._support.measure(self._foot_layout.forces(message).tolist(), self._seconds(message.header.stamp))

    def _take_motion(self, message: JointState) -> None:
        self._support.plan_none()

    def _take_imu(self, message: Imu) -> None:
        orientation = messages.inertial(message).orientation
        if orientation is not None:
            self._heading.take(self._seconds(message.header.stamp), orientation[2], orientation[:2])

    def _seconds(self, stamp: Time) -> float:
        """A stamp [s]; the time now if it is not set."""
        return (messages.nanoseconds(stamp) or self.get_clock().now().nanoseconds) / messages.NANOSECONDS

    def _take_targets(self, message: JointState) -> None:
        self._take_joints(MeasuredSample(self._joint_layout.joints(message), message.header.stamp, jumped=False))

    def _take_joints(self, sample: MeasuredSample) -> None:
        self.take_polled(until=messages.nanoseconds(sample.stamp))
        now = self._seconds(sample.stamp)
        dt = now - self._last if self._last is not None else 0.0
        if self._last is not None and dt == 0.0:
            return  # a duplicate
        self._last = now
        turn = self._heading.change(now)
        self._report_imu()
        if sample.jumped:
            self._odometry.interrupt()
        self._odometry.inflate_covariance(self._measured.rejected - self._rejected)
        self._rejected = self._measured.rejected
        tilt = self._heading.tilt if self._settings.mode == WITH_SLOPE else None
        dt = dt if 0.0 < dt < MAX_SAMPLE_GAP_S else 0.0
        self._odometry.update(sample.joints, self._support.at(now), dt, turn, tilt)
        self._heading.add_fitted_turn(self._odometry.fitted_turn)
        self._usage.count(sample, now, self._odometry.pose)
        if not 0.0 <= now - self._published < MIN_PERIOD_SHARE / self._settings.publish_rate:
            self._published = now
            self._publish(sample.stamp if messages.nanoseconds(sample.stamp) else self._now())

    def _report_imu(self) -> None:
        """Reports an IMU that is frozen, or that gives no heading in a mode that needs it."""
        started = self._heading.newest is not None or self.housekeeping_runs >= STARTING_RUNS
        if self._heading.frozen:
            text = "imu/data repeats the same heading while the robot turns: the feet give the heading; check the IMU"
            self.report("imu", ReportLevel.WARNING, Statement("heading_frozen", text))
        elif self._settings.mode in WITH_IMU and self._heading.lost and started:
            text = "imu/data has no heading with a stamp of the last {seconds:g} s: the feet give the heading; is the "
            text += "IMU's driver running, and its clock right?"
            self.report("imu", ReportLevel.WARNING, Statement("no_heading", text, seconds=MAX_AGE_S))

    def _now(self) -> Time:
        return self.get_clock().now().to_msg()

    def _publish(self, stamp: Time) -> None:
        odometry = self._odometry
        x, y, yaw = odometry.pose
        vx, vy, wz = odometry.twist
        self._memory.keep(odometry.pose, odometry.covariance)
        pose = BodyPose(x=x, y=y, z=odometry.height, yaw=yaw)
        if self._publisher.is_received:
            covariances = (_spatial_covariance(odometry.covariance), _spatial_covariance(odometry.twist_covariance))
            velocity = ((vx, vy, 0.0), (0.0, 0.0, wz))
            frames = (self._odom, self._footprint)
            self._publisher.publish(messages.odometry_message(pose, velocity, covariances, frames, stamp))
        if not self._tf.is_received:
            return
        transforms = [messages.transform_message(self._footprint, self._base, odometry.attitude, stamp)]
        if self._settings.enable_odom_tf:
            transforms.insert(0, messages.transform_message(self._odom, self._footprint, pose, stamp))
        self._tf.publish(TFMessage(transforms=transforms))

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        own = {"mode": self._settings.mode, "joint_states dropped": self._measured.rejected}
        return {**own, **self._usage.status()}

    def every_second(self) -> None:
        """Saves the usage counters (hours, distance, joint cycles) when it is time."""
        self._usage.keep()

    def publish_final_state(self) -> None:
        """Saves usage counters and pose before the process ends."""
        self._usage.close()
        self._memory.close()

    def _reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._odometry.reset()
        text = "odom starts again at its origin, as requested; a filter that fuses its pose sees a jump: reset it too"
        self.report("reset", ReportLevel.WARNING, Statement("odom_reset", text))
        response.success = True
        response.message = "odom starts again at the robot's present pose"
        return response


def _spatial_covariance(planar: Array) -> Array:
    """Covariance (6, 6) of (x, y, z, roll, pitch, yaw) for the covariance (3, 3) of (x, y, yaw)."""
    covariance = LEAST_COVARIANCE.copy()
    covariance[PLANAR] += planar
    return covariance


class UsageInput:
    """Counts the usage of one robot from joint samples and battery readings; lives as long as its node."""

    def __init__(self, node: GuardedNode, robot: Robot, *, keep: bool) -> None:
        """`keep`: continue the counts stored in the robot's file, and write them."""
        self._node = node
        self._mass = robot.mass
        self._names = joint_names(robot.leg_names)
        self._memory = UsageMemory(f"{node.get_namespace()}{robot.name}") if keep else None
        self._meter = UsageMeter(robot, self._memory.recall() if self._memory else None)
        self._power: float | None = None  # [W]
        self._measured_at = -math.inf  # [s] steady time
        self._last: tuple[float, Pose] | None = None  # [s] stamp
        node.create_subscription(BatteryState, "battery_state", self.on_battery_state, SAMPLES)

    def on_battery_state(self, message: BatteryState) -> None:
        """Stores voltage and power of the supply; an unknown current is NaN."""
        if not (message.present and math.isfinite(message.voltage) and message.voltage > 0.0):
            return
        self._meter.voltage(message.voltage)
        power = abs(message.voltage * message.current)
        self._power = power if math.isfinite(power) else None
        self._measured_at = time.monotonic()

    def count(self, sample: MeasuredSample, now: float, pose: Pose) -> None:
        """Counts a joint sample with the stamp `now` [s] and the pose of the odometry."""
        if self._last is not None and 0.0 <= now - self._last[0] < STEP_S:
            return
        before = self._last
        self._last = (now, pose)
        if before is None:
            return
        moved = math.dist(before[1][:2], pose[:2])
        power = self._power if time.monotonic() - self._measured_at <= MAX_BATTERY_AGE_S else None
        self._meter.step(now - before[0], sample.joints, moved, power, sample.torques)

    def keep(self) -> None:
        """Saves the counters when it is time."""
        if self._memory is not None:
            self._memory.keep(self._meter.usage)
            self._report_failure(self._memory)

    def close(self) -> None:
        """Saves the counters a last time."""
        if self._memory is not None:
            self._memory.close(self._meter.usage)
            self._report_failure(self._memory)

    def _report_failure(self, memory: UsageMemory) -> None:
        if memory.failure:
            self._node.report("usage", ReportLevel.WARNING, memory.failure)

    def status(self) -> Mapping[str, object]:
        """Values for /diagnostics."""
        return self._meter.usage.status(self._mass, self._names)


def main() -> int:
    """Runs the node. Returns the exit code."""
    return run(lambda: create_exclusive_node("odometry", OdometryNode))


if __name__ == "__main__":
    sys.exit(main())
