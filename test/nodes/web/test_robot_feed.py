# SPDX-License-Identifier: Apache-2.0
"""The robot's state on the page: the newest message of each topic while it is recent."""

import math

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, TwistStamped
from geometry_msgs.msg import Twist as TwistMessage
from nav_msgs.msg import Odometry
from sensor_msgs.msg import BatteryState, JointState, MultiDOFJointState
from std_msgs.msg import Bool, Float64, String
from support.phantomx import robot, standing_joints
from visualization_msgs.msg import Marker, MarkerArray

from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import Twist
from hexapod_control.nodes.web.robot_feed import MAX_AGE_S, MAX_SILENCE_S, RobotFeed
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import LATCHED
from hexapod_control.ros.row_messages import FootLayout, JointLayout

STAMP = messages.time(7_000_000_000)
TWIST = Twist(0.1, -0.05, 0.4)
FEET = np.zeros((6, 3))
PLANNED, MEASURED = [1, 1, 0, 1, 1, 0], [1, 0, 1, 0, 1, 0]  # which feet stand


class Feed:
    """The feed of a page, and a robot that publishes its state once."""

    def __init__(self, bench, stamped=False):
        self.bench, self.refused = bench, []
        self.node = bench.add(GuardedNode("web"))
        self.feed = RobotFeed(self.node, robot(), stamped, lambda *what: self.refused.append(what))
        self.feed.watch(wanted=True)
        self.command = bench.publisher(TwistStamped if stamped else TwistMessage, "cmd_vel")
        self.joints = bench.publisher(JointState, "joint_states")
        self.targets = bench.publisher(MultiDOFJointState, "foot_targets")
        self.states = bench.publisher(MultiDOFJointState, "foot_states")
        self.odometry = bench.publisher(Odometry, "odom")
        self.margin = bench.publisher(Float64, "stability_margin")
        self.bench.until(lambda: self.feed.state()["silent"])

    def shown(self, **expected):
        """Waits until the state has these fields. Returns how long that took [s]."""
        return self.bench.until(lambda: expected.items() <= self.feed.state().items(), what=f"{expected}")

    def loaded(self, feet):
        return FootLayout(robot()).message(FEET, FEET, 5.0 * np.array(feet), STAMP)


def test_values_no_longer_published_are_no_longer_shown_except_the_last_pose(bench):
    feed = Feed(bench)
    assert feed.feed.state()["joints"] is None
    pose = BodyPose(x=1.0, y=-2.0, yaw=0.5)
    covariance = np.zeros((6, 6))
    velocity = ((TWIST.vx, TWIST.vy, 0.0), (0.0, 0.0, TWIST.wz))
    moving = messages.odometry_message(pose, velocity, (covariance, covariance), ("odom", "base_footprint"), STAMP)
    feed.joints.publish(JointLayout(robot()).message(standing_joints(), None, STAMP))
    feed.odometry.publish(moving)
    where = {"odom": [1.0, -2.0, 0.5], "achieved": list(TWIST)}
    feed.shown(**where, silent=False)
    assert feed.feed.state()["joints"] == pytest.approx(standing_joints().ravel(), abs=1e-4)
    feed.states.publish(feed.loaded(MEASURED))
    feed.shown(planted=MEASURED)
    feed.targets.publish(feed.loaded(PLANNED))  # the plan counts, if there is one
    feed.shown(planted=PLANNED)
    feed.command.publish(messages.twist_message(TWIST))
    feed.margin.publish(Float64(data=0.0312))
    feed.shown(commanded=list(TWIST), margin=0.0312)
    assert 0.5 * MAX_AGE_S < feed.shown(commanded=[0.0] * 3, margin=None) < MAX_AGE_S + 0.3
    bench.until(lambda: feed.feed.state()["silent"], MAX_SILENCE_S + 0.5)
    feed.shown(**where)
    assert feed.feed.state()["joints"] is not None


def test_the_condition_of_the_robot_follows_from_its_nodes_torque_state_and_motion(bench):
    feed = Feed(bench)
    state, torque = bench.publisher(String, "gait_state", LATCHED), bench.publisher(Bool, "armed", LATCHED)
    motion = bench.publisher(String, "motion_state", LATCHED)
    diagnostics = bench.publisher(DiagnosticArray, "/diagnostics", 10)

    def report(level=0, text="ok", torque="True"):
        for name in ("gait_planner", "inverse_kinematics"):
            diagnostics.publish(messages.diagnostics(f"/{name}", "", 0, "ok", {}, STAMP))
        values = {"torque": torque, "emergency stop": "no"}
        diagnostics.publish(messages.diagnostics("/servo_driver", "", level, text, values, STAMP))
        feed.joints.publish(JointLayout(robot()).message(standing_joints(), None, STAMP))

    def says(say, **values):
        """Waits for a message and its values."""

        def now():
            feed.feed.evaluate_diagnostics()
            found = feed.feed.state()["now"]
            return found["say"], found["values"]

        bench.until(lambda: now() == (say, values), what=f"{say} {values}; is {now()}")

    says("nothing")
    report()
    state.publish(String(data="standing"))
    says("standing")
    assert feed.feed.statuses["servo_driver"].text == "ok"
    motion.publish(String(data="bow pose 40"))
    says("motion", motion="bow")
    motion.publish(String(data="bow done 100"))
    says("standing")
    state.publish(String(data="walking"))
    covariance = np.zeros((6, 6))
    velocity = ((0.03, 0.04, 0.0), (0.0, 0.0, 0.0))
    feed.odometry.publish(
        messages.odometry_message(BodyPose(), velocity, (covariance, covariance), ("odom", "base"), STAMP)
    )
    says("walking_at", speed=0.05)
    feed.command.publish(messages.twist_message(Twist(0.0, 0.0, 0.3)))
    says("turning")
    report(2, "servo 3 is hot")
    says("error", node="servo_driver", text="servo 3 is hot")
    report()
    torque.publish(Bool(data=False))
    says("torque_went")  # the driver says why a moment later
    report(torque="False")
    says("torque_off")
    feed.feed.note_estop("Ada")  # the driver reports it a moment later
    says("estop_by", by="Ada", age=0)
    torque.publish(Bool(data=True))
    report()
    says("walking_at", speed=0.05)


