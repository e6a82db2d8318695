# SPDX-License-Identifier: Apache-2.0
"""Announcements of nodes without middleware: when a node makes way, what is reported, how long a start listens."""

import json
from types import SimpleNamespace

import pytest
from std_msgs.msg import String
from support.kits.plain_node import Moment, PlainNode

from hexapod_control.nodes.announcements import graph_presence, local_announcement, node_presence
from hexapod_control.nodes.announcements.graph_presence import (
    ANNOUNCED_S,
    LISTENING_TIME_S,
    MAX_COMPANIONS,
    READING_TIME_S,
    GraphPresence,
    OlderGraphSearch,
)
from hexapod_control.nodes.announcements.node_presence import NodePresence
from hexapod_control.ros.guarded_node import ReportLevel
from hexapod_control.ros.monitoring.graph_identity import Phase
from hexapod_control.ros.node_process import EndedEarly
from hexapod_control.ros.parameters import ParameterError

STARTED = 900.0  # [s] steady time at which the own graph was started
OWN = ("ours", "our machine", STARTED)


@pytest.fixture(autouse=True)
def time(monkeypatch):
    moment = Moment()
    for module in (graph_presence, node_presence):
        monkeypatch.setattr(module, "time", moment)
    for name, value in zip(("started_graph", "machine", "started_at"), OWN, strict=True):
        monkeypatch.setattr(node_presence, name, lambda value=value: value)
    monkeypatch.setenv("ROS_DOMAIN_ID", "7")
    return moment


def other(node="/gait_planner", process=1, started=STARTED - 1.0, **fields):
    """Another robot's node on this machine, by default older."""
    values = {"graph": "theirs", "host": "there", "machine": "our machine", "age": 1000.0 - started, **fields}
    return NodePresence(node=node, process=process, started=started, **values)


class Announced:
    """A node that announces itself."""

    def __init__(self, node):
        self.node = node
        self.presence = GraphPresence(node)

    def hear(self, *presences):
        for presence in presences:
            text = presence if isinstance(presence, str) else presence.text
            self.node.deliver("robot_nodes", String(data=text))


@pytest.fixture
def announced():
    node = PlainNode("gait_planner")
    with node.closing:
        yield Announced(node)


def test_a_node_announces_its_graph_with_its_age_at_once_and_whenever_it_is_due(announced, time):
    (duty,) = announced.node.duties
    time.now += 5.0
    duty()
    first, second = (NodePresence.parsed(message.data) for message in announced.node.sent("robot_nodes"))
    assert (first.node, first.graph, first.machine, first.started, first.age) == ("/gait_planner", *OWN, 100.0)
    assert second == first._replace(age=105.0) and first.process > 1


@pytest.mark.parametrize("older", [True, False])
def test_the_second_announcement_of_another_robot_counts(announced, older):
    theirs = other(started=STARTED + (-1.0 if older else 1.0))
    announced.hear(theirs, other(node="/odometry", process=2, started=theirs.started), "no announcement")
    assert not announced.node.reasons and not announced.node.reports
    announced.hear(theirs._replace(age=theirs.age + 0.5))
    text = "/gait_planner on host 'there', process 1, is another robot's: it makes way"
    if older:
        assert announced.node.reasons == [theirs.conflict] and announced.node.phase is Phase.STOPPING
        assert announced.node.reports == {"conflict": [(ReportLevel.ERROR, theirs.conflict)]}
    else:
        assert announced.node.reports == {"second graph": [(ReportLevel.WARNING, text)]}
        assert announced.node.phase is Phase.DRIVING


def test_the_remedy_for_another_robot_names_its_domain():
    text = other().refusal
    assert text.startswith(
        "refuses to drive: /gait_planner of another robot runs in this namespace and in ROS_DOMAIN_ID 7, "
    )
    assert "on host 'there', process 1: stop that one, or start this one with another ROS_DOMAIN_ID" in text


def test_nodes_of_the_own_robot_are_read_once_and_only_so_many_are_remembered(announced, monkeypatch):
    parsed, original = [], NodePresence.parsed
    monkeypatch.setattr(NodePresence, "parsed", lambda text: parsed.append(text) or original(text))
    for number in range(MAX_COMPANIONS + 1):
        ours = other(node=f"/node_{number}", process=number + 2, graph="ours")
        announced.hear(ours, ours._replace(age=1.0))
    assert len(parsed) == MAX_COMPANIONS + 2 and MAX_COMPANIONS == 100
    assert not announced.node.reasons and not announced.node.reports


