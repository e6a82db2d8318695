# SPDX-License-Identifier: Apache-2.0
"""Node odometry on real DDS: it follows a synthetic drive, publishes odom and tf, and refuses invalid messages."""

import math

import numpy as np
import pytest
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import STEP, overrides

from hexapod_control.core.kinematics.se2 import Pose, Twist, exp, wrap
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.odometry.odometry import MIN_VARIANCE, OdometryNode
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import SENSOR
from hexapod_control.ros.row_messages import FootLayout, JointLayout

MANY = QoSProfile(depth=50)
ROLLING_SHARE = 0.02  # of the distance: rolling of the feet's balls, which the plan neglects and odometry does not


class Drive:
    """A planner that stands and walks, with its joint angles published as measured ones, and the node's odometry."""

    def __init__(self, bench, gait="wave", **parameters):
        self.bench = bench
        self.planner = Planner(robot(), gait)
        self.planner.set_measured_joints(standing_joints())
        while self.planner.state is not RobotState.STANDING:
            self.planner.step(STEP)
        self.node = bench.add(OdometryNode(parameter_overrides=overrides(**{"publish_rate": 200.0} | parameters)))
        self.odom = bench.listen(Odometry, "odom", MANY)
        self.tf = bench.listen(TFMessage, "/tf", MANY)
        self.joints_topic = "joint_targets" if parameters.get("mode") == "commanded" else "joint_states"
        self.feet = FootLayout(robot())
        self.joints = JointLayout(robot())
        self.to_feet = bench.publisher(MultiDOFJointState, "foot_targets")
        self.to_joints = bench.publisher(JointState, self.joints_topic)
        bench.until(lambda: bench.probe.count_publishers("odom") and bench.probe.count_publishers("/tf"))
        self.time = 1000.0  # [s]
        self.pose = Pose(0.0, 0.0, 0.0)
        self.plan = None

    def stamp(self):
        return messages.time(round(self.time * 1e9))

    def step(self, twist):
        """One tick of everything."""
        self.planner.command(twist)
        self.plan = self.planner.step(STEP)
        self.pose = self.pose @ exp(self.plan.twist, STEP)
        self.time += STEP
        plan = self.plan
        feet = self.feet.message(plan.feet, plan.feet_velocity, plan.support, self.stamp())
        self.deliver(self.to_feet, feet, "foot_targets")
        self.publish_joints(self.plan.joint_angles)

    def deliver(self, publisher, message, topic):
        """Publishes a message and waits until the node has handled it."""
        count = self.node.received[topic]
        publisher.publish(message)
        self.bench.until(lambda: self.node.take_polled() or self.node.received[topic] > count, what=f"{topic} received")

    def publish_joints(self, row):
        count = len(self.odom)
        self.to_joints.publish(self.joints.message(row, None, self.stamp()))
        self.bench.until(lambda: len(self.odom) > count, what="odom")

    def drive(self, twist, steps):
        for _ in range(steps):
            self.step(twist)

    @property
    def estimate(self):
        pose = self.odom[-1].pose.pose
        return Pose(pose.position.x, pose.position.y, messages.roll_pitch_yaw(pose.orientation)[2])


@pytest.mark.parametrize(("mode", "gait"), [("legs", "wave"), ("commanded", "ripple")])
def test_odometry_follows_a_drive_with_turns(bench, mode, gait):
    drive = Drive(bench, gait, mode=mode)
    for twist in (Twist(0.03, 0.0, 0.0), Twist(0.02, 0.01, 0.15), Twist(0.0, -0.03, 0.0), Twist(0.0, 0.0, 0.0)):
        drive.drive(twist, 100)
    assert abs(drive.pose.x) + abs(drive.pose.y) > 0.09
    assert drive.estimate[:2] == pytest.approx(drive.pose[:2], abs=ROLLING_SHARE * 0.12)
    assert wrap(drive.estimate.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING_SHARE * 0.3)
    assert 0.1 <= float(drive.node.status()["distance [m]"]) <= 0.2


def test_samples_that_were_queued_while_the_node_was_busy_are_all_used(bench):
    """A third of a cycle is published before the executor runs: feet change meanwhile."""
    drive = Drive(bench, "tripod")
    drive.drive(Twist(0.08, 0.0, 0.0), 60)
    start, before = drive.estimate, drive.pose
    for _ in range(20):
        drive.planner.command(Twist(0.08, 0.0, 0.0))
        plan = drive.planner.step(STEP)
        drive.pose, drive.time = drive.pose @ exp(plan.twist, STEP), drive.time + STEP
        drive.to_feet.publish(drive.feet.message(plan.feet, plan.feet_velocity, plan.support, drive.stamp()))
        drive.to_joints.publish(drive.joints.message(plan.joint_angles, None, drive.stamp()))
    bench.until(lambda: drive.odom[-1].header.stamp == drive.stamp(), what="the last sample")
    gone = drive.pose.x - before.x
    assert gone > 0.03
    assert drive.estimate.x - start.x == pytest.approx(gone, rel=ROLLING_SHARE)


