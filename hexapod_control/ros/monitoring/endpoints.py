# SPDX-License-Identifier: Apache-2.0
"""Publishers and subscriptions of any node, as discovery describes them."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.topic_endpoint_info import TopicEndpointInfo

UNKNOWN_NAME = "_NODE_NAME_UNKNOWN_"  # of a node that has just started or ended, or of a DDS program


def node_name(info: TopicEndpointInfo) -> str:
    """Returns the fully qualified name of the node of a publisher or subscription, or "an unknown node"."""
    if info.node_name == UNKNOWN_NAME:
        return "an unknown node"
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


def of_known_nodes(endpoints: Iterable[TopicEndpointInfo]) -> list[TopicEndpointInfo]:
    """Returns the publishers or subscriptions whose nodes are discovered."""
    return [info for info in endpoints if info.node_name != UNKNOWN_NAME]