def test_a_robot_that_restarts_again_and_again_fills_no_memory(announced):
    for number in range(1001):
        announced.hear(other(process=number + 1))
    announced.hear(other(process=2000))
    announced.hear(other(process=1))  # the first announcement has expired by then
    assert announced.node.phase is Phase.DRIVING
    announced.hear(other(process=1))
    assert announced.node.phase is Phase.STOPPING


def test_a_planner_is_silent_once_it_rests_and_drives_again_when_the_other_robot_is_no_longer_heard(announced, time):
    node, (duty,) = announced.node, announced.node.duties
    node.moves = True
    announced.hear(other(), other())
    duty()
    assert node.phase is Phase.STOPPING
    node.moves = False
    duty()
    assert node.phase is Phase.SILENT
    time.now += ANNOUNCED_S - 0.5
    announced.hear(other(age=time.now - STARTED + 1.0))
    time.now += ANNOUNCED_S
    duty()
    assert node.phase is Phase.SILENT
    time.now += 0.5
    duty()
    assert node.phase is Phase.DRIVING and not node.report_of("conflict")
    announced.hear(other(age=time.now - STARTED + 1.0))
    assert node.phase is Phase.DRIVING  # as after a start, the second one counts
    phases = [json.loads(message.data)["phase"] for message in node.sent("robot_nodes")]
    assert phases == ["driving", "stopping", "silent", "silent", "driving"]


def test_the_other_nodes_follow_their_planner_as_long_as_it_is_heard(time):
    node = PlainNode("inverse_kinematics")
    with node.closing:
        made = Announced(node)
        made.hear(other(), other())
        assert node.phase is Phase.SILENT  # no planner of this robot is known
        for phase in Phase:
            made.hear(other(graph="ours", started=STARTED, phase=phase))
            assert node.phase is (Phase.SILENT if phase is Phase.SILENT else Phase.STOPPING)
        made.hear(other(graph="ours", started=STARTED))
        assert node.phase is Phase.STOPPING
        for _ in range(4):
            time.now += 1.0
            made.hear(other(age=time.now - STARTED + 1.0))
        assert node.phase is Phase.SILENT


def publisher(name, namespace="/"):
    return SimpleNamespace(node_name=name, node_namespace=namespace)


@pytest.mark.parametrize("topic", ["foot_targets", "joint_motion", "joint_targets", "joint_states", "/clock"])
def test_a_second_publisher_of_a_topic_that_must_have_one_is_an_error(announced, topic):
    node = announced.node
    node.create_subscription(String, topic, print, None)
    node.create_subscription(String, "cmd_vel", print, None)
    node.publishers_of["cmd_vel"] = [publisher("a"), publisher("b")]
    for one in (
        [publisher("a", "/r")],
        [publisher("a"), publisher("a")],
        [publisher("a"), publisher("_NODE_NAME_UNKNOWN_")],
    ):
        node.publishers_of[topic] = one
        node.duties[0]()
        assert not node.reports
    node.publishers_of[topic] = [publisher("b", "/r"), publisher("a")]
    node.duties[0]()
    text = (
        f"/a and /r/b publish {topic} at once, which must have one publisher: "
        "stop the others, or start them in another ROS_DOMAIN_ID"
    )
    assert node.reports == {f"publishers of {topic}": [(ReportLevel.ERROR, text)]}


@pytest.mark.parametrize(
    ("a", "b", "excludes"),
    [
        ({"process": 1}, {"process": 1, "node": "/b", "graph": "z"}, False),
        ({"process": 1}, {"process": 1, "machine": "m"}, True),
        ({"process": 1}, {"process": 2}, True),
        ({"process": 1}, {"process": 2, "node": "/b"}, False),
        ({"process": 1, "graph": "a"}, {"process": 2, "node": "/b", "graph": "z"}, True),
        ({"process": 1, "graph": ""}, {"process": 2, "node": "/b", "graph": "z"}, False),
    ],
)
def test_two_nodes_exclude_each_other_by_name_or_by_graph_unless_one_process_has_both(a, b, excludes):
    assert other(**a).excludes(other(**b)) is other(**b).excludes(other(**a)) is excludes


