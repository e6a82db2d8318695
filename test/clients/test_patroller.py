# SPDX-License-Identifier: Apache-2.0
"""`hexapod patrol` on real DDS with a kinematic robot: waiting, stopping, sources that take precedence."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from geometry_msgs.msg import Twist as TwistMessage
from nav_msgs.msg import Odometry
from sensor_msgs.msg import LaserScan
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.real_time.ros_bench import VELOCITY_TYPE, plain

from hexapod_control.clients import patrol_run
from hexapod_control.clients.connection_options import ConnectionOptions
from hexapod_control.clients.patrol_client import PatrolClient
from hexapod_control.config.waypoint_file import PatrolRoute
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp
from hexapod_control.core.steering.obstacle_avoidance import Scan
from hexapod_control.core.steering.path_following import PursuitSettings, Waypoint
from hexapod_control.ros import messages
from hexapod_control.ros.distribution import stamped_by_default
from hexapod_control.ros.message_types import TFMessage
from hexapod_control.ros.qos import COMMAND, LATCHED, LATCHED_TREE

PERIOD_S = 0.02
FAST = Twist(0.5, 0.5, 1.5)
NONE = np.zeros((6, 6))


class KinematicRobot:
    """Follows its commands exactly, publishes ten scans a second, and stands up on request."""

    def __init__(self, bench, wall=np.inf):
        """`wall` is the x [m] of a wall across its path."""
        self.pose, self.twist, self.time = Pose(0.0, 0.0, 0.0), ZERO, 100.0
        self.scanning, self.wall, self.ticks = True, wall, 0
        node = bench.probe
        self._odom = node.create_publisher(Odometry, "odom", 10)
        self._scan = node.create_publisher(LaserScan, "scan", 5)
        self._state = node.create_publisher(String, "gait_state", LATCHED)
        self._limits = node.create_publisher(TwistMessage, "velocity_limits", LATCHED)
        self._source = node.create_publisher(String, "command_source", LATCHED)
        self._frames = node.create_publisher(TFMessage, "/tf_static", LATCHED_TREE)
        self.drivers = bench.listen(String, "driving", 10)
        node.create_subscription(VELOCITY_TYPE, "cmd_vel", self._take, COMMAND)
        node.create_service(Trigger, "stand", self._stand)
        node.create_timer(PERIOD_S, self._tick)
        self._state.publish(String(data="sitting"))
        self._limits.publish(messages.twist_message(ZERO))

    def _stand(self, request, response):
        response.success = True
        self._state.publish(String(data="standing"))
        self._limits.publish(messages.twist_message(FAST))
        return response

    def place_lidar(self, parent):
        place = messages.transform_message(parent, "laser", BodyPose(), messages.time(0))
        self._frames.publish(TFMessage(transforms=[place]))

    def lets_go(self):
        self._state.publish(String(data="unknown"))
        self._limits.publish(messages.twist_message(ZERO))

    def _take(self, message):
        self.twist = messages.twist(plain(message))

    def drives(self, name):
        self._source.publish(String(data=name))

    def _tick(self):
        self.ticks, self.time = self.ticks + 1, self.time + PERIOD_S
        self.pose = self.pose @ exp(self.twist, PERIOD_S)
        stamp = messages.time(round(self.time * 1e9))
        place = BodyPose(x=self.pose.x, y=self.pose.y, yaw=self.pose.yaw)
        still = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
        self._odom.publish(messages.odometry_message(place, still, (NONE, NONE), ("odom", "base_footprint"), stamp))
        if self.scanning and self.ticks % 5 == 0:
            ahead = np.cos(-np.pi + np.pi / 45 * np.arange(90) + self.pose.yaw)
            ranges = np.where(ahead > 0.01, (self.wall - self.pose.x) / np.maximum(ahead, 0.01), np.inf)
            scan = Scan(ranges, -np.pi, np.pi / 45, 0.1, 6.0)
            self._scan.publish(messages.scan_message(scan, 0.1, stamp, "laser"))


@pytest.fixture
def start():
    """Starts a patrol in a thread; it ends at the latest with the test."""
    asked, threads = threading.Event(), []

    def begin(*places, **settings):
        run = SimpleNamespace(code=None, asked=asked, result=None)

        def patrol():
            with PatrolClient(ConnectionOptions(stamped=stamped_by_default())) as patroller:
                goals = tuple(Waypoint(*place) for place in places)
                route = PatrolRoute(goals, PursuitSettings(radius=0.2, **settings))
                run.code, run.result = patrol_run.follow(patroller, route, asked, blind=False)

        threads.append(threading.Thread(target=patrol))
        threads[-1].start()
        return run

    yield begin
    asked.set()
    for thread in threads:
        thread.join(20.0)
        assert not thread.is_alive()


def test_a_patrol_stands_up_walks_to_all_waypoints_and_announces_itself(bench, start, capsys):
    robot = KinematicRobot(bench)
    robot.place_lidar("my_base_link")  # of another robot
    run = start((0.5, 0.0), (0.5, 0.3, 1.0))
    bench.until(lambda: run.code is not None, seconds=30.0)
    assert run.code == 0
    bench.until(lambda: robot.twist == ZERO, what="the last command")  # it may still be on its way
    assert robot.pose == pytest.approx((0.5, 0.3, 1.0), abs=0.06)
    assert {message.data for message in robot.drivers} == {"navigation"}
    output, errors = capsys.readouterr()
    assert "waypoint 1 of 2 reached after" in output
    assert "2 of 2 waypoints reached\n" in output
    assert errors.count("scan: /tf_static does not place its frame laser on base_link; taken as base_link") == 1


def test_a_patrol_stops_without_scans_and_continues_with_them(bench, start, capsys):
    robot = KinematicRobot(bench)
    robot.place_lidar("r/base_link")
    run = start((1.0, 0.0))
    bench.until(lambda: robot.pose.x > 0.1, seconds=20.0)
    robot.scanning = False
    bench.until(lambda: robot.twist == ZERO, seconds=5.0)
    assert robot.pose.x < 0.9 and run.code is None
    errors = capsys.readouterr().err
    assert "stopped: no scan, does the lidar's driver run?" in errors and "/tf_static" not in errors
    robot.scanning = True
    bench.until(lambda: run.code == 0, seconds=20.0)


def test_a_patrol_waits_while_another_source_drives(bench, start):
    robot = KinematicRobot(bench)
    run = start((1.0, 0.0))
    bench.until(lambda: robot.pose.x > 0.1, seconds=20.0)
    robot.drives("keyboard")
    bench.until(lambda: robot.twist == ZERO, seconds=5.0)
    assert run.code is None
    robot.drives("navigation")
    bench.until(lambda: run.code == 0, seconds=20.0)


def test_a_patrol_ends_with_the_remedy_when_the_robot_lies_without_torque(bench, start, monkeypatch, capsys):
    monkeypatch.setattr(patrol_run, "POSTURE_S", 1.0)
    robot = KinematicRobot(bench)
    run = start((5.0, 0.0))
    bench.until(lambda: robot.pose.x > 0.1, seconds=20.0)
    robot.lets_go()
    bench.until(lambda: run.code == 1, seconds=5.0)
    assert (
        "cannot walk for 1 s (gait_state: unknown): run hexapod arm if its torque is off, then hexapod stand"
        in capsys.readouterr().err
    )


def test_on_request_a_patrol_ends_with_the_robot_at_rest(bench, start):
    robot = KinematicRobot(bench)
    run = start((5.0, 0.0))
    bench.until(lambda: robot.pose.x > 0.1, seconds=20.0)
    run.asked.set()
    bench.until(lambda: run.code == 0 and robot.twist == ZERO, seconds=5.0)
    assert not run.result.arrivals


def test_an_unreachable_waypoint_is_abandoned_and_the_gap_width_reported(bench, start, capsys):
    robot = KinematicRobot(bench, wall=1.0)
    run = start((0.9, 0.0), progress_timeout=2.0)
    bench.until(lambda: run.code is not None, seconds=30.0)
    assert run.code == 1
    output = capsys.readouterr().err
    assert "waypoint 1 (0.9, 0) cannot be reached" in output
    assert "the nearest obstacle is 0.10 m from it, the robot needs 0.24 m" in output
    assert robot.pose.x < 0.8
