"""Requests gait_planner to stop or to sit down after a servo fault."""

from __future__ import annotations

import time
from collections.abc import Callable

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.driver.telemetry import PlannerRequest

DOWN = ("", RobotState.UNKNOWN.value, RobotState.SITTING.value)  # gait_state of a robot that is not on its feet
REPEAT_PERIOD_S = 1.0  # between two calls while the fault lasts


class PlannerRequests:
    """Calls the planner's services; `seated` is called when the planner reports that the robot sits."""

    def __init__(self, node: GuardedNode, seated: Callable[[], None]) -> None:
        self._seated = seated
        self._state, self._since = "", time.monotonic()
        self._due = 0.0
        self._clients = {
            request: node.create_client(Trigger, request.value) for request in (PlannerRequest.STOP, PlannerRequest.SIT)
        }
        node.create_subscription(String, "gait_state", self.on_gait_state, LATCHED)

    def on_gait_state(self, message: String) -> None:
        """Records the robot's state and since when it lasts."""
        if message.data != self._state:
            self._state, self._since = message.data, time.monotonic()

    @property
    def reachable(self) -> bool:
        """Whether the planner's services are available."""
        return bool(self._clients[PlannerRequest.SIT].service_is_ready())

    @property
    def down_time(self) -> float:
        """For how long [s] the robot has been sitting, as the planner reports it; 0 while it stands or moves."""
        return time.monotonic() - self._since if self._state in DOWN else 0.0

    def request(self, request: PlannerRequest) -> None:
        """Called every tick with the request for the planner; repeats the service call until the robot does it."""
        now = time.monotonic()
        if request is PlannerRequest.SIT and self._state == RobotState.SITTING.value:
            self._seated()
        if request is PlannerRequest.NOTHING:
            self._due = 0.0
            return
        busy = request is PlannerRequest.SIT and self._state in (RobotState.SINKING.value, RobotState.SITTING.value)
        if now >= self._due and not busy and self._clients[request].service_is_ready():
            self._due = now + REPEAT_PERIOD_S
            self._clients[request].call_async(Trigger.Request())
