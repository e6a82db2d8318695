"""odometry on real DDS: it follows a synthetic drive, tells it in odom and tf, and refuses garbage."""

import math

import numpy as np
import pytest
from geometry_msgs.msg import TransformStamped
from nav_msgs.msg import Odometry
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState
from std_srvs.srv import Trigger
from support.phantomx import robot, standing
from support.real_time.ros_bench import STEP, overrides

from hexapod_control.core.kinematics.se2 import Pose, Twist, exp, wrap
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.odometry.odometry import FLOOR, OdometryNode
from hexapod_control.ros import messages
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.parameters import ParameterError

MANY = QoSProfile(depth=50)
ROLLING = 0.02  # of the way: what the plan neglects of rolling balls, and odometry does not


class Drive:
    """A planner that stands and walks, its rows published as if measured, and what the node makes of them."""

    def __init__(self, bench, gait="wave", **parameters):
        self.bench = bench
        self.planner = Planner(robot(), gait)
        self.planner.measured(standing())
        while self.planner.state is not RobotState.STANDING:
            self.planner.step(STEP)
        self.node = bench.add(OdometryNode(parameter_overrides=overrides(publish_rate=200.0, **parameters)))
        self.odom = bench.listen(Odometry, "odom", MANY)
        self.tf = bench.listen(TFMessage, "/tf", MANY)
        self.joints_topic = "joint_targets" if parameters.get("mode") == "commanded" else "joint_states"
        self.feet = messages.FootLayout(robot())
        self.joints = messages.JointLayout(robot())
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
        before = self.node._planned
        plan = self.plan
        self.to_feet.publish(self.feet.message(plan.feet, plan.feet_velocity, plan.support, self.stamp()))
        self.bench.until(lambda: self.node._planned is not before, what="foot_targets taken in")
        self.say_joints(self.plan.row)

    def say_joints(self, row):
        count = len(self.odom)
        self.to_joints.publish(self.joints.message(row, None, self.stamp()))
        self.bench.until(lambda: len(self.odom) > count, what="odom")

    def drive(self, twist, steps):
        for _ in range(steps):
            self.step(twist)

    @property
    def told(self):
        place = self.odom[-1].pose.pose
        return Pose(place.position.x, place.position.y, messages.roll_pitch_yaw(place.orientation)[2])


@pytest.mark.parametrize("mode", ["legs", "commanded"])
@pytest.mark.parametrize("gait", ["wave", "ripple", "tetrapod"])
def test_it_follows_a_drive_with_turns(bench, mode, gait):
    drive = Drive(bench, gait, mode=mode)
    for twist in (Twist(0.03, 0.0, 0.0), Twist(0.02, 0.01, 0.15), Twist(0.0, -0.03, 0.0), Twist(0.0, 0.0, 0.0)):
        drive.drive(twist, 100)
    assert abs(drive.pose.x) + abs(drive.pose.y) > 0.09
    assert drive.told[:2] == pytest.approx(drive.pose[:2], abs=ROLLING * 0.12)
    assert wrap(drive.told.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING * 0.3)


def test_a_tripod_that_changes_feet_within_a_sample_loses_no_way(bench):
    drive = Drive(bench, "tripod")
    drive.drive(Twist(0.08, 0.0, 0.3), 300)
    assert math.dist(drive.told[:2], drive.pose[:2]) < ROLLING * 0.08 * 300 * STEP
    assert abs(wrap(drive.told.yaw - drive.pose.yaw)) < ROLLING * 0.3 * 300 * STEP


def test_samples_made_while_the_node_had_no_time_are_made_up_for(bench):
    """A third of a cycle without a turn of the executor: feet change meanwhile."""
    drive = Drive(bench, "tripod")
    drive.drive(Twist(0.08, 0.0, 0.0), 60)
    start, before = drive.told, drive.pose
    for _ in range(20):
        drive.planner.command(Twist(0.08, 0.0, 0.0))
        plan = drive.planner.step(STEP)
        drive.pose, drive.time = drive.pose @ exp(plan.twist, STEP), drive.time + STEP
        drive.to_feet.publish(drive.feet.message(plan.feet, plan.feet_velocity, plan.support, drive.stamp()))
        drive.to_joints.publish(drive.joints.message(plan.row, None, drive.stamp()))
    bench.until(lambda: drive.odom[-1].header.stamp == drive.stamp(), what="the last sample")
    gone = drive.pose.x - before.x
    assert gone > 0.03
    assert drive.told.x - start.x == pytest.approx(gone, rel=ROLLING)


