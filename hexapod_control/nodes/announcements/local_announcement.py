"""Announcements among the nodes of one computer that need no discovery: DDS may take seconds to discover a node.

An announcement is the name of an abstract Unix socket. The kernel lists these names per network namespace, whose nodes
also reach each other by DDS, and removes a name when its process ends for any reason.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from hexapod_control.nodes.announcements.node_presence import NodePresence, domain
from hexapod_control.ros.monitoring.graph_identity import machine

SOCKETS = Path("/proc/net/unix")
PREFIX = "hexapod_node"
SEPARATOR = ";"
PATH_COLUMN = 7  # of SOCKETS; abstract names begin with @ there


@contextmanager
def announce(node: NodePresence) -> Iterator[None]:
    """Announces a node for as long as the context lasts.

    A node whose name is too long for a socket, about 50 characters with its namespace, is only found by DDS.
    """
    fields = (PREFIX, domain(), str(node.process), repr(node.started), node.graph, node.node)
    with ExitStack() as stack:
        with suppress(OSError):  # no sockets here, or the name is too long or taken by another object of this process
            announcement = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            announcement.bind("\0" + SEPARATOR.join(fields))
        yield


def running(namespace: str) -> list[NodePresence]:
    """Nodes of this computer in a namespace and the ROS_DOMAIN_ID of this process. Their field `age` is 0."""
    try:
        lines = SOCKETS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found = (_parsed(line.split(None, PATH_COLUMN)[-1]) for line in lines if PREFIX in line)
    return [node for node in found if node is not None and node.node.rpartition("/")[0] == namespace.rstrip("/")]


def _parsed(name: str) -> NodePresence | None:
    """A node of this domain from the name of its socket; None for any other name."""
    prefix, *fields = name.lstrip("@").split(SEPARATOR)
    try:
        its_domain, process, started, graph, node = fields
        found = NodePresence(node, graph, socket.gethostname(), machine(), int(process), float(started), 0.0)
    except ValueError:
        return None
    return found if prefix == PREFIX and its_domain == domain() else None
