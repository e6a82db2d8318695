"""Publishers and subscriptions of any node, as discovery describes them."""

from __future__ import annotations

from collections.abc import Iterable

from rclpy.topic_endpoint_info import TopicEndpointInfo

UNKNOWN_NAME = "_NODE_NAME_UNKNOWN_"  # in place of the name of a node that has just started, or has ended


def node_name(info: TopicEndpointInfo) -> str:
    """Returns the fully qualified name of the node of a publisher or subscription."""
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


def of_known_nodes(endpoints: Iterable[TopicEndpointInfo]) -> list[TopicEndpointInfo]:
    """Returns the publishers or subscriptions whose nodes are discovered: shortly after a start others are not yet."""
    return [info for info in endpoints if info.node_name != UNKNOWN_NAME]