def test_the_velocity_is_that_of_base_footprint_in_its_own_frame(bench):
    drive = Drive(bench)
    drive.drive(Twist(0.02, 0.01, 0.1), 150)
    message = drive.odom[-1]
    assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_footprint")
    velocity = message.twist.twist
    told = (velocity.linear.x, velocity.linear.y, velocity.angular.z)
    assert told == pytest.approx(drive.plan.twist, abs=1e-3)


def test_covariances_are_never_zero_and_grow_with_the_way(bench):
    drive = Drive(bench)
    drive.drive(Twist(0.02, 0.0, 0.0), 50)
    first = np.array(drive.odom[0].pose.covariance).reshape(6, 6)
    last = np.array(drive.odom[-1].pose.covariance).reshape(6, 6)
    assert (np.diag(first) > 0.0).all()
    assert last[0, 0] > first[0, 0]
    assert (np.array(drive.odom[-1].twist.covariance).reshape(6, 6).diagonal() > 0.0).all()


def frames(tf: TFMessage):
    return [(t.header.frame_id, t.child_frame_id) for t in tf.transforms]


def test_tf_is_the_chain_from_odom_to_base_link(bench):
    drive = Drive(bench)
    drive.drive(Twist(0.02, 0.0, 0.0), 30)
    drive.bench.until(lambda: len(drive.tf) >= 30)
    assert frames(drive.tf[-1]) == [("odom", "base_footprint"), ("base_footprint", "base_link")]
    footprint, base = drive.tf[-1].transforms
    assert isinstance(footprint, TransformStamped)
    assert footprint.transform.translation.x == pytest.approx(drive.told.x)
    assert base.transform.translation.z == pytest.approx(robot().walk.height, abs=1e-5)
    assert footprint.header.stamp == drive.odom[-1].header.stamp


def test_without_odom_tf_the_body_is_still_placed_over_its_footprint(bench):
    drive = Drive(bench, enable_odom_tf=False)
    drive.drive(Twist(0.0, 0.0, 0.0), 2)
    drive.bench.until(lambda: drive.tf)
    assert frames(drive.tf[-1]) == [("base_footprint", "base_link")]


def test_frames_take_prefix_and_names(bench):
    drive = Drive(bench, tf_frame_prefix="one/", odom_frame_id="start", base_frame_id="foot")
    drive.drive(Twist(0.0, 0.0, 0.0), 2)
    drive.bench.until(lambda: drive.tf)
    assert frames(drive.tf[-1]) == [("one/start", "one/foot"), ("one/foot", "one/base_link")]
    assert drive.odom[-1].header.frame_id == "one/start"
    assert drive.odom[-1].child_frame_id == "one/foot"


def test_reset_puts_the_origin_where_the_robot_is(bench):
    drive = Drive(bench)
    drive.drive(Twist(0.03, 0.0, 0.1), 100)
    assert bench.call(Trigger, "odometry/reset_odometry").success
    drive.pose = Pose(0.0, 0.0, 0.0)
    drive.drive(Twist(0.03, 0.0, 0.1), 50)
    assert tuple(drive.told) == pytest.approx(tuple(drive.pose), abs=ROLLING * 0.1)
    assert drive.odom[-1].pose.pose.position.x > 0.02  # and the way goes on from there


def test_a_motion_in_joint_space_moves_nothing(bench):
    drive = Drive(bench)
    drive.drive(Twist(0.0, 0.0, 0.0), 3)
    motion = bench.publisher(JointState, "joint_motion")
    motion.publish(drive.joints.message(standing(), None, drive.stamp()))
    bench.until(lambda: not any(drive.node._planned))
    for step in range(10):
        drive.time += STEP
        drive.say_joints(standing() + 0.02 * step)
    assert drive.told == pytest.approx((0.0, 0.0, 0.0), abs=1e-9)


