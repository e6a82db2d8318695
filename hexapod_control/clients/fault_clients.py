# SPDX-License-Identifier: Apache-2.0
"""The nodes of `hexapod arm`, `leg`, `recover`, `status` and others: requests after a fault, and reports."""

from __future__ import annotations

from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.clients import service_request
from hexapod_control.clients.bounded_wait import ARMING_S, DISCOVERY_S, wait_until
from hexapod_control.clients.robot_search import why_no_robot
from hexapod_control.clients.service_request import ServiceRequest
from hexapod_control.config.errors import MAX_ANSWER, RobotError
from hexapod_control.core.names import enumerated, shortened
from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.ros.client_node import ClientNode
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED

TOPICS = {"lost": "lose_leg", "back": "return_leg"}  # by request
ANSWER_S = 5.0  # for the robot to answer
CHANGE_S = 20.0  # for the robot to come to rest and to fold or unfold a leg
RECOVERY_S = 60.0  # for the robot to fold its legs and to stand up
STANDING = RobotState.STANDING.value
NOT_UPRIGHT = tuple(s.value for s in (RobotState.FALLEN, RobotState.CARRIED, RobotState.FAULT))  # before a recovery


class LegClient(ClientNode):
    """Context manager: a node that requests lost legs and follows `lost_legs`."""

    def __init__(self, namespace: str) -> None:
        super().__init__("leg", namespace)
        self._requests = {word: self._node.create_publisher(String, topic, COMMAND) for word, topic in TOPICS.items()}
        self._lost: set[str] | None = None
        self._refusal = ""
        self._node.create_subscription(String, "lost_legs", self._on_lost, LATCHED)
        self._refusals = self._node.create_subscription(String, "leg_refused", self._on_refusal, EVENTS)

    def _on_lost(self, message: String) -> None:
        self._lost = set(filter(None, message.data.split(",")))

    def _on_refusal(self, message: String) -> None:
        self._refusal = message.data

    def _is_ready(self) -> bool:
        heard = all(publisher.get_subscription_count() for publisher in self._requests.values())
        return heard and self._lost is not None and bool(self._refusals.get_publisher_count())

    def request(self, word: str, leg: str) -> None:
        """Requests that a leg is folded away (`lost`) or unfolded (`back`), and waits for it.

        Raises RobotError if that fails.
        """
        if not wait_until(self._is_ready, DISCOVERY_S, self._spin_once):
            raise RobotError(f"no robot subscribes to the topic lose_leg: {why_no_robot(self.robot_namespace)}")
        self._requests[word].publish(String(data=leg))
        if not wait_until(lambda: bool(self._refusal) or self._is_done(word, leg), CHANGE_S, self._spin_once):
            change = "folded away" if word == "lost" else "unfolded"
            raise RobotError(
                f"{leg} was not {change} within {CHANGE_S:g} s: is the robot on its feet, or was it stopped?"
            )
        if self._refusal:
            raise RobotError(self._refusal)

    def _is_done(self, word: str, leg: str) -> bool:
        return self._lost is not None and (leg in self._lost) == (word == "lost")


class RequestClient(ClientNode):
    """Context manager: a node that makes one request to a robot."""

    def request(self, name: str) -> str:
        """Makes a request of `operator_requests`. Returns the answer; raises RobotError if it is refused."""
        clients = service_request.clients(self._node, name)
        if not wait_until(lambda: all(c.service_is_ready() for c in clients.values()), DISCOVERY_S, self._spin_once):
            missing = enumerated(clients)
            raise RobotError(f"no robot offers {missing}: {why_no_robot(self.robot_namespace)}")
        request = ServiceRequest(name, clients)
        limit = ARMING_S if "arm" in clients else ANSWER_S
        if not wait_until(lambda: request.success is not None, limit, self._spin_once):
            raise RobotError(f"the robot did not answer within {limit:g} s")
        if not request.success:
            raise RobotError(request.answer)
        return request.answer


class RecoveryClient(ClientNode):
    """Context manager: a node that calls the service `recover`."""

    def __init__(self, namespace: str) -> None:
        super().__init__("recovery", namespace)
        self._client = self._node.create_client(Trigger, "recover")
        self._states: list[str] = []  # every gait_state since the start, the present one first
        self._node.create_subscription(String, "gait_state", self._on_state, LATCHED)

    def _on_state(self, message: String) -> None:
        self._states.append(message.data)

    def recover(self) -> str:
        """Makes the robot stand up and waits until it stands. Returns what it did.

        Raises RobotError if it refuses, does not answer or does not stand in the end.
        """
        if not wait_until(lambda: bool(self._client.service_is_ready()), DISCOVERY_S, self._spin_once):
            raise RobotError(f"no robot offers the service recover: {why_no_robot(self.robot_namespace)}")
        answer = self._client.call_async(Trigger.Request())
        if not wait_until(answer.done, ANSWER_S, self._spin_once):
            raise RobotError(f"the robot did not answer within {ANSWER_S:g} s")
        if not answer.result().success:
            raise RobotError(answer.result().message)
        wait_until(self._ended, RECOVERY_S, self._spin_once)
        state = self._states[-1] if self._states else "unknown"
        if state != STANDING:
            raise RobotError(
                f"it began to recover and does not stand (gait_state: {state}): look at its legs, help it onto its "
                "belly, then try again"
            )
        return "the robot stands again"

    def _ended(self) -> bool:
        """Whether the robot stands, or has given up since it began to rise."""
        begun = next((k for k, state in enumerate(self._states) if state not in NOT_UPRIGHT), len(self._states))
        return any(state in (STANDING, *NOT_UPRIGHT) for state in self._states[begun:])


class DiagnosticsListener(ClientNode):
    """Context manager: a node that receives /diagnostics of one robot."""

    def __init__(self, namespace: str) -> None:
        super().__init__("status", namespace)
        self._prefix = f"{self._node.get_namespace().rstrip('/')}/"
        self._nodes: dict[str, dict[str, Any]] = {}
        self._node.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, EVENTS)

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name.startswith(self._prefix):
                values = {shortened(pair.key): shortened(pair.value, MAX_ANSWER) for pair in status.values}
                self._nodes[shortened(status.name, MAX_ANSWER)] = {
                    "level": status.level[0],
                    "message": shortened(status.message, MAX_ANSWER),
                    "values": values,
                }

    def listen(self, seconds: float) -> dict[str, dict[str, Any]]:
        """Returns the newest status of every node, `seconds` [s] after the first one; empty without one."""
        wait_until(lambda: bool(self._nodes), DISCOVERY_S, self._spin_once)
        if self._nodes:
            wait_until(lambda: False, seconds, self._spin_once)
        return self._nodes
