# SPDX-License-Identifier: Apache-2.0
"""Requests of servo_driver to the planner after a servo fault, and the time since the robot sat down."""

import time

import pytest
from std_msgs.msg import String
from std_srvs.srv import Trigger
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.nodes.servo_driver import planner_requests
from hexapod_control.nodes.servo_driver.planner_requests import LEG_CHANGE_S, REPEAT_PERIOD_S, PlannerRequests
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import EVENTS, LATCHED
from hexapod_control.servos.driver.telemetry import PlannerRequest

STOP, SIT, NOTHING = PlannerRequest.STOP, PlannerRequest.SIT, PlannerRequest.NOTHING
LEGS = ("left", "middle", "right")


class Asked:
    """A planner that records the requests of a driver with their times."""

    def __init__(self, bench):
        self.bench, self.calls, self.seated, self.folded = bench, [], 0, []
        node = bench.add(GuardedNode("servo_driver"))
        self.pauses = bench.listen(String, "pause", EVENTS)
        self.requests = PlannerRequests(node, LEGS, self._sits, self.folded.append)

    def _sits(self):
        self.seated += 1

    def serve(self):
        self.bench.probe.create_service(Trigger, "sit", self._taker("sit"))
        self.bench.until(lambda: self.requests.reachable)

    def _taker(self, name):
        def take(request, response):
            self.calls.append((name, time.monotonic()))
            response.success = True
            return response

        return take

    @property
    def names(self):
        return [name for name, _ in self.calls]

    def ask(self, request, count):
        """Asks in every tick until so many calls have arrived. Returns how long that took [s]."""
        return self.bench.until(lambda: self.requests.request(request) or len(self.calls) >= count)

    def in_state(self, state):
        self.requests.on_gait_state(String(data=state.value))


@pytest.fixture
def asked(bench):
    return Asked(bench)


def test_a_fault_asks_for_a_pause_with_its_reason_and_takes_that_back_when_it_has_ended(asked):
    assert not asked.requests.reachable
    asked.requests.request(SIT)  # no planner runs
    asked.serve()
    asked.in_state(RobotState.WALKING)
    asked.bench.until(lambda: asked.requests.request(STOP, reason="all is late") or len(asked.pauses) >= 2)
    asked.bench.until(lambda: asked.requests.request(NOTHING) or len(asked.pauses) >= 3)
    assert [message.data for message in asked.pauses] == ["all is late", "all is late", ""]
    assert not asked.calls and not asked.seated


def test_sitting_is_not_requested_twice_and_its_end_is_reported_to_the_driver(asked):
    asked.serve()
    asked.in_state(RobotState.WALKING)
    asked.ask(SIT, 1)
    for state, seated in ((RobotState.SINKING, 0), (RobotState.SITTING, 1)):
        asked.requests.request(NOTHING)
        asked.in_state(state)
        asked.requests.request(SIT)
        assert asked.seated == seated
    assert asked.names == ["sit"] and asked.seated == 1


def test_the_time_on_the_ground_counts_from_the_first_report_of_it(asked):
    requests = asked.requests
    assert asked.requests.down_time > 0.0  # no planner has reported a robot that stands
    asked.in_state(RobotState.STANDING)
    assert requests.down_time == 0.0
    asked.in_state(RobotState.SITTING)
    asked.bench.spin(0.05)
    asked.in_state(RobotState.SITTING)
    assert 0.05 <= requests.down_time < 1.0
    asked.in_state(RobotState.UNKNOWN)
    assert 0.0 <= requests.down_time < 0.05


def test_folding_a_leg_is_requested_once_and_after_a_refusal_the_robot_stays_paused(asked):
    asked.serve()
    legs = asked.bench.listen(String, "lose_leg")
    refusals, lost = (
        asked.bench.publisher(String, *topic) for topic in (("leg_refused", EVENTS), ("lost_legs", LATCHED))
    )
    asked.bench.until(lambda: asked.requests.request(PlannerRequest.LOSE_LEG, 1) or legs)
    lost.publish(String(data="middle,right"))
    asked.bench.until(lambda: asked.folded)
    assert asked.folded[-1] == {1, 2}
    asked.requests.request(NOTHING)
    asked.bench.until(lambda: asked.requests.request(PlannerRequest.LOSE_LEG, 0) or len(legs) == 2)
    assert [message.data for message in legs] == ["middle", "left"] and not asked.calls
    refusals.publish(String(data="it would tip"))
    asked.bench.until(lambda: asked.requests.request(PlannerRequest.LOSE_LEG, 0) or len(asked.pauses) >= 4)
    assert asked.pauses[-1].data and len(legs) == 2


# --- at given times -------------------------------------------------------------------------------------------

