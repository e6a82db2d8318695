# SPDX-License-Identifier: Apache-2.0
"""Requests gait_planner to pause, to sit down, or to walk without a leg after a servo fault."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from std_msgs.msg import String
from std_srvs.srv import Trigger

from hexapod_control.core.planner.tick_plan import RobotState
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED
from hexapod_control.servos.driver.telemetry import PlannerRequest

DOWN = ("", RobotState.UNKNOWN.value, RobotState.SITTING.value)  # gait_state of a robot that does not stand
REPEAT_PERIOD_S = 1.0  # between two calls while the fault lasts
LEG_CHANGE_S = 20.0  # to come to rest and fold a leg; then the request is repeated


class PlannerRequests:
    """Passes the driver's requests to the planner and repeats them until they are carried out."""

    def __init__(
        self,
        node: GuardedNode,
        legs: Sequence[str],
        seated: Callable[[], None],
        folded: Callable[[frozenset[int]], None],
    ) -> None:
        """`legs` are the names of the legs in row order.

        `seated` is called while the planner reports that the robot sits after a request to sit, `folded` with the
        rows of the legs that the robot walks without.
        """
        self._legs = tuple(legs)
        self._seated = seated
        self._folded = folded
        self._refused = False  # whether the planner refused to walk without a leg
        self._state = ""
        self._since = time.monotonic()
        self._due = 0.0  # [s] steady time of the next call
        self._requested = PlannerRequest.NOTHING  # in the last tick
        self._sit = node.create_client(Trigger, PlannerRequest.SIT.value)
        self._pause = node.create_publisher(String, "pause", EVENTS)
        self._pause_due = 0.0  # [s] steady time of the next request to pause; 0: the planner need not pause
        self._lose_leg = node.create_publisher(String, "lose_leg", COMMAND)
        node.create_subscription(String, "gait_state", self.on_gait_state, LATCHED)
        node.create_subscription(String, "lost_legs", self.on_lost_legs, LATCHED)
        node.create_subscription(String, "leg_refused", self.on_leg_refused, EVENTS)

    def on_lost_legs(self, message: String) -> None:
        """Reports the legs that the robot walks without."""
        names = message.data.split(",")
        self._folded(frozenset(row for row, name in enumerate(self._legs) if name in names))
        self._due = 0.0

    def on_leg_refused(self, message: String) -> None:
        """Records that the planner refused to walk without the leg; `stop` is requested instead."""
        if self._requested is PlannerRequest.LOSE_LEG:
            self._refused = True
            self._due = 0.0

    def on_gait_state(self, message: String) -> None:
        """Records the robot's state and when it began."""
        if message.data != self._state:
            self._state = message.data
            self._since = time.monotonic()

    @property
    def reachable(self) -> bool:
        """Whether the planner's services are available."""
        return bool(self._sit.service_is_ready())

    @property
    def down_time(self) -> float:
        """Time [s] since the planner has reported that the robot sits; 0 while it stands or moves."""
        return time.monotonic() - self._since if self._state in DOWN else 0.0

    def request(self, request: PlannerRequest, leg: int | None = None, reason: str = "") -> None:
        """Passes a request to the planner, and repeats the call until it is carried out; call it every tick.

        `leg` is the row of the leg to walk without, `reason` why the robot has to stop.
        """
        now = time.monotonic()
        if request is not self._requested:
            self._due = 0.0
            self._requested = request
            self._refused = False
        stands = request in (PlannerRequest.STOP, PlannerRequest.LOSE_LEG)
        self._ask_to_pause(reason or "a fault of the servos" if stands else "", now)
        if request is PlannerRequest.LOSE_LEG and leg is not None and not self._refused:
            self._ask_to_lose(self._legs[leg], now)
        if request is PlannerRequest.SIT and self._state == RobotState.SITTING.value:
            self._seated()
        sits = self._state in (RobotState.SINKING.value, RobotState.SITTING.value)
        if request is PlannerRequest.SIT and now >= self._due and not sits and self.reachable:
            self._due = now + REPEAT_PERIOD_S
            self._sit.call_async(Trigger.Request())

    def _ask_to_pause(self, reason: str, now: float) -> None:
        """Asks the planner to pause for a reason and repeats it; an empty reason ends the pause."""
        if now >= self._pause_due if reason else self._pause_due:
            self._pause_due = now + REPEAT_PERIOD_S if reason else 0.0
            self._pause.publish(messages.text(reason))

    def _ask_to_lose(self, leg: str, now: float) -> None:
        if now >= self._due and self._lose_leg.get_subscription_count():
            self._due = now + LEG_CHANGE_S
            self._lose_leg.publish(messages.text(leg))
