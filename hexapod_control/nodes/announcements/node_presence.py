"""The announcement of a node and its graph, and the rule for which of two graphs is the older one."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from typing import NamedTuple

from rclpy.node import Node

from hexapod_control.ros.monitoring.graph_identity import machine, started_at, started_graph

SIMULTANEOUS_S = 2.0  # difference of the ages of graphs on two computers below which they cannot be ordered


def domain() -> str:
    """Returns the ROS domain of this process."""
    return os.environ.get("ROS_DOMAIN_ID") or "0"


class NodePresence(NamedTuple):
    """A running node of a robot."""

    node: str  # fully qualified name
    graph: str  # id of the nodes started together; empty: started by hand
    host: str
    machine: str  # boot id: host names are not unique
    process: int
    started: float  # [s] steady time of that computer at which the graph was started
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
        """Whether this node's graph was started before another's. Both nodes come to the same result.

        Steady clocks of two computers differ, so ages are compared between them, with a tolerance of SIMULTANEOUS_S.
        """
        if self.machine != other.machine and abs(self.age - other.age) > SIMULTANEOUS_S:
            return self.age > other.age
        started = (self.started, other.started) if self.machine == other.machine else (0.0, 0.0)
        own, others = (self.graph, self.machine, self.process), (other.graph, other.machine, other.process)
        return (started[0], own) < (started[1], others)

    @property
    def refusal(self) -> str:
        """Why a younger graph may not drive."""
        return (
            f"refuses to drive: {self.node} of another robot runs in this namespace and in ROS_DOMAIN_ID {domain()}, "
            f"on host {self.host!r:.80}, process {self.process}: stop that one, or start this one with another "
            "ROS_DOMAIN_ID or with namespace:=NAME (hexapod sim: --namespace NAME)"
        )
