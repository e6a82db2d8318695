"""Ensures one robot per domain and namespace: nodes announce themselves on `robot_nodes`, and the older graph drives.

A node refuses to start while an older graph runs (`create_exclusive_node`). Discovery may take longer than a node
listens at its start, so nodes on the same computer are also found without it (local_announcement.py). If two graphs
discover each other later, for example when networks are joined, each node of the younger one is deactivated
(GuardedNode.deactivate): its servos hold, and it ends without a request to the planner, which might belong to the other
robot. rclpy does not report the publisher of a message, so a subscriber cannot select one of several publishers.
Therefore the younger graph stops publishing, and any other second publisher is reported, also that of /clock, which all
namespaces of a domain share.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from rclpy.node import Node
from std_msgs.msg import String

from hexapod_control.core.names import enumerated
from hexapod_control.nodes.announcements import local_announcement
from hexapod_control.nodes.announcements.node_presence import NodePresence
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import CLOCK, GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.endpoints import node_name, of_known_nodes
from hexapod_control.ros.node_process import EndedEarly, StopRequest
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import LATCHED, LATCHED_HISTORY
from hexapod_control.ros.transport.executor import Spinner

TOPIC = "robot_nodes"
LISTENING_TIME_S = 1.0  # for announcements of running nodes, at start-up
READING_TIME_S = 0.1  # minimum of that time after the imports
MIN_ANNOUNCEMENTS = 2  # of an older node before a node is deactivated: one may be left from a killed node
MAX_COMPANIONS = 100  # nodes of one robot
SINGLE_PUBLISHER_TOPICS = ("foot_targets", "joint_motion", "joint_targets", "joint_states", CLOCK)

SomeNode = TypeVar("SomeNode", bound=GuardedNode)


class GraphPresence:
    """Announces a node twice a second, and deactivates it if an older graph runs. Lives as long as its node."""

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._companions: set[str] = set()  # announcements of nodes of this robot, without the age
        self._heard: Counter[tuple[str, str, int]] = (
            Counter()
        )  # announcements of other nodes, by node, machine, process
        self._publisher = node.create_publisher(String, TOPIC, LATCHED)
        node.create_subscription(String, TOPIC, self.on_presence, LATCHED_HISTORY)
        node.duties.append(self.announce)
        node.closing.enter_context(local_announcement.announce(NodePresence.of(node)))
        self.announce()

    def announce(self) -> None:
        """Publishes the announcement, and reports programs that publish on topics of the control chain or on /clock."""
        self._publisher.publish(messages.text(NodePresence.of(self._node).text))
        for subscription in self._node.all_subscriptions:
            if subscription.topic in SINGLE_PUBLISHER_TOPICS and subscription.get_publisher_count() > 1:
                self._check_publishers(subscription.topic)

    def on_presence(self, message: String) -> None:
        """Handles the announcement of any node in this namespace."""
        unchanged, _, _ = message.data.rpartition('"age"')
        if unchanged in self._companions:
            return
        own, other = NodePresence.of(self._node), NodePresence.parsed(message.data)
        if other is None:
            return
        if not own.excludes(other):
            if len(self._companions) < MAX_COMPANIONS:
                self._companions.add(unchanged)
            return
        key = other.node, other.machine, other.process
        if len(self._heard) > 1000:  # a robot that restarts again and again
            self._heard.clear()
        self._heard[key] += 1
        if self._heard[key] < MIN_ANNOUNCEMENTS:
            return
        if other.older_than(own):
            self._node.deactivate(other.refusal)
        else:
            name = f"{other.node} on host {other.host!r:.80}, process {other.process}"
            self._node.report("second graph", ReportLevel.WARNING, f"{name}, is another robot's: it is deactivated")

    def _check_publishers(self, topic: str) -> None:
        names = sorted(set(map(node_name, of_known_nodes(self._node.get_publishers_info_by_topic(topic)))))
        if len(names) > 1:
            text = (
                f"{enumerated(names)} publish {topic} at once, which must have one publisher: "
                "stop the others, or start them in another ROS_DOMAIN_ID"
            )
            self._node.report(f"publishers of {topic}", ReportLevel.ERROR, text)


class OlderGraphSearch:
    """Listens for older graphs in the same domain and namespace, from its construction on."""

    def __init__(self, name: str) -> None:
        """`name` is the name of the node to start."""
        self._name = name
        self._probe, self._spinner = Node(name, enable_rosout=False, start_parameter_services=False), Spinner()
        self._heard: list[String] = []
        self._spinner.add_node(self._probe)
        self._probe.create_subscription(String, TOPIC, self._heard.append, LATCHED_HISTORY)
        self._deadline = time.monotonic() + LISTENING_TIME_S

    def finish(self) -> None:
        """Listens for the rest of LISTENING_TIME_S. Raises ParameterError if an older graph runs, EndedEarly."""
        refusal = self._refusal(local_announcement.running(self._probe.get_namespace()))
        deadline = max(self._deadline, time.monotonic() + READING_TIME_S)
        while not (refusal or StopRequest.received) and (left := deadline - time.monotonic()) > 0.0:
            self._spinner.spin_once(timeout_sec=left)
            refusal = self._refusal(map(NodePresence.parsed, (message.data for message in self._heard)))
        self._spinner.shutdown(timeout_sec=0.0)
        self._probe.destroy_node()
        if refusal:
            raise ParameterError(f"{self._name} {refusal}")
        if StopRequest.received:
            raise EndedEarly

    def _refusal(self, others: Iterable[NodePresence | None]) -> str:
        own = NodePresence.of(self._probe)
        return next((o.refusal for o in others if o is not None and own.excludes(o) and o.older_than(own)), "")


def create_exclusive_node(name: str, make: Callable[[], SomeNode]) -> SomeNode:
    """Creates a node that may run only once per robot, and announces its graph.

    Raises ParameterError if an older graph runs in the same domain and namespace, EndedEarly.
    """
    OlderGraphSearch(name).finish()
    node = make()
    GraphPresence(node)
    return node