def test_mode_legs_imu_takes_the_heading_from_the_imu_and_from_the_legs_when_the_imu_is_silent(bench):
    drive = Drive(bench, mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data", SENSOR)  # best effort, as drivers of IMUs publish
    for count in range(100):
        inertial = messages.Inertial((0.0, 0.0, 3.0 + 0.01 * count), (0.0, 0.0, 0.5), (0.0, 0.0, 9.81))
        drive.deliver(imu, messages.inertial_message(inertial, drive.stamp()), "imu/data")
        drive.step(Twist(0.0, 0.0, 0.0))
    assert drive.estimate.yaw == pytest.approx(0.99, abs=1e-6)
    drive.drive(Twist(0.0, 0.0, 0.0), 30)
    assert drive.estimate.yaw == pytest.approx(0.99, abs=1e-6)


def turn_variance(drive):
    return drive.odom[-1].pose.covariance[35]


def publish_heading(drive, imu, yaw, rate=0.0):
    inertial = messages.Inertial((0.0, 0.0, yaw), (0.0, 0.0, rate), (0.0, 0.0, 9.81))
    drive.deliver(imu, messages.inertial_message(inertial, drive.stamp()), "imu/data")


def test_the_heading_s_variance_grows_faster_once_the_imu_is_lost(bench):
    drive = Drive(bench, "tripod", mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data")
    drive.drive(Twist(0.0, 0.0, 0.4), 1)
    for _ in range(100):
        publish_heading(drive, imu, drive.pose.yaw)
        drive.step(Twist(0.0, 0.0, 0.4))
    with_imu = turn_variance(drive)
    assert drive.node.last_report("imu") == ""
    drive.drive(Twist(0.0, 0.0, 0.4), 30)  # longer than a heading is good for
    text = (
        "imu/data has no heading with a stamp of the last 0.2 s: the feet give the heading; is the IMU's driver running"
    )
    assert text in drive.node.last_report("imu")
    lost = turn_variance(drive)
    drive.drive(Twist(0.0, 0.0, 0.4), 100)
    assert turn_variance(drive) - lost > 1.4 * (with_imu - MIN_VARIANCE)
    assert wrap(drive.estimate.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING_SHARE)


def test_a_frozen_imu_is_reported_and_the_turn_it_missed_is_added(bench):
    drive = Drive(bench, "tripod", mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data")
    for _ in range(150):
        publish_heading(drive, imu, 1.0)
        drive.step(Twist(0.0, 0.0, 0.4))
    assert "imu/data repeats the same heading while the robot turns" in drive.node.last_report("imu")
    assert drive.pose.yaw > 0.5
    assert wrap(drive.estimate.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING_SHARE)


def test_an_imu_that_sends_nan_is_refused_with_a_report_and_the_legs_give_the_heading(bench):
    drive = Drive(bench, "tripod", mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data")
    broken = messages.inertial_message(
        messages.Inertial((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)), drive.stamp()
    )
    broken.orientation.z = math.nan
    for _ in range(60):
        imu.publish(broken)
        drive.step(Twist(0.0, 0.0, 0.4))
    bench.until(lambda: "imu/data refused: orientation (" in drive.node.last_report("refused imu/data"))
    assert all(math.isfinite(value) for value in drive.odom[-1].pose.covariance)
    assert wrap(drive.estimate.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING_SHARE)


@pytest.mark.parametrize(
    ("change", "report"),
    [
        (lambda message: message.position.__setitem__(3, math.inf), "is inf; send finite numbers"),
        (lambda message: message.name.__setitem__(0, "nose"), "'nose' is unknown"),
    ],
)
def test_invalid_joint_states_are_refused_with_a_report(bench, change, report):
    drive = Drive(bench)
    good = drive.joints.message(standing_joints(), None, drive.stamp())
    message = JointState(name=list(good.name), position=list(good.position))
    change(message)
    drive.to_joints.publish(message)
    bench.until(lambda: report in drive.node.last_report("refused joint_states"))
    assert not drive.odom


@pytest.mark.parametrize("angle", [1e308, 0.0, "one joint at 1e6"])
def test_a_hundred_foreign_joint_states_do_not_move_the_robot_and_make_its_pose_less_certain(bench, angle):
    drive = Drive(bench, "tripod")
    drive.drive(Twist(0.08, 0.0, 0.2), 20)
    certain = np.diag(np.array(drive.odom[-1].pose.covariance).reshape(6, 6))[[0, 1, 5]]
    for _ in range(100):
        drive.step(Twist(0.08, 0.0, 0.2))
        row = np.array(drive.plan.joint_angles) if isinstance(angle, str) else np.full((6, 3), angle)
        row[2, 1] = 1e6 if isinstance(angle, str) else angle
        message = drive.joints.message(row, None, drive.stamp())
        drive.deliver(drive.to_joints, message, "joint_states")
    drive.step(Twist(0.08, 0.0, 0.2))
    assert math.dist(drive.estimate[:2], drive.pose[:2]) < 0.02
    assert abs(wrap(drive.estimate.yaw - drive.pose.yaw)) < math.radians(2.0)
    spread = np.diag(np.array(drive.odom[-1].pose.covariance).reshape(6, 6))[[0, 1, 5]] - certain
    assert (np.sqrt(spread) > (0.019, 0.019, math.radians(1.9))).all()
    assert (np.sqrt(spread) < (0.03, 0.03, math.radians(3.0))).all()  # each message counts once
    text = drive.node.last_report("refused joint_states")
    assert "100 dropped so far; does another program publish joint_states?" in text
    status = drive.node.status()
    assert (status["mode"], status["joint_states dropped"]) == ("legs", 100)
    assert not [kind for kind in drive.node.sent_reports if kind.startswith("failed")]


def test_an_unknown_mode_is_refused(bench):
    with pytest.raises(ParameterError, match="mode must be one of commanded, legs, legs_imu, legs_imu_3d, is 'wheels'"):
        OdometryNode(parameter_overrides=overrides(mode="wheels"))
