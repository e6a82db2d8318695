# SPDX-License-Identifier: Apache-2.0
"""Goals of pages for Nav2, by its topics and services, at times that the test sets; on the page: test_page_map.py."""

from types import SimpleNamespace

import numpy as np
import pytest
from action_msgs.msg import GoalInfo, GoalStatus, GoalStatusArray
from rcl_interfaces.msg import Log
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.nodes.web import navigation_goal
from hexapod_control.nodes.web.navigation_goal import MAX_ACCEPT_S, PERIOD_S, STATUS, NavigationGoal
from hexapod_control.nodes.web.route_walk import MAX_UNSEEN_S
from hexapod_control.web.protocol import DriveMessage, GaitMessage, RouteMessage

GOAL = RouteMessage("navigate", "Door", ((9.0, 9.0), (3.0, 4.0)))
RUNS, REACHED, CANCELLED, GAVE_UP = (
    getattr(GoalStatus, f"STATUS_{name}") for name in ("EXECUTING", "SUCCEEDED", "CANCELED", "ABORTED")
)


class Walker:
    """The goals of a node, and a Nav2 that the test plays."""

    def __init__(self, monkeypatch):
        self.time, self.log, self.sent, self.states = Moment(), [], [], {}
        monkeypatch.setattr(navigation_goal, "time", self.time)
        self.node = PlainNode(moment=self.time)
        self.feed = SimpleNamespace(route=None, place=(0.0, 0.0), why="", stops=0, stopped_by=[], asked_at=0.0)
        self.feed.why_values, self.feed.ended = {}, None
        self.goals = NavigationGoal(
            self.node, self.feed, lambda *what: self.sent.append(what), lambda *what: self.log.append(what[1:])
        )

    def nav2(self, number, state):
        self.states[number] = state
        states = [GoalStatus(goal_info=GoalInfo(), status=state) for state in self.states.values()]
        for each, number in zip(states, self.states, strict=True):
            each.goal_info.goal_id.uuid = np.full(16, number, dtype=np.uint8)
        self.node.deliver(STATUS, GoalStatusArray(status_list=states))

    def later(self, seconds=PERIOD_S, page=True):
        self.time.now += seconds
        self.feed.asked_at = self.time.now if page else self.feed.asked_at
        for timer in self.node.plain_timers:
            if timer.runs:
                timer.callback()

    @property
    def cancels(self):
        return len(self.node.service_clients["navigate_to_pose/_action/cancel_goal"].calls)


@pytest.fixture
def walker(monkeypatch):
    walker = Walker(monkeypatch)
    walker.nav2(1, REACHED)  # an earlier goal
    walker.goals.begin(GOAL)
    walker.nav2(2, RUNS)
    walker.later()
    return walker


def test_the_goal_is_the_last_point_in_odom_and_the_distance_to_it_is_told(walker):
    (pose,) = walker.node.sent("goal_pose")
    assert (pose.header.frame_id, pose.pose.position.x, pose.pose.position.y) == ("odom", 3.0, 4.0)
    assert (walker.feed.route.name, walker.feed.route.phase, walker.feed.route.left) == ("Door", "nav2", 5.0)
    assert walker.sent == [(0, "route", {"name": "Door", "points": [(3.0, 4.0)], "blind": False, "ended": None})]


@pytest.mark.parametrize(
    ("state", "key"), [(REACHED, "log_route_done"), (CANCELLED, "log_nav2_cancelled"), (GAVE_UP, "log_nav2_aborted")]
)
def test_its_end_is_told_with_the_last_warning_of_nav2(walker, state, key):
    for level, name, text in ((30, "controller_server", "no way"), (20, "bt_navigator", "info"), (40, "web", "mine")):
        walker.node.deliver("/rosout", Log(level=level, name=name, msg=text))
    walker.nav2(2, state)
    walker.later()
    assert walker.log == [(key, {"name": "Door", "left": 5.0, "text": "no way"})]
    assert walker.feed.route is None and walker.sent[-1][2]["points"] == [] and walker.cancels == 0
    assert "/rosout" not in walker.node.callbacks
    walker.later()
    assert len(walker.log) == 1


@pytest.mark.parametrize(
    ("happens", "key"),
    [
        (lambda walker: walker.goals.overrule(DriveMessage(False), "Ada"), "log_route_ended"),
        (lambda walker: walker.goals.overrule(RouteMessage("walk"), "Ada"), "log_route_ended"),
        (lambda walker: setattr(walker.feed, "stops", 1), "log_route_ended"),
        (lambda walker: setattr(walker.feed, "why", "why_fallen"), "log_route_why"),
        (lambda walker: walker.later(MAX_UNSEEN_S, page=False), "log_route_unseen"),
    ],
    ids=["stick", "other walk", "stop", "fall", "page gone"],
)
def test_what_ends_a_walk_along_a_route_cancels_the_goal(walker, happens, key):
    walker.goals.overrule(GaitMessage("wave"), "Ada")
    assert walker.log == [] and walker.cancels == 0
    happens(walker)
    walker.later()
    assert [each for each, _ in walker.log] == [key] and walker.cancels == 1 and walker.feed.route is None


def test_a_goal_that_nav2_does_not_take_is_given_up(monkeypatch):
    walker = Walker(monkeypatch)
    walker.nav2(1, REACHED)
    walker.goals.begin(GOAL)
    walker.later(MAX_ACCEPT_S + 0.1)
    assert [key for key, _ in walker.log] == ["log_nav2_silent"]


def test_nav2_is_there_while_its_action_is(walker):
    assert not walker.goals.available
    walker.node.publishers_of[STATUS] = [1]
    assert walker.goals.available