def test_the_heading_is_the_imu_s_if_asked_for_and_the_legs_when_it_falls_silent(bench):
    drive = Drive(bench, mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data")
    for count in range(100):
        inertial = messages.Inertial((0.0, 0.0, 3.0 + 0.01 * count), (0.0, 0.0, 0.5), (0.0, 0.0, 9.81))
        before = drive.node._imu
        imu.publish(messages.inertial_message(inertial, drive.stamp()))
        bench.until(lambda before=before: drive.node._imu is not before, what="imu/data taken in")
        drive.step(Twist(0.0, 0.0, 0.0))
    assert drive.told.yaw == pytest.approx(0.99, abs=1e-6)
    drive.drive(Twist(0.0, 0.0, 0.0), 30)
    assert drive.told.yaw == pytest.approx(0.99, abs=1e-6)


def turn_variance(drive):
    return drive.odom[-1].pose.covariance[35]


def say_heading(drive, imu, yaw, rate=0.0):
    inertial = messages.Inertial((0.0, 0.0, yaw), (0.0, 0.0, rate), (0.0, 0.0, 9.81))
    before = drive.node._imu
    imu.publish(messages.inertial_message(inertial, drive.stamp()))
    drive.bench.until(lambda: drive.node._imu is not before, what="imu/data taken in")


def test_the_heading_s_variance_grows_faster_once_the_imu_is_lost(bench):
    drive = Drive(bench, "tripod", mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data")
    drive.drive(Twist(0.0, 0.0, 0.4), 1)
    for _ in range(100):
        say_heading(drive, imu, drive.pose.yaw)
        drive.step(Twist(0.0, 0.0, 0.4))
    with_imu = turn_variance(drive)
    drive.drive(Twist(0.0, 0.0, 0.4), 30)  # longer than a heading is good for
    lost = turn_variance(drive)
    drive.drive(Twist(0.0, 0.0, 0.4), 100)
    assert turn_variance(drive) - lost > 1.4 * (with_imu - FLOOR)
    assert wrap(drive.told.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING)


def test_a_frozen_imu_is_named_and_what_it_kept_back_is_made_up_for(bench):
    drive = Drive(bench, "tripod", mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data")
    for _ in range(150):
        say_heading(drive, imu, 1.0)
        drive.step(Twist(0.0, 0.0, 0.4))
    assert "imu/data says the same while the robot turns" in drive.node.last_report("imu")
    assert drive.pose.yaw > 0.5
    assert wrap(drive.told.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING)


def test_an_imu_that_says_nan_is_refused_with_a_sentence_and_the_legs_give_the_heading(bench):
    drive = Drive(bench, "tripod", mode="legs_imu")
    imu = bench.publisher(Imu, "imu/data")
    broken = messages.inertial_message(
        messages.Inertial((0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (0.0, 0.0, 9.81)), drive.stamp()
    )
    broken.orientation.z = math.nan
    for _ in range(60):
        imu.publish(broken)
        drive.step(Twist(0.0, 0.0, 0.4))
    bench.until(lambda: "imu/data refused" in drive.node.last_report("refused imu/data"))
    assert drive.node._imu is None
    assert all(math.isfinite(value) for value in drive.odom[-1].pose.covariance)
    assert wrap(drive.told.yaw - drive.pose.yaw) == pytest.approx(0.0, abs=ROLLING)


def test_measured_contact_is_believed_before_the_plan(bench):
    """A foot that the plan has on the ground but that carries nothing hangs over a hole: it is not taken."""
    drive = Drive(bench)
    drive.drive(Twist(0.0, 0.0, 0.0), 2)
    states = bench.publisher(MultiDOFJointState, "foot_states")
    loads = np.full(6, 4.0)
    loads[0] = 0.0
    for step in range(20):
        before = drive.node._measured
        drive.time += STEP
        states.publish(drive.feet.message(drive.plan.feet, drive.plan.feet_velocity, loads, drive.stamp()))
        bench.until(lambda before=before: drive.node._measured is not before, what="foot_states taken in")
        row = np.array(drive.plan.row)
        row[0, 1] += 0.01 * step  # it falls
        drive.say_joints(row)
    assert drive.told == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
    height = drive.node._odometry.attitude
    assert (height.roll, height.pitch) == pytest.approx((0.0, 0.0), abs=1e-6)


def test_before_any_feet_are_told_odom_is_the_origin(bench):
    drive = Drive(bench)
    drive.say_joints(standing())
    assert drive.told == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda message: message.position.__setitem__(3, math.inf), "is inf; send finite numbers"),
        (lambda message: message.name.__setitem__(0, "nose"), "'nose' is unknown"),
    ],
)
def test_joints_that_cannot_be_used_are_refused_with_a_sentence(bench, change, sentence):
    drive = Drive(bench)
    good = drive.joints.message(standing(), None, drive.stamp())
    message = JointState(name=list(good.name), position=list(good.position))
    change(message)
    drive.to_joints.publish(message)
    bench.until(lambda: sentence in drive.node.last_report("refused joint_states"))
    assert not drive.odom


def test_a_mode_that_is_none_is_refused(bench):
    with pytest.raises(ParameterError, match="mode must be one of commanded, legs, legs_imu, is 'wheels'"):
        OdometryNode(parameter_overrides=overrides(mode="wheels"))
