# SPDX-License-Identifier: Apache-2.0
"""Walks along routes that pages order, and keeps those with a name; the page's map shows what the lidar sees.

A route that was taught with a lidar is walked on the map of what that saw, any other one in odom.

As on a stick, the velocity of a route is only valid for a moment. The walk ends with any STOP, another command
that moves the robot or another source of velocities; when the page that drives is gone, and when the robot cannot walk.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.timer import Timer
from std_msgs.msg import String

from hexapod_control.config.robots.nav2_parameters import footprint_radius
from hexapod_control.config.waypoint_file import RouteFolder
from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.kinematics.se2 import Pose
from hexapod_control.core.planner.tick_plan import ON_FEET
from hexapod_control.core.robot import Robot
from hexapod_control.core.steering.obstacle_avoidance import nearest_free, transform_points
from hexapod_control.core.steering.path_following import Pursuit, PursuitPhase, PursuitSettings, Waypoint
from hexapod_control.core.steering.scan_matching import MapTracker
from hexapod_control.core.steering.taught_route import TOLERANCE_M, RouteLesson, TaughtRoute
from hexapod_control.nodes.obstacle_view import ObstacleView
from hexapod_control.nodes.web.page_commands import PERIOD_S, PageCommands
from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import EVENTS
from hexapod_control.web.protocol import (
    DanceMessage,
    DriveMessage,
    LegMessage,
    MessageBody,
    PlayMessage,
    RequestMessage,
    RouteMessage,
)
from hexapod_control.web.robot_condition import RouteProgress

MAX_BLOCKED_S = 30.0  # without progress; then it gives up
MAX_WAIT_S = 20.0  # for odometry and scans
SOON_S = 1.0  # after which it says for what it waits
PAUSE_LIFE_S = 2.5  # of a message on `pause`, which its sender repeats every second
# without a page that gets the state, or while nothing reaches the robot
UNSEEN_S = 1.0  # after which the robot stands
MAX_UNSEEN_S = 3.0  # after which the walk ends
MAX_UNSURE_S = 10.0  # in which no scan fits the map of a route
MAX_BESIDE_M = 0.6  # from a goal without room to where the robot walks instead
ROOM_M = 0.02  # more than the pursuit keeps free
TELLING_M = 0.1  # deviation of the place by odometry from which it is said
MAX_IDLE_S = 5.0  # without a request for the map, after which the subscriptions end
KEPT_POSES = 200
NOWHERE = "⚑"  # name of a place without one
SAME = Pose(0.0, 0.0, 0.0)
ENDING = (DanceMessage, DriveMessage, LegMessage, PlayMessage, RequestMessage)
NO_OBSTACLES = np.zeros((0, 2))


class RouteWalk:
    """At most one walk; `watch` is called regularly, `overrule` with every other command."""

    def __init__(
        self,
        node: GuardedNode,
        robot: Robot,
        feed: RobotFeed,
        commands: PageCommands,
        send: Callable[[int, str, Mapping[str, Any]], None],
        log: Callable[[ReportLevel, str, Mapping[str, Any]], None],
        folder: Path,
    ) -> None:
        """`send(client, kind, fields)` sends a message to a page, 0 for all; `log(level, key, values)` an event."""
        self._node = node
        self._robot = robot
        self._feed = feed
        self._commands = commands
        self._send = send
        self._log = log
        self._folder = RouteFolder(folder)
        self._view: ObstacleView | None = None  # while a map or a walk needs it
        self._viewed_at = 0.0  # [s] steady time of the last request for the map
        self._radius: float | None = None  # [m] of the robot with its feet; None until it is computed
        self._name = ""
        self._points: tuple[tuple[float, float], ...] = ()  # of the present walk; empty: none
        self._pursuit: Pursuit | None = None
        self._taught: TaughtRoute | None = None
        self._tracker: MapTracker | None = None  # on its map
        self._search: object = None  # the search for the place on that map, while it lasts
        self._tracked = -math.inf  # [s] time of the odometry at the last scan on the map
        self._sure = 0.0  # [s] time of the odometry when a scan fitted last
        self._beside = 0.0  # [m] by which the goal was moved
        self._lesson: RouteLesson | None = None  # the last one
        self._learns = False
        self._learned = -math.inf  # [s] time of the odometry at its last scan
        self._blind = False  # no lidar is there
        self._reached = 0
        self._stops = 0  # calls of the service stop before the walk
        self._stepped = 0.0  # [s] time of the odometry
        self._waiting = 0.0  # [s]
        self._hung = 0.0  # [s] for which nothing has reached the robot
        self._timer: Timer | None = None  # runs during a walk
        self._paused = -math.inf  # [s] steady time of the last message that the robot has to stand still
        node.create_subscription(String, "pause", self._take_pause, EVENTS)

    # --- requests of pages --------------------------------------------------------------------------------------

    def execute(self, message: RouteMessage) -> None:
        """Begins a walk, or changes the list of routes."""
        if message.act == "walk":
            self._begin(message)
        elif message.act == "teach":
            self._lesson = RouteLesson()
            self._run_timer(learns=True)
        elif message.act == "taught" and self._learns:
            self._end_lesson()
        else:
            self._node.threads.run_outside(
                lambda: self._changed(message), lambda routes: self._send(0, "routes", routes)
            )

    def _changed(self, message: RouteMessage) -> dict[str, Any]:
        if message.act == "save" and message.points:
            self._folder.save(message.name, message.points)
        elif message.act == "keep" and message.points:
            learned = self._lesson.route() if self._lesson else message.points
            self._folder.save(message.name, learned, self._lesson.seen if self._lesson else None)
        elif message.act == "delete":
            self._folder.delete(message.name)
        return self._listed()

    def _listed(self) -> dict[str, Any]:
        routes = self._folder.routes()
        return {"list": [{"name": name, "points": [[p.x, p.y] for p in route]} for name, route in routes.items()]}

    def send_list(self) -> None:
        """Sends the routes to all pages."""
        self._node.threads.run_outside(self._listed, lambda routes: self._send(0, "routes", routes))

    def greet(self) -> None:
        """Tells all pages, among them a new one, the present walk, or how the last one ended."""
        if self._points or self._feed.route is None:
            self._send_route()

    def show_map(self, page: int) -> None:
        """Sends a page where the lidar sees obstacles [m] in odom."""
        view = self._look()
        self._viewed_at = time.monotonic()
        scanned = bool(len(view.odometry)) and not view.scan_is_old
        points = np.round(view.obstacles, 2).tolist() if scanned else []
        lidar = scanned or self._node.count_publishers("scan") > 0
        self._send(page, "map", {"points": points, "at": view.scanned, "lidar": lidar})

    def _look(self) -> ObstacleView:
        if self._view is None:
            self._view = ObstacleView(self._node.create_subscription, KEPT_POSES, self._height)
        if self._radius is None:
            self._radius = math.inf  # while it is computed
            self._node.threads.run_outside(lambda: footprint_radius(self._robot), self._take_radius)
        return self._view

    def _height(self) -> float:
        """How high base_link is above the ground, at least [m]."""
        return self._robot.walk.height if self._feed.posture in ON_FEET else 0.0

    def _take_radius(self, radius: float) -> None:
        self._radius = radius

    def watch(self) -> None:
        """Ends subscriptions that are no longer needed."""
        if (
            self._view is not None
            and not self._points
            and not self._learns
            and time.monotonic() - self._viewed_at > MAX_IDLE_S
        ):
            for subscription in self._view.subscriptions:
                self._node.destroy_subscription(subscription)
            self._view = None

    # --- a lesson -----------------------------------------------------------------------------------------------

    @property
    def lesson_length(self) -> float | None:
        """The way [m] since a lesson began; None without one."""
        return round(self._lesson.length, 1) if self._lesson and self._learns else None

    def _learn(self, lesson: RouteLesson) -> None:
        view = self._look()
        if view.odometry_is_old or not len(view.odometry):
            return
        lesson.take_odometry(view.odometry.last.pose)
        if view.scanned > self._learned:
            self._learned = view.scanned
            if not view.tilted:
                lesson.take_scan(view.scan, view.scan_pose)

    def _end_lesson(self) -> None:
        """Sends the pages what was learned, as points in odom."""
        lesson = self._lesson
        assert lesson is not None
        self._learns = False
        back = lesson.odom_on_map.inverse()
        self._send(0, "lesson", {"points": [back.apply(*point) for point in lesson.route()]})

    def _run_timer(self, *, learns: bool) -> None:
        self._learns = self._learns or learns
        self._learned = -math.inf if learns else self._learned
        if self._timer is None:
            self._timer = self._node.create_timer(PERIOD_S, self._tick, clock=self._node.steady)
        self._timer.reset()
        self._look()

    def _tick(self) -> None:
        if self._lesson and self._learns:
            self._learn(self._lesson)
        if self._points:
            self._step()
        if not self._points and not self._learns and self._timer is not None:
            self._timer.cancel()

    # --- walking ------------------------------------------------------------------------------------------------

    def _begin(self, message: RouteMessage) -> None:
        if not message.points:
            return
        self._look()
        self._name = message.name or NOWHERE
        self._points = message.points
        self._pursuit = self._taught = self._tracker = self._search = None
        self._tracked = -math.inf
        self._beside = 0.0
        self._blind = not self._node.count_publishers("scan")
        self._reached = 0
        self._waiting = 0.0
        self._stops = self._feed.stops
        self._feed.ended = None
        self._feed.route = RouteProgress(self._name, PursuitPhase.WALKING.value, self._left(0, self._feed.place))
        self._run_timer(learns=False)
        self._send_route()

    def overrule(self, body: MessageBody, by: str) -> None:
        """Ends the walk because of another command of a person, if that moves or stops the robot.

        `by` is the person's name; empty: the page that drove is gone.
        """
        navigates = isinstance(body, RouteMessage) and body.act == "navigate"
        if self._points and (navigates or isinstance(body, ENDING)):
            self._end_by(by)
        elif self._feed.ended and isinstance(body, ENDING) and getattr(body, "moves", True):
            self._feed.ended = None
            self._send_route()

    def _end_by(self, person: str) -> None:
        if person:
            self._end(ReportLevel.OK, "log_route_ended", by=person)
        else:
            self._end(ReportLevel.WARNING, "log_route_left")

    def _end(self, level: ReportLevel, key: str, **more: Any) -> None:
        values = {"name": self._name, "left": self._feed.route.left if self._feed.route else 0.0, **more}
        back = self._on_map.inverse()
        self._feed.ended = walk_end(key, values, [back.apply(*point) for point in self._points])
        self._points = ()
        self._feed.route = None
        self._search = None
        self._commands.halt()
        self._send_route()
        self._log(level, key, values)

    def _step(self) -> None:
        if self._is_stopped():
            return None
        view = self._look()
        missing = self._missing(view)
        if missing or self._radius == math.inf:
            self._waiting += PERIOD_S
            if self._waiting > MAX_WAIT_S:
                return self._end(ReportLevel.WARNING, f"log_route_{missing or 'no_odom'}")
            self._commands.halt()
            return self._show(missing if missing and self._waiting > SOON_S else PursuitPhase.WALKING.value)
        self._waiting = 0.0
        if time.monotonic() - self._feed.asked_at >= UNSEEN_S:
            return self._commands.halt()
        if time.monotonic() - self._paused < PAUSE_LIFE_S:
            self._commands.halt()
            return self._show("paused")
        if self._pursuit is None and not self._blind and self._tracker is None and self._folder.has_map(self._name):
            self._commands.halt()
            return self._locate(view)
        now = view.odometry.last.time
        if not self._track(view):
            return self._end(ReportLevel.WARNING, "log_route_lost")
        pose = self._on_map @ view.odometry.last.pose
        obstacles = NO_OBSTACLES if self._blind else transform_points(view.obstacles, self._on_map)
        if self._pursuit is None:
            self._pursuit = self._pursue()
            self._stepped = now
        if self._taught is not None:
            disc = self._pursuit.settings.radius + self._pursuit.settings.clearance
            obstacles = self._taught.obstacles(obstacles, pose[:2], disc)
        self._make_room(pose, obstacles)
        limits = self._feed.limits.scaled(self._commands.speed)
        command = self._pursuit.step(pose, limits, obstacles, max(0.0, now - self._stepped))
        self._stepped = now
        if command.phase is PursuitPhase.DONE:
            return self._arrive(view)
        if command.phase is PursuitPhase.STUCK:
            return self._end(ReportLevel.WARNING, "log_route_stuck")
        self._commands.follow(command.twist)
        self._show(command.phase.value, command.reached, self._left(command.reached, pose[:2]))

    def _pursue(self) -> Pursuit:
        assert self._radius is not None
        settings = PursuitSettings(TOLERANCE_M, radius=self._radius, progress_timeout=MAX_BLOCKED_S)
        return Pursuit([Waypoint(x, y) for x, y in self._points], settings)

    def _arrive(self, view: ObstacleView) -> None:
        if self._beside:
            return self._end(ReportLevel.OK, "log_route_beside", way=f"{self._beside:.1f}")
        error = 2.0 * view.deviation
        if self._tracker is None and error > TELLING_M:
            return self._end(ReportLevel.OK, "log_route_about", error=f"{error:.1f}")
        return self._end(ReportLevel.OK, "log_route_done")

    def _make_room(self, pose: Pose, obstacles: Array) -> None:
        """Moves a place that is too near to obstacles to the nearest one that has room."""
        (goal,) = self._points[-1:]
        if len(self._points) > 1 or not len(obstacles) or math.dist(goal, pose[:2]) < TOLERANCE_M:
            return
        assert self._pursuit is not None
        room = self._pursuit.settings.radius + self._pursuit.settings.clearance
        if float(np.hypot(*(obstacles - np.array(goal)).T).min()) >= room:
            return
        back = pose.inverse()
        nearest = nearest_free(back.apply(*goal), transform_points(obstacles, back), room + ROOM_M, MAX_BESIDE_M)
        free = pose.apply(*nearest)
        if math.dist(free, goal) < TOLERANCE_M:
            return
        self._beside += math.dist(goal, free)
        self._points = (free,)
        self._pursuit = self._pursue()
        self._send_route()

    @property
    def _on_map(self) -> Pose:
        """The place of odom in the frame of the route."""
        return self._tracker.odom_on_map if self._tracker else SAME

    def _locate(self, view: ObstacleView) -> None:
        """Searches the robot on the map of the route."""
        self._show("locating")
        if self._search is not None:
            return
        search = self._search = object()
        name, points = self._name, self._points
        scan, pose = view.scan, view.scan_pose

        def find() -> tuple[TaughtRoute, MapTracker | None] | None:
            try:
                taught = TaughtRoute(points, self._folder.seen(name))
            except (OSError, ValueError):
                return None  # the file is damaged
            return taught, taught.find(scan, pose)

        def take(found: tuple[TaughtRoute, MapTracker | None] | None) -> None:
            if self._search is search and (found is None or found[1] is None):
                self._end(ReportLevel.WARNING, "log_route_elsewhere")
            elif self._search is search and found is not None:
                self._taught, self._tracker = found
                self._sure = view.odometry.last.time
                self._send_route()

        self._node.threads.run_outside(find, take)

    def _track(self, view: ObstacleView) -> bool:
        """Corrects the place on the map by a new scan. False if scans do not fit for too long."""
        tracker = self._tracker
        if tracker is None:
            return True
        if view.scanned > self._tracked:
            self._tracked = view.scanned
            if not view.tilted:
                tracker.take_scan(view.scan, view.scan_pose)
            self._sure = view.scanned if tracker.fits or view.tilted else self._sure
        return view.odometry.last.time - self._sure < MAX_UNSURE_S

    def _take_pause(self, message: String) -> None:
        self._paused = time.monotonic() if message.data else -math.inf

    def _is_stopped(self) -> bool:
        """Ends the walk if the robot may not be driven, another program drives or stops it, or no page sees it."""
        feed = self._feed
        self._hung = self._hung + PERIOD_S if feed.why and feed.silent else 0.0
        if 0.0 < self._hung < MAX_UNSEEN_S:  # a busy computer
            self._commands.halt()
            return True
        if feed.why:
            self._end(ReportLevel.WARNING, "log_route_why", why=feed.why, **feed.why_values)
        elif feed.stops != self._stops and not feed.stopped_by:
            self._end(ReportLevel.WARNING, "log_route_program")
        elif feed.stops != self._stops:
            self._end(ReportLevel.WARNING, "log_route_ended", by=" / ".join(feed.stopped_by))
        elif feed.source not in ("", "none", "tablet"):
            self._end(ReportLevel.WARNING, "log_route_ended", by=feed.source)
        elif time.monotonic() - feed.asked_at >= MAX_UNSEEN_S:
            self._end(ReportLevel.WARNING, "log_route_unseen")
        return not self._points

    def _missing(self, view: ObstacleView) -> str:
        """The phase of a walk that waits for a sensor; empty if none is missing."""
        if view.odometry_is_old or not len(view.odometry):
            return "no_odom"
        return "no_scan" if view.scan_is_old and not self._blind else ""

    def _left(self, reached: int, place: tuple[float, float] | None) -> float:
        """Length [m] of the route from a place over the points that are not reached yet."""
        points = [*([place] if place else []), *self._points[reached:]]
        return round(sum(map(math.dist, points, points[1:])), 1)

    def _show(self, phase: str, reached: int | None = None, left: float | None = None) -> None:
        before = self._feed.route
        assert before is not None
        self._feed.route = RouteProgress(self._name, phase, before.left if left is None else left)
        if reached is not None and reached != self._reached:
            self._reached = reached
            self._send_route()

    def _send_route(self) -> None:
        back = self._on_map.inverse()
        rest = [back.apply(*point) for point in self._points[self._reached :]]
        ended = self._feed.ended
        self._send(0, "route", {"name": self._name, "points": rest, "blind": self._blind, "ended": ended})


def walk_end(key: str, values: Mapping[str, Any], goal: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """How a walk ended, for pages: key and values of the text, the points [m] in odom that it had, and when [s]."""
    return {"text": key, "values": dict(values), "goal": [list(point) for point in goal], "at": time.time()}