def test_terrain_battery_and_the_true_place_are_shown_as_they_come(bench):
    feed, told = Feed(bench), []
    feed.feed.on_terrain = lambda: told.append(feed.feed.terrain)
    terrain, battery = bench.publisher(MarkerArray, "terrain", LATCHED), bench.publisher(BatteryState, "battery_state")
    truth = bench.publisher(Odometry, "simulator/floating_base_state")
    box = Marker(type=Marker.CUBE)
    box.scale.x = box.scale.y = box.scale.z = 0.2
    terrain.publish(MarkerArray(markers=[box]))
    battery.publish(BatteryState(voltage=11.5, percentage=0.75))
    covariance = np.zeros((6, 6))
    pose = BodyPose(x=1.23456, y=-2.0, yaw=0.5)
    truth.publish(messages.odometry_message(pose, ((0.0,) * 3,) * 2, (covariance, covariance), ("world", "b"), STAMP))
    feed.shown(truth=[1.2346, -2.0, 0.5])
    bench.until(lambda: told and feed.feed.status()["battery"])
    assert told == [[[0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.1, 0.1]]]
    assert feed.feed.status()["battery"] == {"volts": 11.5, "share": 0.75}
    battery.publish(BatteryState(voltage=11.5, percentage=math.nan))
    bench.until(lambda: feed.feed.status()["battery"] == {"volts": 11.5, "share": None})
    battery.publish(BatteryState(voltage=math.nan, percentage=math.nan))
    bench.until(lambda: feed.feed.status()["battery"] is None)
    feed.shown(truth=None)


def test_stamped_commands_are_shown_too(bench):
    feed = Feed(bench, stamped=True)
    feed.command.publish(messages.twist_stamped_message(TWIST, STAMP))
    feed.shown(commanded=list(TWIST))


def test_the_status_has_what_the_planner_announces(bench):
    feed = Feed(bench)
    status = feed.feed.status()
    assert (status["pose"], status["limits"], status["gaits"], status["simulated"]) == (None, [0.0] * 3, [], False)
    texts = {"gait_state": "walking", "gait_active": "wave", "gaits": "wave,auto", "motions": "bow"}
    texts |= {"gait_selected": "auto", "lost_legs": "left_front"}
    for topic, text in (*texts.items(), ("command_source", "tablet")):
        bench.publisher(String, topic, LATCHED).publish(String(data=text))
    bench.publisher(TwistMessage, "velocity_limits", LATCHED).publish(messages.twist_message(Twist(0.2, 0.1, 1 / 3)))
    bench.publisher(Pose, "body_pose_achieved", LATCHED).publish(messages.body_pose_message(BodyPose(z=0.01, roll=0.1)))
    bench.probe.create_publisher(Odometry, "simulator/floating_base_state", 1)
    expected = {
        "state": "walking",
        "gait": "wave",
        "selected_gait": "auto",
        "lost_legs": ["left_front"],
        "gaits": ["wave", "auto"],
        "motions": ["bow"],
        "source": "tablet",
        "limits": [0.2, 0.1, 0.3333],
        "pose": [0.0, 0.0, 0.01, 0.1, 0.0, 0.0],
        "simulated": True,
        "battery": None,
    }
    bench.until(lambda: expected.items() <= feed.feed.status().items(), what="the status")
    feed.shown(state="walking", gait="wave", motion=None)


def test_a_message_that_cannot_be_used_shows_nothing(bench):
    feed = Feed(bench)
    feed.joints.publish(JointLayout(robot()).message(standing_joints(), None, STAMP))
    feed.targets.publish(feed.loaded(PLANNED))
    feed.shown(planted=PLANNED)
    broken = feed.loaded(PLANNED)
    broken.wrench[0].force.z = math.nan
    feed.targets.publish(broken)
    assert feed.shown(planted=[1] * 6) < 0.7 * MAX_AGE_S  # the lowest feet


def test_a_message_that_is_too_large_is_refused_and_not_kept(bench):
    feed = Feed(bench)
    feed.joints.publish(JointState(name=["x" * messages.MAX_MESSAGE_BYTES]))
    bench.until(lambda: "bytes, at most" in feed.node.last_report("refused joint_states"))
    assert feed.feed.state()["silent"]


def test_topics_that_are_only_drawn_are_received_while_a_page_is_open(bench):
    feed = Feed(bench)
    feed.joints.publish(JointLayout(robot()).message(standing_joints(), None, STAMP))
    feed.shown(silent=False)
    feed.feed.watch(wanted=False)
    drawn = (feed.joints, feed.targets, feed.states, feed.odometry, feed.margin, feed.command)
    bench.until(lambda: not any(publisher.get_subscription_count() for publisher in drawn))
    assert feed.feed.state()["silent"]
    feed.feed.watch(wanted=True)
    bench.until(lambda: all(publisher.get_subscription_count() for publisher in drawn))
    feed.feed.watch(wanted=True)
    feed.joints.publish(JointLayout(robot()).message(standing_joints(), None, STAMP))
    feed.shown(silent=False)
