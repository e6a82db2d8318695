# SPDX-License-Identifier: Apache-2.0
"""The announcement of a node and its graph, and the rule for which of two graphs is the older one."""

from __future__ import annotations

import json
import math
import os
import socket
import time
from typing import NamedTuple

from rclpy.node import Node

from hexapod_control.ros.monitoring.graph_identity import Phase, machine, started_at, started_graph

MAX_LENGTH = 2000  # characters of an announcement
MAX_UPTIME_S = 400.0 * 86400.0  # of any computer with a robot
MAX_DELAY_S = 5.0  # of an announcement from this computer
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
    phase: str = Phase.DRIVING.value

    @classmethod
    def of(cls, node: Node, phase: str = Phase.DRIVING.value) -> NodePresence:
        """The presence of a node of this process, with its present age."""
        started = started_at()
        name = node.get_fully_qualified_name()
        age = time.monotonic() - started
        return cls(name, started_graph(), socket.gethostname(), machine(), os.getpid(), started, age, phase)

    @property
    def namespace(self) -> str:
        """Namespace without a slash at its end: empty for none."""
        return self.node.rpartition("/")[0]

    @classmethod
    def parsed(cls, text: str) -> NodePresence | None:
        """Decodes an announcement; None for any other text, and for one with an implausible age."""
        try:
            found = cls(**json.loads(text)) if len(text) <= MAX_LENGTH else None
        except (ValueError, TypeError, RecursionError):
            return None
        return found if found is not None and found.is_plausible else None

    @property
    def is_plausible(self) -> bool:
        """Whether all fields have values that a running node can announce."""
        texts = all(isinstance(value, str) for value in (self.node, self.graph, self.host, self.machine, self.phase))
        numbers = all(isinstance(value, float) and math.isfinite(value) for value in (self.started, self.age))
        if not (texts and numbers and isinstance(self.process, int)):
            return False
        if min(self.started, self.age) < 0.0 or self.started + self.age > MAX_UPTIME_S:
            return False
        delay = time.monotonic() - self.started - self.age
        return self.machine != machine() or abs(delay) <= MAX_DELAY_S

    @property
    def text(self) -> str:
        """The announcement as JSON; the age, which alone changes with time, comes last."""
        fields = self._asdict()
        age = fields.pop("age")
        return json.dumps({**fields, "age": age})

    def excludes(self, other: NodePresence) -> bool:
        """Whether two nodes in one namespace cannot belong to one robot.

        Processes in two containers may have the same number, but not also the same start.
        """
        if (self.machine, self.process, self.started) == (other.machine, other.process, other.started):
            return False
        return self.node == other.node or bool(self.graph and other.graph and self.graph != other.graph)

    def older_than(self, other: NodePresence) -> bool:
        """Whether this node's graph was started before another's. Both nodes come to the same result.

        Steady clocks of two computers differ, so ages are compared between them, with a tolerance of SIMULTANEOUS_S.
        """
        if self.machine != other.machine and abs(self.age - other.age) > SIMULTANEOUS_S:
            return self.age > other.age
        started = (self.started, other.started) if self.machine == other.machine else (0.0, 0.0)
        own = (self.graph, self.machine, self.process)
        others = (other.graph, other.machine, other.process)
        return (started[0], own) < (started[1], others)

    @property
    def conflict(self) -> str:
        """Why a younger graph makes way for that of this node."""
        return (
            f"makes way for {self.node:.200} of another robot, which has run for longer in this namespace and in "
            f"ROS_DOMAIN_ID {domain()}, on host {self.host!r:.80}, process {self.process}: the feet go down, then the "
            "robot holds; stop, sit and estop work; stop one of the two, or start this one with another ROS_DOMAIN_ID "
            "or with namespace:=NAME (hexapod sim: --namespace NAME)"
        )

    @property
    def refusal(self) -> str:
        """Why another graph may not start."""
        return (
            f"refuses to drive: {self.node:.200} of another robot runs in this namespace and in ROS_DOMAIN_ID "
            f"{domain()}, on host {self.host!r:.80}, process {self.process}: stop that one, or start this one with "
            "another ROS_DOMAIN_ID or with namespace:=NAME (hexapod sim: --namespace NAME)"
        )
