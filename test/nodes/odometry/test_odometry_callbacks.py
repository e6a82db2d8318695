# SPDX-License-Identifier: Apache-2.0
"""What the node odometry makes of each message, with stand-ins for the estimate, the heading and the forces."""

from types import SimpleNamespace

import numpy as np
import pytest
from sensor_msgs.msg import BatteryState, Imu, JointState
from std_srvs.srv import Trigger
from support.kits.direct_topics import DirectTopics
from support.kits.plain_node import Moment, PlainNode
from support.phantomx import robot, standing_joints
from support.real_time.ros_bench import overrides

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Pose, Twist
from hexapod_control.nodes.joint_state_input import MeasuredSample
from hexapod_control.nodes.odometry import odometry
from hexapod_control.nodes.odometry.odometry import OdometryNode, UsageInput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.row_messages import FootLayout, JointLayout, xyz

PLANAR = np.array([[0.1, 0.2, 0.3], [0.2, 0.4, 0.5], [0.3, 0.5, 0.6]])
FORCES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


class Part:
    """A stand-in that records its calls; `answers` are the return values of its methods."""

    def __init__(self, **values):
        self.asked, self.answers = [], {}
        vars(self).update(values)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*values, **options):
            self.asked.append((name, *values, *options.values()))
            return self.answers.get(name)

        return call

    def times(self, name):
        return [tuple(values) for called, *values in self.asked if called == name]


class Node:
    """The node and its parts."""

    def __init__(self, bench, monkeypatch, **parameters):
        self.topics, self.mass = DirectTopics(monkeypatch), robot().mass
        self.estimate = Part(
            pose=Pose(1.0, -2.0, 0.5),
            twist=Twist(0.04, 0.05, 0.3),
            covariance=PLANAR,
            twist_covariance=2.0 * PLANAR,
            attitude=BodyPose(z=0.09, roll=0.1),
            height=0.0,
            fitted_turn=0.01,
        )
        self.heading = Part(newest=None, frozen=False, lost=False, tilt=(0.01, 0.02))
        self.support, self.usage, self.memory = Part(), Part(), Part()
        self.support.answers |= {"needs_plan": True, "at": FORCES}
        self.heading.answers["change"] = 0.02
        self.usage.answers["status"] = {"distance [m]": "1.0"}
        monkeypatch.setattr(odometry, "Odometry", lambda *what: self.estimate)
        monkeypatch.setattr(odometry, "HeadingFusion", lambda: self.heading)
        monkeypatch.setattr(odometry, "SupportForces", lambda robot: self.support)
        monkeypatch.setattr(odometry, "UsageInput", lambda *what, **options: self.usage)
        monkeypatch.setattr(odometry, "PoseMemory", lambda name: self.memory)
        self.node = bench.add(OdometryNode(parameter_overrides=overrides(**{"publish_rate": 200.0} | parameters)))
        self.joints, self.feet = JointLayout(robot()), FootLayout(robot())

    def step(self, seconds, joints=None, topic="joint_states"):
        """A sample of the joints with this stamp [s]."""
        row = standing_joints() if joints is None else joints
        self.topics.deliver(topic, self.joints.message(row, None, messages.time(round(1e9 * seconds))))

    def loads(self, topic, seconds=7.0):
        zero = np.zeros((6, 3))
        message = self.feet.message(zero, zero, np.array(FORCES), messages.time(round(1e9 * seconds)))
        self.topics.deliver(topic, message)

    @property
    def steps(self):
        """Time step and turn of every update."""
        return [(pytest.approx(dt), turn) for _, _, dt, turn, _ in self.estimate.times("update")]

    def odom(self):
        return self.topics.sent["odom"]


@pytest.fixture
def make(bench, monkeypatch):
    return lambda **parameters: Node(bench, monkeypatch, **parameters)


