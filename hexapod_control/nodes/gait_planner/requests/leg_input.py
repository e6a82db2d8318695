"""Legs that are lost and come back: the topics `lose_leg` and `return_leg`.

What the robot can do on its other legs takes about a second to compute. A thread does so before the request is passed
on, so that no tick waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from std_msgs.msg import String

from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED


class LegInput:
    """Passes requests on to the operator's commands, and publishes what is lost; lives as long as its node."""

    def __init__(self, node: GuardedNode, commands: OperatorCommands, planner: Planner) -> None:
        """The thread starts with the first request."""
        self._node, self._commands, self._planner = node, commands, planner
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="walking_legs")
        self._computing: Future[WalkingLegs] | None = None  # for the newest request
        self._request: Callable[[], str] = str  # the newest one; it returns why it is refused
        self._refusals = node.create_publisher(String, "leg_refused", EVENTS)
        self._lost = node.create_publisher(String, "lost_legs", LATCHED)
        self._shown: tuple[str, ...] = ()
        self._lost.publish(messages.text(""))
        node.create_subscription(String, "lose_leg", self.on_lose, COMMAND)
        node.create_subscription(String, "return_leg", self.on_return, COMMAND)

    def on_lose(self, message: String) -> None:
        """A leg to fold away, by name."""
        self._begin(
            partial(self._commands.change_leg, message.data, lost=True), {*self._planner.view.lost_legs, message.data}
        )

    def on_return(self, message: String) -> None:
        """A leg to walk on again, by name."""
        self._begin(
            partial(self._commands.change_leg, message.data, lost=False),
            {*self._planner.view.lost_legs} - {message.data},
        )

    def _begin(self, request: Callable[[], str], lost: set[str]) -> None:
        """Computes what the robot can do without the legs lost; the request follows."""
        robot = self._planner.robot
        rows = frozenset(row for row, name in enumerate(robot.leg_names) if name in lost)
        self._request, self._computing = request, self._pool.submit(WalkingLegs.without, robot, rows)

    def watch(self) -> None:
        """Passes a request on once its tables are there, and shows what is lost; called in every tick."""
        if self._computing is not None and self._computing.done():
            self._computing = None
            refusal = self._request()
            if refusal:
                self._node.report("leg", ReportLevel.WARNING, f"lose_leg or return_leg refused: {refusal}")
                self._refusals.publish(messages.text(refusal))
        lost = self._planner.view.lost_legs
        if lost != self._shown:
            self._shown = lost
            self._lost.publish(messages.text(",".join(lost)))
            walks = f"the robot walks without {' and '.join(lost)}" if lost else "the robot walks on all legs"
            self._node.report("lost legs", ReportLevel.WARNING if lost else ReportLevel.OK, walks)
