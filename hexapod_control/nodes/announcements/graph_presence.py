# SPDX-License-Identifier: Apache-2.0
"""Ensures one robot per domain and namespace: nodes announce themselves on `robot_nodes`, and the older graph drives.

A node refuses to start while another graph runs (`create_exclusive_node`). On one computer this is decided at once by a
lock (local_announcement.py), between computers by announcements: a node that starts announces itself, then listens.
Discovery may take longer. If two running graphs discover each other, for example when networks are joined, the younger
one makes way for as long as the other announces itself, and ANNOUNCED_S longer: its planner sets the feet down, then
all its nodes are silent, so that the servos hold (`Phase`). Its planner alone decides when that is, and the other nodes
follow it, also when it sits down later: their announcements say so. No other graph can make one silent for good.

Most subscribers cannot select one of several publishers. Therefore the younger graph stops publishing, and any other
second publisher is reported, also that of /clock, which all namespaces of a domain share.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from typing import TypeVar

from rclpy.node import Node
from std_msgs.msg import String

from hexapod_control.core.names import enumerated
from hexapod_control.nodes.announcements import local_announcement
from hexapod_control.nodes.announcements.node_presence import NodePresence
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import CLOCK, GuardedNode, ReportLevel
from hexapod_control.ros.monitoring.endpoints import node_name, of_known_nodes
from hexapod_control.ros.monitoring.graph_identity import Phase
from hexapod_control.ros.node_process import EndedEarly, StopRequest
from hexapod_control.ros.parameters import ParameterError
from hexapod_control.ros.qos import LATCHED, LATCHED_HISTORY
from hexapod_control.ros.transport.executor import Spinner

TOPIC = "robot_nodes"
PLANNER = "gait_planner"  # the node whose plan the others follow
ANNOUNCED_S = 3.0  # time for which an announcement counts
LISTENING_TIME_S = 1.0  # for announcements of running nodes, at start-up
READING_TIME_S = 0.1  # minimum of that time after the imports
MIN_ANNOUNCEMENTS = 2  # of an older node before a graph makes way: one may be left from a killed node
MAX_COMPANIONS = 100  # nodes of one robot
SINGLE_PUBLISHER_TOPICS = ("foot_targets", "joint_motion", "joint_targets", "joint_states", CLOCK)

SomeNode = TypeVar("SomeNode", bound=GuardedNode)


class GraphPresence:
    """Announces a node twice a second, and makes it give way to an older graph. Lives as long as its node."""

    def __init__(self, node: GuardedNode) -> None:
        self._node = node
        self._planner = f"{node.get_namespace().rstrip('/')}/{PLANNER}"  # of this robot
        # phase of that planner, and steady time [s] of it
        self._plan = Phase.SILENT.value
        self._planned_at = -math.inf
        self._companions: dict[str, NodePresence] = {}  # nodes of this robot by announcement, without the age
        self._heard: Counter[tuple[str, str, int]] = (
            Counter()
        )  # announcements of other nodes, by node, machine, process
        self._older_at = -math.inf  # [s] steady time of the last announcement of an older graph
        self._conflict = ""  # why this graph makes way
        self._publisher = node.create_publisher(String, TOPIC, LATCHED)
        node.create_subscription(String, TOPIC, self.on_presence, LATCHED_HISTORY)
        node.duties.append(self.announce)
        node.closing.enter_context(local_announcement.announce(NodePresence.of(node)))
        self.announce()

    def announce(self) -> None:
        """Publishes the announcement, and reports programs that publish on topics of the control chain or on /clock."""
        self._change_phase()
        self._publisher.publish(messages.text(NodePresence.of(self._node, self._node.phase).text))
        for subscription in self._node.all_subscriptions:
            if subscription.topic in SINGLE_PUBLISHER_TOPICS and subscription.get_publisher_count() > 1:
                self._check_publishers(subscription.topic)

    def on_presence(self, message: String) -> None:
        """Handles the announcement of any node in this namespace."""
        unchanged, _, _ = message.data.rpartition('"age"')
        companion = self._companions.get(unchanged)
        if companion is None:
            own = NodePresence.of(self._node)
            other = NodePresence.parsed(message.data)
            if other is None:
                return
            if own.excludes(other):
                self._heed(own, other)
                return
            companion = other
            if len(self._companions) < MAX_COMPANIONS:
                self._companions[unchanged] = other
        if companion.node == self._planner:
            self._plan = companion.phase
            self._planned_at = time.monotonic()
            self._change_phase()

    def _heed(self, own: NodePresence, other: NodePresence) -> None:
        """Handles the announcement of a node of another robot."""
        key = other.node, other.machine, other.process
        if len(self._heard) > 1000:  # a robot that restarts again and again
            self._heard.clear()
        self._heard[key] += 1
        if self._heard[key] < MIN_ANNOUNCEMENTS:
            return
        if other.older_than(own):
            self._older_at = time.monotonic()
            self._conflict = other.conflict
            self._change_phase()
        else:
            name = f"{other.node} on host {other.host!r:.80}, process {other.process}"
            self._node.report("second graph", ReportLevel.WARNING, f"{name}, is another robot's: it makes way")

    def _change_phase(self) -> None:
        """Changes the phase of the node to the one that its planner and the announcements of older graphs require."""
        node = self._node
        now = time.monotonic()
        before = node.phase
        phase = self._required_phase(now)
        if phase is not Phase.DRIVING:
            node.report("conflict", ReportLevel.ERROR, self._conflict)
        if phase is before:
            return
        if phase is Phase.DRIVING:
            self._heard.clear()
            node.withdraw("conflict")
            text = f"no other robot has announced itself for {ANNOUNCED_S:g} s: this one can be driven again"
            node.report("drives again", ReportLevel.WARNING, text)
        node.enter(phase, self._conflict)

    def _required_phase(self, now: float) -> Phase:
        if now - self._older_at > ANNOUNCED_S:
            return Phase.DRIVING
        if self._node.get_fully_qualified_name() == self._planner:
            moves = self._node.moves or self._node.phase is Phase.DRIVING
        else:
            moves = self._plan != Phase.SILENT and now - self._planned_at <= ANNOUNCED_S
        return Phase.STOPPING if moves else Phase.SILENT

    def _check_publishers(self, topic: str) -> None:
        names = sorted(set(map(node_name, of_known_nodes(self._node.get_publishers_info_by_topic(topic)))))
        if len(names) > 1:
            text = (
                f"{enumerated(names)} publish {topic} at once, which must have one publisher: "
                "stop the others, or start them in another ROS_DOMAIN_ID"
            )
            self._node.report(f"publishers of {topic}", ReportLevel.ERROR, text)


class OlderGraphSearch:
    """Announces nodes that start, and listens for older graphs in the same domain and namespace, once constructed."""

    def __init__(self, *names: str) -> None:
        """`names` are those of the nodes that start in this process."""
        self._names = names
        self._lock = ExitStack()
        self._probe = Node(names[0], enable_rosout=False, start_parameter_services=False)
        self._spinner = Spinner()
        self._heard: list[String] = []
        owns = self._owns()
        self._joins = local_announcement.joins_running_graph(owns)  # and does as that graph does
        self._other = None if self._joins else local_announcement.reserve(owns, self._lock)
        self._spinner.add_node(self._probe)
        if self._other is None:
            publisher = self._probe.create_publisher(String, TOPIC, LATCHED_HISTORY)
            for own in owns:
                publisher.publish(messages.text(own.text))
            self._probe.create_subscription(String, TOPIC, self._heard.append, LATCHED_HISTORY)
        self._deadline = time.monotonic() + LISTENING_TIME_S

    def finish(self) -> ExitStack:
        """Listens for the rest of LISTENING_TIME_S. Raises ParameterError if another graph runs, EndedEarly.

        Returns what has to be closed when the nodes of this process have ended.
        """
        deadline = max(self._deadline, time.monotonic() + READING_TIME_S)
        while not (self._joins or self._other or StopRequest.received) and (left := deadline - time.monotonic()) > 0:
            self._spinner.spin_once(timeout_sec=left)
            self._other = self._older()
        self._spinner.shutdown(timeout_sec=0.0)
        self._probe.destroy_node()
        if self._other or StopRequest.received:
            self._lock.close()
        if self._other:
            raise ParameterError(f"{self._names[0]} {self._other.refusal}")
        if StopRequest.received:
            raise EndedEarly
        return self._lock

    def _older(self) -> NodePresence | None:
        """A node of an older graph that was heard."""
        owns = self._owns()
        others = (NodePresence.parsed(message.data) for message in self._heard)
        older = (o for o in others if o is not None and any(own.excludes(o) and o.older_than(own) for own in owns))
        return next(older, None)

    def _owns(self) -> list[NodePresence]:
        probe = NodePresence.of(self._probe)
        namespace = self._probe.get_namespace().rstrip("/")
        return [probe, *(probe._replace(node=f"{namespace}/{name}") for name in self._names[1:])]


def create_exclusive_node(name: str, make: Callable[[], SomeNode]) -> SomeNode:
    """Creates a node that may run only once per robot, and announces its graph.

    Raises ParameterError if another graph runs in the same domain and namespace, EndedEarly.
    """
    with OlderGraphSearch(name).finish() as lock:
        node = make()
        node.closing.push(lock.pop_all())
    GraphPresence(node)
    return node
