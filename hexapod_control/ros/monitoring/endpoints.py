# SPDX-License-Identifier: Apache-2.0
"""Publishers, subscriptions and clients of any node, as discovery describes them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

from rclpy.node import Node, NodeNameNonExistentError
from rclpy.topic_endpoint_info import TopicEndpointInfo

UNKNOWN_CALLER = "?"  # of a service
UNKNOWN_NAME = "_NODE_NAME_UNKNOWN_"  # of a node that has just started or ended, or of a DDS program


def node_name(info: TopicEndpointInfo) -> str:
    """Returns the fully qualified name of the node of a publisher or subscription, or "an unknown node"."""
    if info.node_name == UNKNOWN_NAME:
        return "an unknown node"
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


def of_known_nodes(endpoints: Iterable[TopicEndpointInfo]) -> list[TopicEndpointInfo]:
    """Returns the publishers or subscriptions whose nodes are discovered."""
    return [info for info in endpoints if info.node_name != UNKNOWN_NAME]


def callers(node: Node, service: str) -> list[str]:
    """Returns the names of the nodes that may call a service that `node` offers, `node` excepted; or UNKNOWN_CALLER."""
    name = node.resolve_service_name(service)
    found = set()
    for each, namespace in node.get_node_names_and_namespaces():
        with contextlib.suppress(NodeNameNonExistentError):  # it has just ended
            if any(client == name for client, _ in node.get_client_names_and_types_by_node(each, namespace)):
                found.add(f"{namespace.rstrip('/')}/{each}")
    return sorted(found - {node.get_fully_qualified_name()}) or [UNKNOWN_CALLER]
