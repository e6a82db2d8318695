"""One robot per domain and namespace: nodes announce themselves on `robot_nodes`; of two graphs the older one drives.

A node refuses to start while an older graph runs (`create_exclusive_node`). If two graphs discover each other later,
for example when networks are joined, each node of the younger one is deactivated (GuardedNode.deactivate): its servos
hold, and it ends without a request to the planner, which might belong to the other robot. rclpy does not report the
publisher of a message, so a subscriber cannot select one of several publishers. The younger graph therefore stops
publishing, and any other second publisher is reported.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from rclpy.node import Node
from std_msgs.msg import String

from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.graph_identity import machine, started_at, started_graph
from hexapod_control.ros.node_process import EndedEarly, StopRequest
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import LATCHED, LATCHED_HISTORY
from hexapod_control.ros.transport.executor import Spinner

TOPIC = "robot_nodes"
LISTENING_TIME_S = 1.0  # at start-up, for announcements of running nodes
MIN_ANNOUNCEMENTS = 2  # of an older node before a node is deactivated: one may be left from a killed node
SIMULTANEOUS_S = 2.0  # starts on different machines that are closer together cannot be ordered
MAX_COMPANIONS = 100  # nodes of one robot
UNKNOWN_NAME = "_NODE_NAME_UNKNOWN_"  # of a publisher whose node has not been discovered yet
SINGLE_PUBLISHER_TOPICS = ("foot_targets", "joint_motion", "joint_targets", "joint_states")

SomeNode = TypeVar("SomeNode", bound=GuardedNode)


class NodePresence(NamedTuple):
    """A running node of a robot."""

    node: str  # fully qualified name
    graph: str  # id of the nodes started together; empty: started by hand
    host: str
    machine: str  # boot id: host names are not unique
    process: int
    started: float  # [s] steady time of that machine at which the graph was started
    age: float  # [s] of the graph

    @classmethod
    def of(cls, node: Node) -> NodePresence:
        """The presence of a node of this process, with its present age."""
        started, name = started_at(), node.get_fully_qualified_name()
        age = time.monotonic() - started
        return cls(name, started_graph(), socket.gethostname(), machine(), os.getpid(), started, age)

    @classmethod
    def parsed(cls, text: str) -> NodePresence | None:
        """Decodes an announcement; None for any other text."""
        try:
            found = cls(**json.loads(text))
        except (ValueError, TypeError, RecursionError):
            return None
        texts = all(isinstance(value, str) for value in (found.node, found.graph, found.host, found.machine))
        numbers = all(isinstance(value, float) and math.isfinite(value) for value in (found.started, found.age))
        return found if texts and numbers and isinstance(found.process, int) else None

    @property
    def text(self) -> str:
        """The announcement as JSON."""
        return json.dumps(self._asdict())

    def excludes(self, other: NodePresence) -> bool:
        """Whether two nodes in one namespace cannot belong to one robot."""
        if (self.machine, self.process) == (other.machine, other.process):
            return False
        return self.node == other.node or bool(self.graph and other.graph and self.graph != other.graph)

    def older_than(self, other: NodePresence) -> bool:
        """Whether this node's graph was started before another's; both nodes reach the same verdict.

        Steady clocks of two machines differ, so ages are compared across machines, with a tolerance of SIMULTANEOUS_S.
        """
        if self.machine != other.machine and abs(self.age - other.age) > SIMULTANEOUS_S:
            return self.age > other.age
        started = (self.started, other.started) if self.machine == other.machine else (0.0, 0.0)
        own, others = (self.graph, self.machine, self.process), (other.graph, other.machine, other.process)
        return (started[0], own) < (started[1], others)

    @property
    def refusal(self) -> str:
        """Why a younger graph may not drive."""
        domain = os.environ.get("ROS_DOMAIN_ID", "0")
        return (
            f"refuses to drive: {self.node} of another robot runs in this namespace and in ROS_DOMAIN_ID {domain}, "
            f"on host {self.host!r:.80}, process {self.process}: stop that one, or start this one with another "
            "ROS_DOMAIN_ID or with namespace:=NAME (hexapod sim: --namespace NAME)"
        )


class GraphPresence:
    """Announces a node twice a second, and deactivates it if an older graph runs. Same lifetime as its node."""

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._companions: set[str] = set()  # announcements, up to the age, of nodes that are not excluded
        self._heard: Counter[tuple[str, str, int]] = Counter()
        self._publisher = node.create_publisher(String, TOPIC, LATCHED)
        node.create_subscription(String, TOPIC, self.on_presence, LATCHED_HISTORY)
        node.duties.append(self.announce)
        self.announce()

    def announce(self) -> None:
        """Publishes the announcement, and reports programs that publish on topics of the control chain."""
        self._publisher.publish(messages.text(NodePresence.of(self._node).text))
        for subscription in self._node.all_subscriptions:
            if subscription.topic in SINGLE_PUBLISHER_TOPICS and subscription.get_publisher_count() > 1:
                self._check_publishers(subscription.topic)

    def on_presence(self, message: String) -> None:
        """An announcement of any node in this namespace."""
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
            place = f"{other.node} on host {other.host!r:.80}, process {other.process}"
            self._node.report("second graph", ReportLevel.WARNING, f"{place}, is another robot's: it is deactivated")

    def _check_publishers(self, topic: str) -> None:
        found = self._node.get_publishers_info_by_topic(topic)
        known = (info for info in found if info.node_name != UNKNOWN_NAME)
        names = sorted({f"{info.node_namespace.rstrip('/')}/{info.node_name}" for info in known})
        if len(names) > 1:
            text = f"{' and '.join(names)} publish {topic} at once, which must have one publisher: stop the others"
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
        refusal = ""
        while not (refusal or StopRequest.received) and (left := self._deadline - time.monotonic()) > 0.0:
            self._spinner.spin_once(timeout_sec=left)
            refusal = self._refusal()
        self._spinner.shutdown(timeout_sec=0.0)
        self._probe.destroy_node()
        if refusal:
            raise ParameterError(f"{self._name} {refusal}")
        if StopRequest.received:
            raise EndedEarly

    def _refusal(self) -> str:
        own = NodePresence.of(self._probe)
        others = (NodePresence.parsed(message.data) for message in self._heard)
        return next((o.refusal for o in others if o is not None and own.excludes(o) and o.older_than(own)), "")


def create_exclusive_node(name: str, make: Callable[[], SomeNode]) -> SomeNode:
    """Creates a node that may run only once per robot, and announces its graph.

    Raises ParameterError if an older graph runs in the same domain and namespace, EndedEarly.
    """
    OlderGraphSearch(name).finish()
    node = make()
    GraphPresence(node)
    return node