@pytest.mark.parametrize(
    ("mode", "topics"),
    [
        ("commanded", {"joint_targets"}),
        ("legs", {"joint_states", "foot_states"}),
        ("legs_imu", {"joint_states", "foot_states", "imu/data"}),
        ("legs_imu_3d", {"joint_states", "foot_states", "imu/data"}),
    ],
)
def test_each_mode_subscribes_to_what_it_uses(make, mode, topics):
    known = {"joint_targets", "joint_states", "foot_states", "imu/data", "foot_targets", "joint_motion"}
    assert make(mode=mode).topics.subscribed() & known == topics | {"foot_targets", "joint_motion"}


def test_forces_motions_and_headings_are_taken_with_their_times(make):
    made = make(mode="legs_imu")
    made.loads("foot_targets")
    made.loads("foot_states", 7.5)
    made.topics.deliver("joint_motion", JointState())
    reading = messages.Inertial((0.1, 0.2, 0.7), (0.0,) * 3, (0.0, 0.0, 9.81))
    made.topics.deliver("imu/data", messages.inertial_message(reading, messages.time(8_250_000_000)))
    unknown = Imu()
    unknown.orientation_covariance[0] = -1.0
    made.topics.deliver("imu/data", unknown)
    assert made.support.times("plan") == [(FORCES,)] and made.support.times("measure") == [(FORCES, 7.5)]
    assert len(made.support.times("plan_none")) == 1
    ((time, yaw, tilt),) = made.heading.times("take")
    assert (time, yaw, *tilt) == pytest.approx((8.25, 0.7, 0.1, 0.2))
    made.support.answers["needs_plan"] = False
    made.loads("foot_targets")
    assert len(made.support.times("plan")) == 1


def test_a_sample_updates_the_estimate_with_forces_time_step_and_turn(make):
    made = make()
    for stamp in (100.0, 100.02, 100.02, 100.05, 101.04, 102.05, 102.0):
        made.step(stamp)
    assert [dt for dt, _ in made.steps] == [0.0, 0.02, 0.03, 0.99, 0.0, 0.0]
    joints, forces, _, turn, tilt = made.estimate.times("update")[0]
    assert joints == pytest.approx(standing_joints()) and (forces, turn, tilt) == (FORCES, 0.02, None)
    assert made.support.times("at")[0] == made.heading.times("change")[0] == (100.0,)
    assert made.heading.times("add_fitted_turn") == [(0.01,)] * 6
    (sample, now, pose) = made.usage.times("count")[-1]
    assert sample.joints == pytest.approx(standing_joints()) and (now, pose) == (102.0, made.estimate.pose)


def test_commanded_joints_are_used_as_they_are(make):
    made = make(mode="commanded")
    made.step(100.0, topic="joint_targets")
    made.step(100.02, standing_joints() + 1.0, topic="joint_targets")
    assert made.steps == [(0.0, 0.02), (0.02, 0.02)] and not made.estimate.times("interrupt")


def test_with_the_slope_of_the_ground_the_footprint_has_a_height(make):
    made = make(mode="legs_imu_3d")
    made.estimate.height = 0.25
    made.step(100.0)
    assert made.estimate.times("update")[0][4] == (0.01, 0.02)
    assert made.odom()[0].pose.pose.position.z == 0.25
    footprint, _ = made.topics.sent["tf"][0].transforms
    assert footprint.transform.translation.z == 0.25


def test_samples_without_a_stamp_have_the_time_of_their_arrival(make):
    made = make()
    made.topics.deliver("joint_states", made.joints.message(standing_joints(), None, messages.time(0)))
    (message,) = made.odom()
    assert message.header.stamp.sec > 1_000_000_000
    assert made.support.times("at")[0][0] == pytest.approx(1e-9 * messages.nanoseconds(message.header.stamp), abs=1.0)


