# SPDX-License-Identifier: Apache-2.0
"""Random input for a running robot: messages on every topic, calls of every service, changes of every parameter."""

from __future__ import annotations

import random
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterType
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.qos import QoSProfile, ReliabilityPolicy
from support.random_messages import RandomMessages, interface

LEFT_OUT = ("/clock", "/odom", "/gait_state", "ros_discovery_info")  # what tests look at, and the middleware's topic
DISCOVERY_S = 3.0
MAX_PENDING = 20  # calls without a response
DEEPEST_HISTORY, SERVICE_HISTORY = 20, 10  # messages that a subscription and a service of a robot keep at most
RELIABLE, BEST_EFFORT = QoSProfile(depth=10), QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


class RandomOperator:
    """Sends one random input per call of `act`; `words` are names that are valid on the robot."""

    def __init__(self, bench: Any, seed: int, words: tuple[str, ...], left_out: tuple[str, ...] = ()) -> None:
        """No messages are sent on the topics that are `left_out`."""
        self._bench, self._node, self._rng = bench, bench.probe, random.Random(seed)
        self._messages = RandomMessages(self._rng, words)
        self._publishers: dict[str, Any] = {}
        self._clients: dict[str, Any] = {}
        self._pending: list[Any] = []
        self.initial: dict[str, list[ParameterMessage]] = {}  # parameters by node, before any change
        self._left_out = (*LEFT_OUT, *left_out)

    def read_parameters(self, *nodes: str) -> None:
        """Stores the parameters of these nodes in `initial`."""
        for node in nodes:
            names = self._bench.call(ListParameters, f"{node}/list_parameters").result.names
            values = self._bench.call(
                GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names)
            ).values
            self.initial[node] = [
                ParameterMessage(name=name, value=value) for name, value in zip(names, values, strict=True)
            ]

    def act(self) -> None:
        """Sends one random message, request or parameter."""
        share = self._rng.random()
        if share < 0.85:
            self._publish()
        elif share < 0.95:
            self._call_any()
        else:
            self._change_parameter()

    def send_long_texts(self, period: float) -> None:
        """Sends long texts, one per `period` [s]: to each topic and service as many as its history depth.

        The middleware keeps a buffer of the size of the largest message for each entry of the history.
        """
        topics, services = self._topics(), self._services()
        for name, kind in topics:
            self._publisher(name, kind)
        for name, kind in services:
            self._client(name, kind)
        self._bench.spin(DISCOVERY_S)
        for name, kind in topics * DEEPEST_HISTORY:
            self._publisher(name, kind).publish(self._messages.message(interface(kind), 1.0))
            self._bench.spin(period)
        for name, kind in services * SERVICE_HISTORY:
            self._call(name, kind, self._messages.message(interface(kind).Request, 1.0))
            self._bench.spin(period)

    def _topics(self) -> list[tuple[str, str]]:
        """Name and type of the topics that have subscribers."""
        return [
            (name, kinds[0])
            for name, kinds in self._node.get_topic_names_and_types()
            if name not in self._left_out and self._node.count_subscribers(name)
        ]

    def _services(self) -> list[tuple[str, str]]:
        """Name and type of the services of other nodes."""
        found = self._node.get_service_names_and_types()
        return [(name, kinds[0]) for name, kinds in found if not name.startswith(f"/{self._node.get_name()}/")]

    def _publisher(self, name: str, kind: str) -> Any:
        if name not in self._publishers:
            qos = self._rng.choice((RELIABLE, BEST_EFFORT))
            self._publishers[name] = self._node.create_publisher(interface(kind), name, qos)
        return self._publishers[name]

    def _client(self, name: str, kind: str) -> Any:
        if name not in self._clients:
            self._clients[name] = self._node.create_client(interface(kind), name)
        return self._clients[name]

    def _publish(self) -> None:
        if topics := self._topics():  # likewise
            name, kind = self._rng.choice(topics)
            self._publisher(name, kind).publish(self._messages.message(interface(kind)))

    def _call_any(self) -> None:
        if services := self._services():  # none before they are discovered
            name, kind = self._rng.choice(services)
            self._call(name, kind, self._messages.message(interface(kind).Request))

    def _change_parameter(self) -> None:
        node = self._rng.choice(list(self.initial))
        parameter = self._rng.choice([each for each in self.initial[node] if each.name != "use_sim_time"])
        value = self._messages.message(type(parameter.value))
        value.type = self._rng.choice((parameter.value.type, parameter.value.type, self._rng.randrange(10)))
        if self._rng.random() < 0.5 and value.type == ParameterType.PARAMETER_DOUBLE:
            value.double_value = parameter.value.double_value * self._rng.uniform(0.5, 2.0)
        changed = ParameterMessage(name=self._rng.choice((parameter.name,) * 9 + ("unknown",)), value=value)
        self._call(
            f"{node}/set_parameters", "rcl_interfaces/srv/SetParameters", SetParameters.Request(parameters=[changed])
        )

    def _call(self, name: str, kind: str, request: Any) -> None:
        self._pending = [future for future in self._pending if not future.done()][-MAX_PENDING:]
        client = self._client(name, kind)
        if len(self._pending) < MAX_PENDING and client.service_is_ready():
            self._pending.append(client.call_async(request))
