# SPDX-License-Identifier: Apache-2.0
"""Announcements among the nodes of one computer that need no discovery: DDS may take seconds to discover a node.

An announcement is the name of an abstract Unix socket. The kernel lists these names per network namespace, whose nodes
also reach each other by DDS, and removes a name when its process ends for any reason. As a name exists only once, it
also serves as a lock: of two graphs that are started at one moment, one gets the name of the robot.
"""

from __future__ import annotations

import errno
import pwd
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from hexapod_control.nodes.announcements.node_presence import NodePresence, domain
from hexapod_control.ros.monitoring.graph_identity import machine

SOCKETS = Path("/proc/net/unix")
PREFIX = "hexapod_node"  # of nodes
# of the lock of a robot, and of the process that has it
LOCK = "hexapod_lock"
OWNER = "hexapod_owner"
SEPARATOR = ";"
PATH_COLUMN = 7  # of SOCKETS; abstract names begin with @ there
PATIENCE_S = 1.0  # for the process that has the lock to say which one it is, or to give it back
RETRY_S = 0.01


class LocalNode(NamedTuple):
    """A node of this computer, in any domain and namespace. Its field `presence.age` is 0."""

    domain: str
    presence: NodePresence

    @property
    def user(self) -> str:
        """Name or number of the user who runs it; empty if it has ended, or runs in another container."""
        try:
            lines = Path("/proc", str(self.presence.process), "status").read_text(errors="replace").splitlines()
        except OSError:
            return ""
        number = next(int(line.split()[2]) for line in lines if line.startswith("Uid:"))  # the effective one
        try:
            return pwd.getpwuid(number).pw_name
        except KeyError:
            return str(number)


@contextmanager
def announce(node: NodePresence) -> Iterator[None]:
    """Announces a node for as long as the context lasts.

    A node whose name is too long for a socket, about 50 characters with its namespace, is only found by DDS.
    """
    with ExitStack() as stack:
        with suppress(OSError):  # no sockets here, or the name is too long or taken by another object of this process
            _bind(_name(PREFIX, node), stack)
        yield


def joins_running_graph(owns: Sequence[NodePresence]) -> bool:
    """Whether other nodes of the graph of these nodes, which start in one process, run: they are started again."""
    nodes = [node for node in _nodes_beside(owns[0]) if node.graph and node.graph == owns[0].graph]
    return bool(nodes) and not _excluded(owns, nodes)


def reserve(owns: Sequence[NodePresence], stack: ExitStack) -> NodePresence | None:
    """Reserves the robot of this namespace for the graph of these nodes, until `stack` is closed.

    Returns the node of another graph that has it or still runs, whatever its age, else None. What cannot be decided
    here is left to DDS.
    """
    own = owns[0]
    deadline = time.monotonic() + PATIENCE_S
    while (owner := _owner(own, stack)) is None:
        if time.monotonic() >= deadline:
            return None
        time.sleep(RETRY_S)
    if owner.graph == own.graph and (owner.graph or owner.process == own.process):
        return next(iter(_excluded(owns, _nodes_beside(own))), None)
    return owner


def _excluded(owns: Sequence[NodePresence], others: Sequence[NodePresence]) -> list[NodePresence]:
    return [other for other in others if any(own.excludes(other) for own in owns)]


def _owner(own: NodePresence, stack: ExitStack) -> NodePresence | None:
    """The node that has the lock, `own` if it gets it or there are no locks here; None if that cannot be told yet."""
    with ExitStack() as locks:
        try:
            _bind(SEPARATOR.join((LOCK, domain(), _robot(own))), locks)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                return own
            return next((node for node in _found(OWNER) if _robot(node) == _robot(own)), None)
        with suppress(OSError):
            _bind(_name(OWNER, own), locks)
        stack.push(locks.pop_all())
        return own


def _robot(node: NodePresence) -> str:
    """What a lock stands for: the namespace of a graph, or a node that was started by hand."""
    return f"{node.namespace}/" if node.graph else node.node


def _nodes_beside(own: NodePresence) -> list[NodePresence]:
    return running(own.namespace)


def running(namespace: str) -> list[NodePresence]:
    """Nodes of this computer in a namespace and the ROS_DOMAIN_ID of this process. Their field `age` is 0."""
    return [node for node in _found(PREFIX) if node.namespace == namespace.rstrip("/")]


def everywhere() -> list[LocalNode]:
    """All nodes of this computer that a process of this network namespace can find."""
    return list(_parsed(PREFIX))


def _found(prefix: str) -> list[NodePresence]:
    return [node.presence for node in _parsed(prefix) if node.domain == domain()]


def _name(prefix: str, node: NodePresence) -> str:
    return SEPARATOR.join((prefix, domain(), str(node.process), repr(node.started), node.graph, node.node))


def _bind(name: str, stack: ExitStack) -> None:
    announcement = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
    announcement.bind("\0" + name)


def _parsed(prefix: str) -> Iterator[LocalNode]:
    """The nodes whose names of sockets have this prefix; any other name is left out."""
    try:
        lines = SOCKETS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        first, *fields = line.split(None, PATH_COLUMN)[-1].lstrip("@").split(SEPARATOR)
        with suppress(ValueError):
            its_domain, process, started, graph, node = fields
            presence = NodePresence(node, graph, socket.gethostname(), machine(), int(process), float(started), 0.0)
            if first == prefix:
                yield LocalNode(its_domain, presence)