def test_dropped_samples_inflate_the_covariance_once_and_a_jump_interrupts(make, monkeypatch):
    made, time = make(), Moment()
    monkeypatch.setattr(OdometryNode, "control_time", property(lambda node: time.now))
    made.step(100.0)
    for _ in range(2):
        made.step(100.01, np.full((6, 3), 100.0))
    made.step(100.02)
    made.step(100.04)
    assert made.estimate.times("inflate_covariance") == [(0,), (2,), (0,)]
    assert made.node.status() == {"mode": "legs", "joint_states dropped": 2, "distance [m]": "1.0"}
    assert not made.estimate.times("interrupt")
    for k in range(20):  # they agree for longer than it takes to believe them
        time.now += 0.02
        made.step(100.06 + 0.02 * k, np.zeros((6, 3)))
    assert made.estimate.times("interrupt") == [()]


def test_odom_has_pose_speed_frames_and_covariances(make):
    made = make(tf_frame_prefix="one/", odom_frame_id="start", base_frame_id="foot")
    made.step(100.25)
    (message,) = made.odom()
    assert (message.header.frame_id, message.child_frame_id) == ("one/start", "one/foot")
    assert message.header.stamp == messages.time(100_250_000_000)
    footprint, base = made.topics.sent["tf"][0].transforms
    assert (footprint.child_frame_id, base.header.frame_id, base.child_frame_id) == (
        "one/foot",
        "one/foot",
        "one/base_link",
    )
    assert footprint.header.stamp == base.header.stamp == message.header.stamp
    assert xyz(message.pose.pose.position) == (1.0, -2.0, 0.0)
    assert messages.roll_pitch_yaw(message.pose.pose.orientation) == pytest.approx((0.0, 0.0, 0.5))
    assert messages.twist(message.twist.twist) == (0.04, 0.05, 0.3)
    for found, planar in ((message.pose.covariance, PLANAR), (message.twist.covariance, 2.0 * PLANAR)):
        spatial = np.reshape(found, (6, 6))
        assert spatial[np.ix_([0, 1, 5], [0, 1, 5])] == pytest.approx(planar, abs=1e-5)
        assert np.diag(spatial)[2:5] == pytest.approx([1e-4] * 3)
        assert np.count_nonzero(spatial) == 12
    assert made.memory.times("keep") == [(made.estimate.pose, PLANAR)]


@pytest.mark.parametrize("whole", [True, False])
def test_tf_places_the_body_over_its_footprint_and_that_in_odom_if_asked_for(make, whole):
    made = make(enable_odom_tf=whole)
    made.step(100.25)
    (message,) = made.topics.sent["tf"]
    *odom, base = message.transforms
    assert (base.header.frame_id, base.child_frame_id) == ("base_footprint", "base_link")
    assert base.transform.translation.z == 0.09
    assert messages.roll_pitch_yaw(base.transform.rotation) == pytest.approx((0.1, 0.0, 0.0))
    assert len(odom) == whole
    for footprint in odom:
        assert (footprint.header.frame_id, footprint.child_frame_id) == ("odom", "base_footprint")
        assert (footprint.transform.translation.x, footprint.transform.translation.y) == (1.0, -2.0)


def test_odom_comes_at_its_rate_a_tenth_of_a_period_early_at_most(make):
    made = make(publish_rate=50.0)
    for stamp in (100.0, 100.0179, 100.0181, 100.03, 100.0362, 99.0, 99.01):
        made.step(stamp)
    stamps = [1e-9 * messages.nanoseconds(message.header.stamp) for message in made.odom()]
    assert stamps == pytest.approx([100.0, 100.0181, 100.0362, 99.0])


@pytest.mark.parametrize(
    ("frozen", "lost", "newest", "runs", "mode", "words"),
    [
        (True, False, "sample", 0, "legs_imu", "repeats the same heading while the robot turns"),
        (
            False,
            True,
            "sample",
            0,
            "legs_imu",
            "has no heading with a stamp of the last 0.2 s: the feet give the heading; is",
        ),
        (False, True, None, 3, "legs_imu", ""),
        (False, True, None, 4, "legs_imu", "has no heading"),
        (False, True, "sample", 9, "legs", ""),
        (False, False, "sample", 9, "legs_imu", ""),
    ],
)
def test_an_imu_that_gives_no_heading_is_reported(make, frozen, lost, newest, runs, mode, words):
    made = make(mode=mode)
    made.heading.frozen, made.heading.lost, made.heading.newest = frozen, lost, newest
    made.node.housekeeping_runs = runs
    made.step(100.0)
    report = made.node.sent_reports.get("imu")
    assert (report is not None) is bool(words)
    assert not words or (words in report.text and report.level is ReportLevel.WARNING)


