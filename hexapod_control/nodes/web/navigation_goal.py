# SPDX-License-Identifier: Apache-2.0
"""A goal of a page for Nav2, which walks there on its own way; the package nav2_msgs is not needed.

The goal goes out on `goal_pose`, as from RViz; the state of the action `navigate_to_pose` says how it ends, warnings of
Nav2 on `/rosout` why. It ends as a walk along a route does, by a cancel of all goals of that action.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.msg import Log
from rclpy.timer import Timer

from hexapod_control.nodes.web.robot_feed import RobotFeed
from hexapod_control.nodes.web.route_walk import ENDING, MAX_UNSEEN_S, NOWHERE, walk_end
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED
from hexapod_control.web.protocol import MessageBody, RouteMessage
from hexapod_control.web.robot_condition import RouteProgress

ACTION = "navigate_to_pose"
STATUS = f"{ACTION}/_action/status"
PHASE = "nav2"
PERIOD_S = 0.2
MAX_ACCEPT_S = 5.0
# nodes of Nav2 whose warnings say why a goal was not reached
NAV2_NODES = (
    "bt_navigator",
    "planner_server",
    "controller_server",
    "behavior_server",
    "smoother_server",
    "route_server",
)
WARNING = 30  # Log.WARN, which is an integer or a byte by the distribution
MAX_TEXT = 200  # characters of a reason
ENDS = {
    GoalStatus.STATUS_SUCCEEDED: (ReportLevel.OK, "log_route_done"),
    GoalStatus.STATUS_CANCELED: (ReportLevel.OK, "log_nav2_cancelled"),
    GoalStatus.STATUS_ABORTED: (ReportLevel.WARNING, "log_nav2_aborted"),
}


class NavigationGoal:
    """At most one goal; `overrule` is called with every other command."""

    def __init__(
        self,
        node: GuardedNode,
        feed: RobotFeed,
        send: Callable[[int, str, Mapping[str, Any]], None],
        log: Callable[[ReportLevel, str, Mapping[str, Any]], None],
    ) -> None:
        """`send(client, kind, fields)` sends a message to a page, 0 for all; `log(level, key, values)` an event."""
        self._node = node
        self._feed = feed
        self._send = send
        self._log = log
        self._goal = node.create_publisher(PoseStamped, "goal_pose", COMMAND)
        self._cancel = node.create_client(CancelGoal, f"{ACTION}/_action/cancel_goal")
        self._name = ""
        self._place: tuple[float, float] | None = None  # [m] in odom; None: there is no goal
        self._states: dict[bytes, int] = {}  # of all goals of the action
        self._old: set[bytes] = set()  # goals before this one
        self._since = 0.0  # [s] steady time
        self._stops = 0  # calls of the service stop before the goal
        self._why = ""  # the last warning of Nav2
        self._warnings: Any = None  # subscription, while there is a goal
        self._timer: Timer | None = None  # runs while there is a goal
        node.create_subscription(GoalStatusArray, STATUS, self._take_states, LATCHED)

    @property
    def available(self) -> bool:
        """Whether Nav2 runs."""
        return self._node.count_publishers(STATUS) > 0

    def begin(self, message: RouteMessage) -> None:
        """Sends the last point to Nav2."""
        if not message.points:
            return
        self._name = message.name or NOWHERE
        self._place = message.points[-1]
        self._old = set(self._states)
        self._since = time.monotonic()
        self._stops = self._feed.stops
        self._why = ""
        if self._warnings is None:
            self._warnings = self._node.create_subscription(Log, "/rosout", self._take_log, EVENTS)
        pose = PoseStamped()
        pose.header.frame_id = "odom"
        pose.pose.position.x, pose.pose.position.y = self._place
        pose.pose.orientation.w = 1.0
        self._goal.publish(pose)
        if self._timer is None:
            self._timer = self._node.create_timer(PERIOD_S, self._step, clock=self._node.steady)
        self._timer.reset()
        self._feed.ended = None
        self._show()
        self._send_route([self._place])

    def overrule(self, body: MessageBody, by: str) -> None:
        """Cancels the goal because of another command of a person, if that moves or stops the robot."""
        if self._place is not None and isinstance(body, (*ENDING, RouteMessage)):
            self._end_by(by)

    def _end_by(self, person: str) -> None:
        if person:
            self._end(ReportLevel.OK, "log_route_ended", by=person)
        else:
            self._end(ReportLevel.WARNING, "log_route_left")

    def _take_states(self, message: GoalStatusArray) -> None:
        self._states = {bytes(each.goal_info.goal_id.uuid): each.status for each in message.status_list}

    def _take_log(self, message: Log) -> None:
        if message.level >= WARNING and message.name.rpartition(".")[2] in NAV2_NODES:
            self._why = message.msg[:MAX_TEXT]

    def _step(self) -> None:
        state = next((state for goal, state in self._states.items() if goal not in self._old), None)
        feed = self._feed
        if state in ENDS:
            level, key = ENDS[state]
            self._end(level, key, text=self._why or "–")
        elif state is None and time.monotonic() - self._since > MAX_ACCEPT_S:
            self._end(ReportLevel.WARNING, "log_nav2_silent")
        elif feed.why:
            self._end(ReportLevel.WARNING, "log_route_why", why=feed.why, **feed.why_values)
        elif feed.stops != self._stops:
            self._end(ReportLevel.WARNING, "log_route_ended", by=" / ".join(feed.stopped_by) or "?")
        elif time.monotonic() - feed.asked_at >= MAX_UNSEEN_S:
            self._end(ReportLevel.WARNING, "log_route_unseen")
        else:
            self._show()

    def _left(self) -> float:
        """The distance to the goal [m] as the crow flies."""
        place = self._feed.place
        return round(math.dist(place, self._place), 1) if place and self._place else 0.0

    def _show(self) -> None:
        self._feed.route = RouteProgress(self._name, PHASE, self._left())

    def _end(self, level: ReportLevel, key: str, **more: Any) -> None:
        values = {"name": self._name, "left": self._left(), **more}
        self._feed.ended = walk_end(key, values, [self._place] if self._place else [])
        self._place = None
        self._feed.route = None
        if self._timer is not None:
            self._timer.cancel()
        if key not in [end for _, end in ENDS.values()] and self._cancel.service_is_ready():
            self._cancel.call_async(CancelGoal.Request())  # of all goals
        if self._warnings is not None:
            self._node.destroy_subscription(self._warnings)
            self._warnings = None
        self._send_route([])
        self._log(level, key, values)

    def _send_route(self, points: Sequence[tuple[float, float]]) -> None:
        fields = {"name": self._name, "points": points, "blind": False, "ended": self._feed.ended}
        self._send(0, "route", fields)
