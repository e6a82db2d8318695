"""What servo_driver asks of gait_planner when the servos are in trouble: stop, or sit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.core.plan import State
from hexapod_control.nodes.base import LATCHED, GuardedNode
from hexapod_control.servos.telemetry import Wish

AGAIN = 1.0  # [s] between two calls while the trouble lasts


class PlannerWishes:
    """Calls the planner's services; `seated` is called when it says that the robot sits."""

    def __init__(self, node: GuardedNode, seated: Callable[[], None]) -> None:
        self._seated = seated
        self._state = ""
        self._due = 0.0
        self._clients = {wish: node.create_client(Trigger, wish.value) for wish in (Wish.STOP, Wish.SIT)}
        node.create_subscription(String, "gait_state", self.on_gait_state, LATCHED)

    def on_gait_state(self, message: Any) -> None:
        """What the robot is doing."""
        self._state = message.data

    def tell(self, wish: Wish) -> None:
        """Asks for what is wished, again and again while it is."""
        now = time.monotonic()
        if wish is Wish.SIT and self._state == State.SITTING.value:
            self._seated()
        if wish is Wish.NOTHING:
            self._due = 0.0
            return
        busy = wish is Wish.SIT and self._state in (State.SINKING.value, State.SITTING.value)
        if now >= self._due and not busy and self._clients[wish].service_is_ready():
            self._due = now + AGAIN
            self._clients[wish].call_async(Trigger.Request())
