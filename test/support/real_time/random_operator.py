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
MAX_PENDING = 20  # calls without a response
RELIABLE, BEST_EFFORT = QoSProfile(depth=10), QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)


class RandomOperator:
    """Sends one random input per call of `act`; `words` are names that the robot knows."""

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
        """Notes the parameters of these nodes, so that `restore_parameters` can set them again."""
        for node in nodes:
            names = self._bench.call(ListParameters, f"{node}/list_parameters").result.names
            values = self._bench.call(
                GetParameters, f"{node}/get_parameters", GetParameters.Request(names=names)
            ).values
            self.initial[node] = [
                ParameterMessage(name=name, value=value) for name, value in zip(names, values, strict=True)
            ]

    def restore_parameters(self) -> None:
        """Sets all parameters to their initial values, one by one: read-only ones are refused."""
        for node, parameters in self.initial.items():
            for parameter in parameters:
                request = SetParameters.Request(parameters=[parameter])
                self._bench.call(SetParameters, f"{node}/set_parameters", request)

    def act(self) -> None:
        """Sends one random message, request or parameter."""
        share = self._rng.random()
        if share < 0.85:
            self._publish()
        elif share < 0.95:
            self._call_any()
        else:
            self._change_parameter()

    def _publish(self) -> None:
        topics = [
            (name, kinds[0])
            for name, kinds in self._node.get_topic_names_and_types()
            if name not in self._left_out and self._node.count_subscribers(name)
        ]
        name, kind = self._rng.choice(topics)
        if name not in self._publishers:
            qos = self._rng.choice((RELIABLE, BEST_EFFORT))
            self._publishers[name] = self._node.create_publisher(interface(kind), name, qos)
        self._publishers[name].publish(self._messages.message(interface(kind)))

    def _call_any(self) -> None:
        services = [(name, kinds[0]) for name, kinds in self._node.get_service_names_and_types()]
        name, kind = self._rng.choice(
            [each for each in services if not each[0].startswith(f"/{self._node.get_name()}/")]
        )
        self._call(name, interface(kind), self._messages.message(interface(kind).Request))

    def _change_parameter(self) -> None:
        node = self._rng.choice(list(self.initial))
        parameter = self._rng.choice([each for each in self.initial[node] if each.name != "use_sim_time"])
        value = self._messages.message(type(parameter.value))
        value.type = self._rng.choice((parameter.value.type, parameter.value.type, self._rng.randrange(10)))
        if self._rng.random() < 0.5 and value.type == ParameterType.PARAMETER_DOUBLE:
            value.double_value = parameter.value.double_value * self._rng.uniform(0.5, 2.0)
        changed = ParameterMessage(name=self._rng.choice((parameter.name,) * 9 + ("unknown",)), value=value)
        self._call(f"{node}/set_parameters", SetParameters, SetParameters.Request(parameters=[changed]))

    def _call(self, name: str, kind: Any, request: Any) -> None:
        self._pending = [future for future in self._pending if not future.done()][-MAX_PENDING:]
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        if len(self._pending) < MAX_PENDING and self._clients[name].service_is_ready():
            self._pending.append(self._clients[name].call_async(request))
