"""Lost and returned legs: the topics `lose_leg` and `return_leg`.

The tables of the remaining legs take about a second to compute. A thread computes them before the request is passed on,
so that no tick is delayed.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from std_msgs.msg import String

from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.names import enumerated
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.posture.walking_legs import WalkingLegs
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import COMMAND, EVENTS, LATCHED


class LegInput:
    """Passes requests on to the operator commands, and publishes the lost legs. Lives as long as its node."""

    def __init__(self, node: GuardedNode, commands: OperatorCommands, planner: Planner) -> None:
        """The thread starts with the first request."""
        self._node, self._commands, self._planner = node, commands, planner
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="walking_legs")
        self._computing: Future[WalkingLegs] | None = None  # for the newest request
        self._leg, self._loses = "", False  # the newest request: the leg, and whether it is lost or returns
        self._lost_then: tuple[str, ...] = ()  # legs lost when the computation was started
        self._refusals = node.create_publisher(String, "leg_refused", EVENTS)
        self._lost = node.create_publisher(String, "lost_legs", LATCHED)
        self._shown: tuple[str, ...] = ()
        self._lost.publish(messages.text(""))
        node.create_subscription(String, "lose_leg", self.on_lose, COMMAND)
        node.create_subscription(String, "return_leg", self.on_return, COMMAND)

    def on_lose(self, message: String) -> None:
        """Requests that the leg of this name is folded away."""
        self._begin(message.data, lost=True)

    def on_return(self, message: String) -> None:
        """Requests that the folded leg of this name is used again."""
        self._begin(message.data, lost=False)

    def _begin(self, leg: str, *, lost: bool) -> None:
        """Computes the tables of the remaining legs; the request is passed on afterwards."""
        self._leg, self._loses = leg, lost
        self._compute()

    def _compute(self) -> None:
        self._lost_then = self._planner.view.lost_legs
        robot, others = self._planner.robot, {*self._lost_then} - {self._leg}
        lost = {*others, self._leg} if self._loses else others
        rows = frozenset(row for row, name in enumerate(robot.leg_names) if name in lost)
        self._computing = self._pool.submit(WalkingLegs.without, robot, rows)

    def watch(self) -> None:
        """Passes a request on when its tables are ready and no leg is being folded; call it every tick."""
        tables, view = self._computing, self._planner.view
        if tables is not None and tables.done() and not view.changing_legs:
            if view.lost_legs == self._lost_then:
                self._pass_on(tables)
            else:
                self._compute()
        self._show(self._planner.view.lost_legs)

    def _pass_on(self, tables: Future[WalkingLegs]) -> None:
        self._computing = None
        try:
            remaining = tables.result()
        except ValueError as error:  # no gait is stable on the remaining legs
            refusal = str(error)
        else:
            refusal = self._commands.change_leg(self._leg, lost=self._loses, remaining=remaining)
        if refusal:
            self._node.report("leg", ReportLevel.WARNING, f"lose_leg or return_leg refused: {refusal}")
            self._refusals.publish(messages.text(refusal))

    def _show(self, lost: tuple[str, ...]) -> None:
        if lost != self._shown:
            self._shown = lost
            self._lost.publish(messages.text(",".join(lost)))
            walks = f"the robot walks without {enumerated(lost)}" if lost else "the robot walks on all legs"
            self._node.report("lost legs", ReportLevel.WARNING if lost else ReportLevel.OK, walks)
