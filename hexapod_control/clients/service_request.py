# SPDX-License-Identifier: Apache-2.0
"""Requests of an operator: services of the robot that are called one after the other."""

from __future__ import annotations

from collections.abc import Mapping

from rclpy.client import Client
from rclpy.node import Node
from rclpy.task import Future
from std_srvs.srv import SetBool, Trigger

from hexapod_control.config.errors import MAX_ANSWER
from hexapod_control.core.names import shortened
from hexapod_control.ros.operator_requests import STEPS


def clients(node: Node, *requests: str) -> dict[str, Client]:
    """The clients that these requests need, by service."""
    steps = [step for name in requests for step in STEPS[name]]
    return {service: node.create_client(SetBool if service == "estop" else Trigger, service) for service, _ in steps}


class ServiceRequest:
    """Calls the services of one request, each when the one before has succeeded, while the node spins."""

    def __init__(self, name: str, clients: Mapping[str, Client]) -> None:
        self.name = name
        self.success: bool | None = None  # None while it runs
        self.answer = ""  # of the last service that was called
        self._clients = clients
        self._steps = list(STEPS[name])
        self._call()

    def _call(self) -> None:
        service, message = self._steps.pop(0)
        if self._clients[service].service_is_ready():
            self._clients[service].call_async(message).add_done_callback(self._take)
        else:
            self.success = False
            self.answer = f"no node offers the service {service}"

    def _take(self, future: Future) -> None:
        response = future.result()
        self.answer = shortened(response.message, MAX_ANSWER)
        if response.success and self._steps:
            self._call()
        else:
            self.success = response.success
