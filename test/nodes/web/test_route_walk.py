# SPDX-License-Identifier: Apache-2.0
"""Walks along routes that pages order, at times that the test sets, with a robot that follows its commands exactly."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from std_msgs.msg import String
from support.kits.plain_node import Moment, PlainNode
from support.phantomx import robot

from hexapod_control.config.waypoint_file import load_route
from hexapod_control.core.kinematics.body_pose import BodyPose
from hexapod_control.core.kinematics.se2 import ZERO, Pose, Twist, exp
from hexapod_control.core.steering.obstacle_avoidance import Scan
from hexapod_control.nodes import obstacle_view
from hexapod_control.nodes.announcements import drive_announcement
from hexapod_control.nodes.web import page_commands, route_walk
from hexapod_control.nodes.web.page_commands import PERIOD_S, START_SPEED, PageCommands
from hexapod_control.nodes.web.route_walk import (
    MAX_BLOCKED_S,
    MAX_IDLE_S,
    MAX_UNSEEN_S,
    MAX_UNSURE_S,
    MAX_WAIT_S,
    PAUSE_LIFE_S,
    RouteWalk,
)
from hexapod_control.ros import messages
from hexapod_control.ros.messages import Inertial
from hexapod_control.web.protocol import (
    DriveMessage,
    GaitMessage,
    PlayMessage,
    PoseMessage,
    RequestMessage,
    RouteMessage,
    SpeedMessage,
)
from hexapod_control.web.sessions.client_sessions import Forward

PAGE = 3
FAST = Twist(0.4, 0.4, 1.5)
NONE = np.zeros((6, 6))
SCAN_TICKS = 3


class Walker:
    """The routes of a web node whose robot is a point in a plane, with a lidar that may see a wall at x [m]."""

    def __init__(self, monkeypatch, folder, lidar=True):
        self.time, self.sent, self.log = Moment(), [], []
        for module in (page_commands, drive_announcement, obstacle_view, route_walk):
            monkeypatch.setattr(module, "time", self.time)
        monkeypatch.setattr(route_walk, "footprint_radius", lambda robot: 0.2)
        self.node = PlainNode(moment=self.time)
        self.node.count_publishers = lambda topic: int(lidar)
        self.feed = SimpleNamespace(limits=FAST, motions=[], route=None, why="", source="tablet", asked_at=0.0)
        self.feed.place, self.feed.posture = (0.0, 0.0), "standing"
        self.feed.why_values, self.feed.ended, self.feed.silent = {}, None, False
        self.feed.stops, self.feed.stopped_by = 4, ["an earlier one"]
        self.commands = PageCommands(self.node, self.feed, lambda *answer: None, stamped=False)
        self.routes = RouteWalk(
            self.node,
            robot(),
            self.feed,
            self.commands,
            lambda *message: self.sent.append(message),
            lambda *event: self.log.append(event),
            folder,
        )
        self.pose, self.wall, self.lidar, self.odometry, self.page = Pose(0.0, 0.0, 0.0), math.inf, lidar, True, True
        self.roll = 0.0
        self.ticks, self.near, self.covariance = 0, math.inf, NONE

    def orders(self, *points, name=""):
        self.routes.execute(RouteMessage("walk", name, points))

    def does(self, body):
        self.routes.overrule(body, "Ada")
        self.commands.execute(Forward(PAGE, body, self.time.now + 0.5))

    @property
    def twist(self):
        sent = self.node.sent("cmd_vel")
        return messages.twist(sent[-1]) if sent else ZERO

    def passes(self, seconds, until=lambda: False):
        """Lets time pass. Returns what was said meanwhile."""
        said = []
        for _ in range(round(seconds / PERIOD_S)):
            self.time.now += PERIOD_S
            self.ticks += 1
            self.pose = self.pose @ exp(self.twist, PERIOD_S)
            self.feed.asked_at = self.time.now if self.page else self.feed.asked_at
            self.sense()
            for timer in self.node.plain_timers:
                if timer.runs:
                    timer.callback()
            said += [self.feed.route.phase] if self.feed.route and self.feed.route.phase not in said else []
            if until():
                break
        return said

    def sense(self):
        stamp = messages.time(round(self.time.now * 1e9))
        if self.odometry and "odom" in self.node.callbacks:
            place = BodyPose(x=self.pose.x, y=self.pose.y, yaw=self.pose.yaw)
            still = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            odom = messages.odometry_message(place, still, (self.covariance, NONE), ("odom", "base_footprint"), stamp)
            self.node.deliver("odom", odom)
        if "imu/data" in self.node.callbacks:
            tilt = Inertial((self.roll, 0.0, 0.0), None, None)
            self.node.deliver("imu/data", messages.inertial_message(tilt, stamp))
        if self.lidar and "scan" in self.node.callbacks and self.ticks % SCAN_TICKS == 0:
            ahead = np.cos(-np.pi + np.pi / 45 * np.arange(90) + self.pose.yaw)
            ranges = np.where(ahead > 0.01, (self.wall - self.pose.x) / np.maximum(ahead, 0.01), np.inf)
            ranges = np.minimum(ranges, self.near)
            scan = Scan(ranges, -np.pi, np.pi / 45, 0.1, 6.0)
            self.node.deliver("scan", messages.scan_message(scan, 0.1, stamp, "base_link"))

    @property
    def said(self):
        """Key of the last event, and its values besides the goal and the way left."""
        _, key, values = self.log[-1]
        return key, {name: value for name, value in values.items() if name not in ("name", "left")}

    def ended(self):
        return self.feed.route is None

    def drawn(self):
        """The points of the walk that pages draw."""
        return next(fields["points"] for _, kind, fields in reversed(self.sent) if kind == "route")


@pytest.fixture
def walker(monkeypatch, tmp_path):
    return Walker(monkeypatch, tmp_path / "routes")


@pytest.fixture
def blind(monkeypatch, tmp_path):
    return Walker(monkeypatch, tmp_path / "routes", lidar=False)


def test_it_walks_along_all_points_tells_how_far_it_is_and_rests_at_the_last_one(walker):
    walker.orders((0.5, 0.0), (0.5, 0.4), name="door")
    assert (walker.feed.route.name, walker.feed.route.left, len(walker.drawn())) == ("door", 0.9, 2)
    walker.passes(20.0, lambda: len(walker.drawn()) == 1)
    assert walker.feed.route.left == pytest.approx(0.4, abs=0.11)
    walker.passes(20.0, walker.ended)
    assert walker.log == [(0, "log_route_done", {"name": "door", "left": pytest.approx(0.0, abs=0.11)})]
    assert math.dist(walker.pose[:2], (0.5, 0.4)) < 0.05
    assert not walker.drawn() and walker.twist == ZERO


def test_its_speed_is_that_of_the_page(walker):
    walker.orders((5.0, 0.0))
    walker.passes(2.0)
    assert 0.8 * START_SPEED < walker.twist.vx / FAST.vx <= START_SPEED
    walker.does(SpeedMessage(1.0))
    walker.passes(1.0)
    assert walker.twist.vx / FAST.vx > 0.8


@pytest.mark.parametrize(
    "body",
    [DriveMessage(False), DriveMessage(True, 0.1), PlayMessage("bow"), RequestMessage("stop"), RequestMessage("sit")],
)
def test_a_stop_and_whatever_else_moves_the_robot_ends_the_walk(walker, body):
    walker.orders((5.0, 0.0))
    walker.passes(2.0)
    walker.does(body)
    assert walker.ended() and walker.said == ("log_route_ended", {"by": "Ada"})
    walker.passes(1.0)
    if not getattr(body, "moves", False):
        assert walker.twist == ZERO


def test_gait_and_pose_of_the_body_may_change_on_the_way(walker):
    walker.orders((5.0, 0.0))
    walker.passes(1.0)
    walker.does(GaitMessage("wave"))
    walker.does(PoseMessage(z=0.01))
    walker.passes(1.0)
    assert not walker.ended() and walker.twist.vx > 0.0


def stopped(walker, *names):
    walker.feed.stops, walker.feed.stopped_by = 5, list(names)


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (lambda walker: setattr(walker.feed, "why", "why_estop"), ("log_route_why", {"why": "why_estop"})),
        (lambda walker: setattr(walker.feed, "source", "joystick"), ("log_route_ended", {"by": "joystick"})),
        (lambda walker: stopped(walker, "teleop", "nav"), ("log_route_ended", {"by": "teleop / nav"})),
        (stopped, ("log_route_program", {})),
        (lambda walker: setattr(walker, "page", False), ("log_route_unseen", {})),
    ],
    ids=["the robot cannot walk", "another source drives", "a program", "an unknown program", "no page is there"],
)
def test_it_stops_for_good_when_it_may_not_walk_and_says_because_of_whom(walker, happens, said):
    walker.orders((5.0, 0.0))
    walker.passes(2.0)
    happens(walker)
    walker.passes(MAX_UNSEEN_S + 0.2, walker.ended)
    assert walker.ended() and walker.said == said
    assert walker.twist == ZERO


def test_a_node_that_is_silent_for_a_moment_interrupts_a_walk_and_one_that_stays_so_ends_it(walker):
    walker.orders((5.0, 0.0))
    walker.passes(2.0)
    walker.feed.why, walker.feed.silent, walker.feed.why_values = "stale", True, {"node": "gait_planner"}
    walker.passes(MAX_UNSEEN_S - 0.5)
    assert not walker.ended() and walker.twist == ZERO
    walker.feed.why, walker.feed.silent = "", False
    walker.passes(1.0)
    assert walker.twist.vx > 0.0
    walker.feed.why, walker.feed.silent = "stale", True
    walker.passes(MAX_UNSEEN_S + 0.2, walker.ended)
    assert walker.said == ("log_route_why", {"why": "stale", "node": "gait_planner"}) and walker.twist == ZERO
    assert walker.feed.ended["goal"] == [[5.0, 0.0]]


def test_surrounded_by_obstacles_it_waits_goes_on_when_they_are_gone_and_gives_up_if_they_stay(walker):
    walker.orders((2.0, 0.0))
    walker.passes(1.0)
    walker.near = 0.22
    walker.passes(1.0)
    said = walker.passes(MAX_BLOCKED_S - 5.0)
    assert said == ["blocked"] and walker.twist == ZERO
    walker.near = math.inf
    assert walker.passes(1.0)[-1] == "walking" and walker.twist.vx > 0.0
    walker.near = 0.22
    walker.passes(MAX_BLOCKED_S + 5.0, walker.ended)
    assert walker.log[-1][:2] == (1, "log_route_stuck") and walker.log[-1][2]["left"] > 1.0
    assert walker.twist == ZERO


def test_a_wall_is_never_touched_and_a_goal_behind_it_is_given_up(walker):
    walker.wall = 1.0
    walker.orders((2.0, 0.0))
    said = walker.passes(5.0 * MAX_BLOCKED_S, lambda: walker.ended() or walker.pose.x > walker.wall - 0.2)
    assert "detour" in said and walker.ended() and walker.log[-1][1] == "log_route_stuck"


@pytest.mark.parametrize("sensor", ["odometry", "lidar"])
def test_without_odometry_or_scan_it_stands_goes_on_when_it_returns_and_gives_up_if_it_does_not(walker, sensor):
    walker.orders((9.0, 0.0))
    walker.passes(2.0)
    setattr(walker, sensor, False)
    said = walker.passes(3.0)
    phase = {"odometry": "no_odom", "lidar": "no_scan"}[sensor]
    assert said[-1] == phase and walker.twist == ZERO
    setattr(walker, sensor, True)
    walker.passes(1.0)
    assert walker.twist.vx > 0.0
    setattr(walker, sensor, False)
    walker.passes(MAX_WAIT_S + 3.0, walker.ended)
    assert walker.log[-1][:2] == (1, f"log_route_{phase}") and walker.twist == ZERO


def test_while_the_robot_pauses_the_walk_waits_and_goes_on_afterwards(walker):
    walker.orders((2.0, 0.0))
    walker.passes(2.0)
    for _ in range(round(MAX_BLOCKED_S) + 1):
        walker.node.deliver("pause", String(data="a hot servo"))
        assert walker.passes(1.0)[-1] == "paused" and walker.twist == ZERO
    walker.node.deliver("pause", String())
    assert walker.passes(1.0)[-1] == "walking" and walker.twist.vx > 0.0
    walker.node.deliver("pause", String(data="a driver that is gone"))
    walker.passes(PAUSE_LIFE_S + 0.2)
    assert walker.feed.route.phase == "walking"


def test_a_robot_without_lidar_walks_and_its_pages_know_that_it_is_blind(blind):
    blind.orders((0.3, 0.0))
    assert blind.sent[-1][2]["blind"]
    blind.passes(15.0, blind.ended)
    assert blind.log[-1][1] == "log_route_done"


def test_the_map_shows_what_the_lidar_sees_and_nothing_is_received_when_nobody_looks(walker):
    walker.wall = 1.0
    walker.routes.show_map(PAGE)
    walker.passes(1.0)
    walker.routes.show_map(PAGE)
    to, kind, fields = walker.sent[-1]
    assert (to, kind, fields["lidar"]) == (PAGE, "map", True)
    assert max(x for x, _ in fields["points"]) == pytest.approx(1.0, abs=0.02)
    walker.passes(MAX_IDLE_S + 1.0)
    walker.routes.watch()
    assert "scan" not in walker.node.callbacks and "odom" not in walker.node.callbacks


def test_a_lidar_on_a_tilted_body_puts_no_ground_on_the_map(walker):
    walker.near = 0.9
    walker.routes.show_map(PAGE)
    walker.passes(0.5)
    walker.routes.show_map(PAGE)
    assert len(walker.sent[-1][2]["points"]) == 90
    walker.roll, walker.feed.posture = 0.3, "unknown"
    walker.passes(0.5)
    walker.routes.show_map(PAGE)
    points = walker.sent[-1][2]["points"]
    assert 0 < len(points) < 50 and all(y > -0.2 for _, y in points), "the right side sees the ground"


def test_routes_with_a_name_are_kept_as_files_of_hexapod_patrol(walker, tmp_path):
    walker.routes.execute(RouteMessage("save", "../Küche 1", ((1.0, 2.0), (3.0, -0.25))))
    (path,) = (tmp_path / "routes").iterdir()
    assert [(p.x, p.y) for p in load_route(path).waypoints] == [(1.0, 2.0), (3.0, -0.25)]
    kept = {"list": [{"name": "Küche 1", "points": [[1.0, 2.0], [3.0, -0.25]]}]}
    assert walker.sent[-1] == (0, "routes", kept)
    (tmp_path / "routes" / "broken.yaml").write_text("waypoints: 3")
    walker.routes.send_list()
    assert walker.sent[-1] == (0, "routes", kept)
    walker.routes.execute(RouteMessage("delete", "Küche 1"))
    assert walker.sent[-1] == (0, "routes", {"list": []})


# --- taught routes -------------------------------------------------------------------------------------------------


class Room:
    """What a lidar sees in a room of 5 by 4 m with a box, from a pose in that room."""

    CORNERS = (
        [(-2.0, -1.5), (3.0, -1.5), (3.0, 2.5), (-2.0, 2.5), (-2.0, -1.5)],
        [(0.5, 1.2), (1.1, 1.2), (1.1, 1.6), (0.5, 1.6), (0.5, 1.2)],
    )

    def ranges(self, pose, count=180):
        """Distances [m] of rays from -pi, counter-clockwise."""
        angles = -np.pi + math.tau / count * np.arange(count) + pose.yaw
        rays = np.column_stack((np.cos(angles), np.sin(angles)))
        found = np.full(count, np.inf)
        for corners in self.CORNERS:
            for start, end in itertools.pairwise(corners):
                along = np.subtract(end, start)
                to = np.subtract(start, pose[:2])
                cross = rays[:, 0] * along[1] - rays[:, 1] * along[0]
                with np.errstate(divide="ignore", invalid="ignore"):
                    far = (to[0] * along[1] - to[1] * along[0]) / cross
                    part = (to[0] * rays[:, 1] - to[1] * rays[:, 0]) / cross
                found = np.where((far > 0.0) & (part >= 0.0) & (part <= 1.0) & (far < found), far, found)
        return found


@pytest.fixture
def drifting(monkeypatch, tmp_path):
    walker = Walker(monkeypatch, tmp_path / "routes")
    walker.truth, room, step = Pose(0.0, 0.0, 0.0), Room(), Walker.sense

    def sense():
        moved = exp(walker.twist, PERIOD_S)
        walker.truth = walker.truth @ moved
        walker.pose = walker.pose @ exp(walker.twist.scaled(0.03), PERIOD_S)
        walker.lidar = False
        step(walker)
        if walker.sees and "scan" in walker.node.callbacks and walker.ticks % SCAN_TICKS == 0:
            scan = Scan(room.ranges(walker.truth), -np.pi, math.tau / 180, 0.1, 6.0)
            stamp = messages.time(round(walker.time.now * 1e9))
            walker.node.deliver("scan", messages.scan_message(scan, 0.1, stamp, "base_link"))

    walker.sees = True
    walker.sense = sense
    return walker


def drives(walker, *parts):
    """A person drives: twists and their times [s]."""
    for twist, seconds in parts:
        for _ in range(round(seconds / PERIOD_S)):
            walker.commands.follow(twist)
            walker.passes(PERIOD_S)
    walker.commands.halt()
    walker.passes(1.0)


def learn(walker, name="round"):
    walker.routes.execute(RouteMessage("teach"))
    walker.passes(0.5)
    drives(walker, (Twist(0.2, 0.0, 0.0), 6.0), (Twist(0.0, 0.0, 0.6), 3.0), (Twist(0.2, 0.0, 0.2), 5.0))
    assert walker.routes.lesson_length == pytest.approx(2.2, abs=0.2)
    walker.routes.execute(RouteMessage("taught"))
    _, kind, fields = walker.sent[-1]
    assert kind == "lesson" and walker.routes.lesson_length is None
    walker.routes.execute(RouteMessage("keep", name, tuple(map(tuple, fields["points"]))))
    return next(route["points"] for route in walker.sent[-1][2]["list"])


def test_a_taught_route_is_walked_back_and_again_by_what_the_lidar_saw_however_odometry_drifts(drifting):
    points = learn(drifting)
    end = drifting.truth
    for way, goal in ((points[::-1], (0.0, 0.0)), (points, end[:2])) * 3:
        drifting.orders(*map(tuple, way), name="round")
        said = drifting.passes(60.0, drifting.ended)
        assert "locating" in said and drifting.said == ("log_route_done", {})
        assert math.dist(drifting.truth[:2], goal) < 0.06
    assert math.dist(drifting.truth[:2], drifting.pose[:2]) > 0.1  # odometry alone would be further off


def test_a_robot_that_was_started_elsewhere_on_the_route_finds_itself(drifting):
    points = learn(drifting)
    drifting.pose = Pose(7.0, -3.0, 2.0)
    drifting.passes(1.0)
    drifting.orders(*map(tuple, points[::-1]), name="round")
    drifting.passes(60.0, drifting.ended)
    assert drifting.said == ("log_route_done", {}) and math.hypot(*drifting.truth[:2]) < 0.06


def test_in_another_room_it_says_that_this_is_not_the_route(drifting, monkeypatch):
    points = learn(drifting)
    monkeypatch.setattr(Room, "ranges", lambda room, pose, count=180: np.linspace(0.5, 1.5, count))
    drifting.passes(1.0)
    drifting.orders(*map(tuple, points), name="round")
    drifting.passes(5.0, drifting.ended)
    assert drifting.said == ("log_route_elsewhere", {}) and drifting.twist == ZERO


def test_a_taught_route_ends_where_the_lidar_recognises_nothing(drifting, monkeypatch):
    points = learn(drifting)
    drifting.orders(*map(tuple, points[::-1]), name="round")
    drifting.passes(3.0)
    monkeypatch.setattr(Room, "ranges", lambda room, pose, count=180: np.linspace(0.5, 1.5, count))
    drifting.passes(MAX_UNSURE_S + 1.0, drifting.ended)
    assert drifting.said == ("log_route_lost", {}) and drifting.twist == ZERO


def test_a_place_without_room_is_walked_to_as_near_as_obstacles_allow(walker):
    walker.wall = 1.0
    walker.orders((0.9, 0.0))
    walker.passes(30.0, walker.ended)
    assert walker.said == ("log_route_beside", {"way": "0.2"})
    assert 0.6 < walker.pose.x < 0.8


def test_by_odometry_alone_it_says_how_far_it_may_be_off(walker):
    walker.orders((0.3, 0.0))
    walker.passes(1.0)
    walker.covariance = 0.04 * np.eye(6)
    walker.passes(20.0, walker.ended)
    assert walker.said == ("log_route_about", {"error": "0.4"})