@pytest.mark.parametrize(
    ("name", "value"),
    [("age", 1), ("age", "1"), ("started", float("inf")), ("process", 1.5), ("node", 3), ("graph", None)],
)
def test_an_announcement_with_a_wrong_field_is_none(name, value):
    fields = other()._asdict() | {name: value}
    assert NodePresence.parsed(json.dumps(fields)) is None


# --- at the start ---------------------------------------------------------------------------------------------


class Search:
    """A search for older graphs: what is heard at which time, and which nodes run on this computer."""

    def __init__(self, monkeypatch, time, *heard, local=None, joins=False):
        self.time, self.heard, self.ended, self.waits = time, list(heard), [], []
        self.probe = probe = PlainNode("gait_planner")
        probe.destroy_node = lambda: self.ended.append("probe")
        spinner = SimpleNamespace(
            add_node=lambda node: self.ended.append("added"),
            spin_once=lambda timeout_sec: self._spin(probe, timeout_sec),
            shutdown=lambda timeout_sec: self.ended.append("spinner"),
        )
        monkeypatch.setattr(local_announcement, "joins_running_graph", lambda own: joins)
        monkeypatch.setattr(local_announcement, "reserve", lambda own, stack: local)
        monkeypatch.setattr(graph_presence, "Node", lambda name, **options: probe)
        monkeypatch.setattr(graph_presence, "Spinner", lambda: spinner)
        self.search = OlderGraphSearch("gait_planner")

    def _spin(self, probe, timeout):
        self.waits.append(timeout)
        self.time.now += min(0.3, timeout)
        if self.heard:
            probe.deliver("robot_nodes", String(data=self.heard.pop(0)))


def test_a_start_listens_for_a_second_and_goes_on_if_there_is_no_older_graph(monkeypatch, time):
    younger, ours = other(started=STARTED + 1.0), other(node="/odometry", graph="ours", process=3)
    made = Search(monkeypatch, time, younger.text, ours.text, "nonsense")
    made.search.finish()
    assert made.waits == pytest.approx([1.0, 0.7, 0.4, 0.1]) and LISTENING_TIME_S == 1.0
    assert made.ended == ["added", "spinner", "probe"]


def test_a_start_next_to_an_older_graph_is_refused_as_soon_as_that_is_heard(monkeypatch, time):
    made = Search(monkeypatch, time, "nonsense", other().text)
    with pytest.raises(ParameterError, match=r"^gait_planner refuses to drive: /gait_planner of another robot runs"):
        made.search.finish()
    assert len(made.waits) == 2 and made.ended == ["added", "spinner", "probe"]


def test_a_start_next_to_another_graph_on_the_same_computer_is_refused_without_listening(monkeypatch, time):
    made = Search(monkeypatch, time, local=other(started=STARTED + 1.0))
    with pytest.raises(ParameterError, match=r"^gait_planner refuses to drive: /gait_planner of another robot runs"):
        made.search.finish()
    assert not made.waits and not made.probe.topics and made.ended == ["added", "spinner", "probe"]


def test_a_start_is_announced_before_it_listens(monkeypatch, time):
    made = Search(monkeypatch, time)
    (announcement,) = made.probe.sent("robot_nodes")
    assert NodePresence.parsed(announcement.data).node == "/gait_planner" and not made.waits


def test_a_node_that_is_restarted_beside_those_of_its_graph_does_as_they_do(monkeypatch, time):
    made = Search(monkeypatch, time, other().text, joins=True)
    made.search.finish()
    assert not made.waits


def test_announcements_that_arrived_while_modules_were_imported_are_read(monkeypatch, time):
    made = Search(monkeypatch, time, other().text)
    time.now += LISTENING_TIME_S + 1.0
    with pytest.raises(ParameterError, match="refuses to drive"):
        made.search.finish()
    assert made.waits == pytest.approx([READING_TIME_S])


def test_a_node_is_announced_to_the_nodes_of_its_computer_until_it_is_destroyed(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "a domain of this test")
    node = PlainNode("gait_planner")
    with node.closing:
        GraphPresence(node)
        assert [found.node for found in local_announcement.running("/")] == ["/gait_planner"]
    assert not local_announcement.running("/")


def test_a_start_that_is_interrupted_ends_early(monkeypatch, time):
    made = Search(monkeypatch, time)
    monkeypatch.setattr(graph_presence.StopRequest, "received", True)
    with pytest.raises(EndedEarly):
        made.search.finish()
    assert not made.waits and made.ended == ["added", "spinner", "probe"]
