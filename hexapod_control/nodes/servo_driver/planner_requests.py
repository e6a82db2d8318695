"""What servo_driver asks of gait_planner when the servos are in trouble: stop, or sit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import LATCHED
from hexapod_control.servos.driver.telemetry import PlannerRequest

DOWN = ("", RobotState.UNKNOWN.value, RobotState.SITTING.value)
AGAIN = 1.0  # [s] between two calls while the trouble lasts


class PlannerRequests:
    """Calls the planner's services; `seated` is called when it says that the robot sits."""

    def __init__(self, node: GuardedNode, seated: Callable[[], None]) -> None:
        self._seated = seated
        self._state, self._since = "", time.monotonic()
        self._due = 0.0
        self._clients = {
            wish: node.create_client(Trigger, wish.value) for wish in (PlannerRequest.STOP, PlannerRequest.SIT)
        }
        node.create_subscription(String, "gait_state", self.on_gait_state, LATCHED)

    def on_gait_state(self, message: Any) -> None:
        """What the robot is doing."""
        if message.data != self._state:
            self._state, self._since = message.data, time.monotonic()

    @property
    def planner_is_there(self) -> bool:
        """Whether somebody can be asked."""
        return bool(self._clients[PlannerRequest.SIT].service_is_ready())

    @property
    def down(self) -> float:
        """For how long [s] the planner has not had the robot on its feet or on the way; 0 if it has."""
        return time.monotonic() - self._since if self._state in DOWN else 0.0

    def tell(self, wish: PlannerRequest) -> None:
        """Asks for what is wished, again and again while it is."""
        now = time.monotonic()
        if wish is PlannerRequest.SIT and self._state == RobotState.SITTING.value:
            self._seated()
        if wish is PlannerRequest.NOTHING:
            self._due = 0.0
            return
        busy = wish is PlannerRequest.SIT and self._state in (RobotState.SINKING.value, RobotState.SITTING.value)
        if now >= self._due and not busy and self._clients[wish].service_is_ready():
            self._due = now + AGAIN
            self._clients[wish].call_async(Trigger.Request())