def test_a_restart_goes_on_from_the_pose_that_was_kept(bench, monkeypatch):
    kept = SimpleNamespace(pose="the pose", covariance="the covariance", age=2.04)
    made = Node(bench, monkeypatch)
    assert not made.estimate.times("resume") and not made.node.last_report("restart")
    monkeypatch.setattr(Part, "recall", lambda part: kept, raising=False)
    again = Node(bench, monkeypatch)
    assert again.estimate.times("resume") == [("the pose", "the covariance")]
    assert again.node.last_report("restart").startswith("restarted: odom continues from its last pose, 2.0 s old")


def test_usage_is_kept_every_second_and_at_the_end_and_a_reset_starts_at_the_origin(bench, make):
    made = make()
    made.node.every_second()
    made.node.publish_final_state()
    assert made.usage.times("keep") == made.usage.times("close") == [()]
    answer = bench.call(Trigger, "odometry/reset_odometry")
    assert (answer.success, answer.message) == (True, "odom starts again at the robot's present pose")
    assert made.estimate.times("reset") == [()]


# --- usage ----------------------------------------------------------------------------------------------------


class Meter(Part):
    """Stands in for the usage meter of the robot."""


@pytest.fixture
def usage(monkeypatch):
    time, meter = Moment(), Meter()
    monkeypatch.setattr(odometry, "time", time)
    monkeypatch.setattr(odometry, "UsageMeter", lambda robot, usage: meter)
    node = PlainNode("odometry", time)
    return SimpleNamespace(input=UsageInput(node, robot(), keep=False), node=node, time=time, meter=meter)


def battery(voltage, current, present=True):
    return BatteryState(voltage=voltage, current=current, present=present)


def test_a_battery_counts_if_it_is_present_with_a_voltage_and_its_power_for_three_seconds(usage):
    nan, inf = float("nan"), float("inf")
    for bad in (
        battery(8.0, -1.0, False),
        battery(nan, -1.0),
        battery(inf, -1.0),
        battery(0.0, -1.0),
        battery(-8.0, 1.0),
    ):
        usage.node.deliver("battery_state", bad)
    assert not usage.meter.times("voltage")
    usage.node.deliver("battery_state", battery(8.0, -2.5))

    def power(now, later=0.0):
        usage.time.now += later
        for when in (now, now + 1.0):
            usage.input.count(MeasuredSample(standing_joints(), messages.time(1), False), when, Pose(0.0, 0.0, 0.0))
        return usage.meter.times("step")[-1][3]

    assert usage.meter.times("voltage") == [(8.0,)]
    assert [power(100.0), power(200.0, 2.9), power(300.0, 0.2)] == [20.0, 20.0, None]
    usage.node.deliver("battery_state", battery(8.0, nan))
    assert power(400.0) is None and len(usage.meter.times("voltage")) == 2


def test_samples_count_ten_times_a_second_with_what_has_happened_since_the_last_one(usage):
    for now, x, y in ((100.0, 0.0, 0.0), (100.09, 9.0, 9.0), (100.11, 0.3, 0.4), (100.15, 9.0, 9.0), (50.0, 0.3, 0.4)):
        usage.input.count(MeasuredSample(standing_joints(), messages.time(1), False, "torques"), now, Pose(x, y, 0.0))
    steps = usage.meter.times("step")
    assert [(pytest.approx(dt), pytest.approx(way)) for dt, _, way, _, _ in steps] == [(0.11, 0.5), (-50.11, 0.0)]
    assert steps[0][1] == pytest.approx(standing_joints()) and steps[0][3:] == (None, "torques")
