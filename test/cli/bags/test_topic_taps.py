# SPDX-License-Identifier: Apache-2.0
"""Which topics of a graph are recorded, with which QoS, and what is said about the others; without middleware."""

from types import SimpleNamespace

import pytest
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.bags.bag_file import BagChannel
from hexapod_control.bags.ring_buffer import RecordedMessage
from hexapod_control.nodes.recorder import topic_taps
from hexapod_control.nodes.recorder.topic_taps import TopicTaps
from hexapod_control.ros.guarded_node import ReportLevel

STRING, JOINTS = "std_msgs/msg/String", "sensor_msgs/msg/JointState"


def offered(reliable=True, latched=False):
    profile = SimpleNamespace(
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )
    return SimpleNamespace(qos_profile=profile)


class Graph:
    """Topics of a graph, and the subscriptions of a node in namespace /r."""

    def __init__(self, monkeypatch, *skipped, namespace="/r"):
        self.taken, self.latched, self.profiles, self.topics = [], [], [], {}
        monkeypatch.setattr(topic_taps, "time", Moment())
        monkeypatch.setattr(topic_taps, "recording", lambda depth, **what: self.profiles.append((depth, what)))
        self.node = PlainNode("recorder")
        self.node.namespace, self.node.sent_reports = namespace, self.node.reports
        self.node.get_topic_names_and_types = lambda: list(self.topics.items())
        self.taps = TopicTaps(self.node, self.taken.append, self.latched.append, skipped)

    def offer(self, topic, *publishers, kinds=(STRING,)):
        """Offers a topic with these publishers. Returns its channel."""
        self.topics[topic], self.node.publishers_of[topic] = list(kinds), list(publishers)
        self.taps.discover()
        return self.taps.channels.get(topic)


@pytest.fixture
def graph(monkeypatch):
    return Graph(monkeypatch)


def test_topics_of_the_namespace_and_those_of_all_robots_are_recorded(graph, monkeypatch):
    for topic, recorded in (
        ("/r/gait_state", True),
        ("/other/gait_state", False),
        ("/rx/gait_state", False),
        ("/r/_hidden", False),
        ("/r/_private/a", False),
        ("/parameter_events", False),
        *((f"/{name}", True) for name in ("tf", "tf_static", "diagnostics", "clock", "rosout")),
    ):
        assert bool(graph.offer(topic, offered())) is recorded, topic
    alone = Graph(monkeypatch, namespace="")
    assert alone.taps.namespace == "/" and alone.offer("/anything", offered()) and not alone.offer("/parameter_events")
    some = Graph(monkeypatch, JOINTS)
    assert some.offer("/r/a", offered()) and not some.offer("/r/b", offered(), kinds=(JOINTS,))


def test_a_message_is_taken_with_its_time_and_topic(graph):
    graph.offer("/r/gait_state", offered())
    graph.node.deliver("/r/gait_state", b"data")
    assert graph.taken == [RecordedMessage(1000 * 10**9, "/r/gait_state", b"data")]
    assert graph.node.options["/r/gait_state"] == {"raw": True}


@pytest.mark.parametrize(
    ("publishers", "reliable", "latched"),
    [
        ([], False, False),
        ([offered()], True, False),
        ([offered(), offered(reliable=False)], False, False),
        ([offered(latched=True)], True, True),
        ([offered(latched=True), offered()], True, False),
        ([offered(reliable=False, latched=True)], False, True),
    ],
)
def test_a_subscription_asks_for_what_all_publishers_offer(graph, publishers, reliable, latched):
    assert graph.offer("/r/a", *publishers) == BagChannel("/r/a", STRING, reliable, latched)
    assert graph.profiles == [(50, {"reliable": reliable, "latched": latched})]
    assert graph.latched == ["/r/a"] * latched


def test_a_topic_is_subscribed_to_again_when_its_publishers_offer_something_else_but_not_when_they_go(graph):
    graph.offer("/r/a")
    graph.offer("/r/a", offered(latched=True))
    channel = graph.offer("/r/a", offered(latched=True))
    assert len(graph.profiles) == 2 and len(graph.node.all_subscriptions) == 1
    assert graph.offer("/r/a") == channel and len(graph.profiles) == 2
    graph.taps.close()
    assert not graph.taps.channels and not graph.node.callbacks


def test_a_publisher_that_takes_the_place_of_one_with_another_qos_is_noticed_by_the_event_of_the_middleware(graph):
    graph.offer("/r/a", offered())
    graph.node.qos_suspects = {"/r/a"}
    assert graph.offer("/r/a", offered(reliable=False)) == BagChannel("/r/a", STRING, False, False)
    assert len(graph.profiles) == 2


def test_a_topic_that_cannot_be_recorded_is_named_once_with_the_reason(graph):
    for _ in range(2):
        assert not graph.offer("/r/a", offered(), kinds=(STRING, JOINTS))
        assert not graph.offer("/r/b", offered(), kinds=("strange_msgs/msg/Thing",))
    assert graph.node.reports == {
        "unknown /r/a": [(ReportLevel.WARNING, "/r/a is not recorded: has several types")],
        "unknown /r/b": [
            (ReportLevel.WARNING, "/r/b is not recorded: its type strange_msgs/msg/Thing is not installed")
        ],
    }