LOSE_LEG = PlannerRequest.LOSE_LEG


class Timed:
    """The requests of a driver at times that the test sets."""

    def __init__(self, monkeypatch):
        self.time, self.node, self.seated, self.folded = Moment(), PlainNode(), 0, []
        monkeypatch.setattr(planner_requests, "time", self.time)
        self.requests = PlannerRequests(self.node, LEGS, self._sits, self.folded.append)

    def _sits(self):
        self.seated += 1

    def ask(self, request, leg=None, *, after=0.0):
        """Requests a reaction. Returns the calls so far: numbers of pauses and of sit, and the legs to lose."""
        self.time.now += after
        self.requests.request(request, leg)
        pauses = [message for message in self.node.sent("pause") if message.data]
        legs = [message.data for message in self.node.sent("lose_leg")]
        return len(pauses), len(self.node.service_clients["sit"].calls), legs


@pytest.fixture
def timed(monkeypatch):
    return Timed(monkeypatch)


def test_a_request_is_repeated_every_second_until_another_one_comes(timed):
    found = [timed.ask(STOP, after=after)[0] for after in (0.0, 0.9, 0.2, 0.9, 0.2)]
    assert found == [1, 1, 2, 2, 3] and REPEAT_PERIOD_S == 1.0
    assert timed.ask(SIT)[:2] == (3, 1)
    assert not timed.node.sent("pause")[-1].data
    assert timed.ask(NOTHING)[:2] == (3, 1)
    assert timed.ask(SIT)[:2] == (3, 2)


def test_a_request_waits_for_its_service(timed):
    timed.node.service_clients["sit"].ready = False
    assert timed.ask(SIT)[:2] == (0, 0) and not timed.requests.reachable
    timed.node.service_clients["sit"].ready = True
    assert timed.ask(SIT)[:2] == (0, 1) and timed.requests.reachable


@pytest.mark.parametrize(
    ("state", "calls", "seated"), [("sinking", 0, 0), ("sitting", 0, 1), ("standing", 1, 0), ("unknown", 1, 0)]
)
def test_a_robot_that_sits_down_or_sits_is_not_asked_to_sit(timed, state, calls, seated):
    timed.node.deliver("gait_state", String(data=state))
    assert timed.ask(SIT)[1] == calls and timed.seated == seated


def test_a_leg_is_asked_for_again_after_a_while_and_at_once_when_the_lost_legs_have_changed(timed):
    found = [timed.ask(LOSE_LEG, 1, after=after)[2] for after in (0.0, 0.9 * LEG_CHANGE_S, 0.2 * LEG_CHANGE_S)]
    assert found == [["middle"], ["middle"], ["middle"] * 2] and LEG_CHANGE_S == 20.0
    timed.node.deliver("lost_legs", String(data="left,right"))
    assert timed.folded == [{0, 2}]
    assert timed.ask(LOSE_LEG, 1)[1:] == (0, ["middle"] * 3)
    assert timed.ask(LOSE_LEG, 1)[1:] == (0, ["middle"] * 3)


def test_without_a_planner_that_listens_no_leg_is_asked_for(timed):
    timed.node.topics["lose_leg"].listeners = 0
    assert timed.ask(LOSE_LEG, 0)[2] == []
    timed.node.topics["lose_leg"].listeners = 1
    assert timed.ask(LOSE_LEG, 0)[2] == ["left"]


def test_the_robot_pauses_while_a_leg_is_lost_and_if_it_cannot_walk_without_it(timed):
    timed.node.deliver("leg_refused", String(data="asked for by somebody else"))
    assert timed.ask(LOSE_LEG, 2) == (1, 0, ["right"])
    timed.node.deliver("leg_refused", String(data="it would tip"))
    assert timed.ask(LOSE_LEG, 2) == (1, 0, ["right"])
    assert timed.ask(LOSE_LEG, 2, after=1.1) == (2, 0, ["right"])
    timed.ask(NOTHING)
    assert timed.ask(LOSE_LEG, 2) == (3, 0, ["right", "right"])
    timed.ask(NOTHING)
    assert timed.ask(LOSE_LEG) == (4, 0, ["right", "right"])  # it is unknown which one


def test_the_time_on_the_ground_is_that_since_its_first_report(timed):
    def down(state):
        timed.node.deliver("gait_state", String(data=state))
        timed.time.now += 2.0
        return timed.requests.down_time

    timed.time.now += 1.0
    assert timed.requests.down_time == 1.0
    states = ("walking", "sitting", "sitting", "unknown", "standing", "sinking")
    assert [down(state) for state in states] == [0.0, 2.0, 4.0, 2.0, 0.0, 0.0]
