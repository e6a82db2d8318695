# SPDX-License-Identifier: Apache-2.0
"""QoS that a user gives for a topic of a node, by the parameters of rclcpp and rclpy for it.

`qos_overrides.TOPIC.publisher.POLICY` or `qos_overrides.TOPIC.subscription.POLICY`, with the full name of the topic.
Only those that are given are declared: one parameter for each policy of each topic would be some hundred.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, LivelinessPolicy, QoSProfile, ReliabilityPolicy

from hexapod_control.config.schema import did_you_mean
from hexapod_control.core.names import quoted, shortened
from hexapod_control.ros.parameters import ParameterError

PREFIX = "qos_overrides."
PUBLISHER = "publisher"
SUBSCRIPTION = "subscription"
MAX_DEPTH = 10_000


def _one_of(kind: Any) -> Callable[[object], Any]:
    names = {name.lower(): value for name, value in kind.__members__.items() if name.isupper() and name != "UNKNOWN"}

    def read(value: object) -> Any:
        if value not in names:
            raise ValueError(f"must be one of {', '.join(sorted(names))}, is {shortened(repr(value))}")
        return names[value]

    return read


def _depth(value: object) -> int:
    if type(value) is not int or not 1 <= value <= MAX_DEPTH:
        raise ValueError(f"must be a whole number of messages in [1, {MAX_DEPTH}], is {shortened(repr(value))}")
    return value


def _duration(value: object) -> Duration:
    if type(value) is not int or value < 0:
        raise ValueError(f"must be a whole number of nanoseconds, is {shortened(repr(value))}; 1000000000 is a second")
    return Duration(nanoseconds=value)


POLICIES: Mapping[str, Callable[[object], Any]] = {
    "reliability": _one_of(ReliabilityPolicy),
    "durability": _one_of(DurabilityPolicy),
    "history": _one_of(HistoryPolicy),
    "depth": _depth,
    "deadline": _duration,
    "lifespan": _duration,
    "liveliness": _one_of(LivelinessPolicy),
    "liveliness_lease_duration": _duration,
}
"""How the value of each policy is read; ValueError for one that cannot be used."""


def overridden(
    node: Node, given: Mapping[str, Any], entity: str, topic: str, profile: QoSProfile | int
) -> QoSProfile | int:
    """Returns the profile [or depth] of a publisher or subscription, with the policies of the parameters `given`.

    Declares these. Raises ParameterError.
    """
    prefix = f"{PREFIX}{node.resolve_topic_name(topic)}.{entity}."
    policies = [name.removeprefix(prefix) for name in given if name.startswith(prefix)]
    if not policies:
        return profile
    changed = QoSProfile(depth=profile) if isinstance(profile, int) else copy.copy(profile)
    for policy in policies:
        if policy not in POLICIES or (policy == "lifespan" and entity == SUBSCRIPTION):
            hint = did_you_mean(policy, tuple(POLICIES)) or f"known are {', '.join(POLICIES)}"
            raise ParameterError(f"{prefix}{policy}: a {entity} has no policy {quoted(policy)}; {hint}")
        try:
            setattr(changed, policy, POLICIES[policy](_declared(node, f"{prefix}{policy}", given[prefix + policy])))
        except ValueError as error:
            raise ParameterError(f"{prefix}{policy} {error}") from None
    return changed


def _declared(node: Node, name: str, parameter: Any) -> object:
    if not node.has_parameter(name):
        descriptor = ParameterDescriptor(description="QoS of the topic, as given at the start", read_only=True)
        node.declare_parameter(name, parameter.value, descriptor)
    return parameter.value
