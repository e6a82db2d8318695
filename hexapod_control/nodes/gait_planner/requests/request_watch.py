"""Reports why an accepted request changes nothing.

A request is accepted by what the planner knows. Whether the robot follows also depends on inverse_kinematics and the
driver, whose newest reports are on /diagnostics.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus

from hexapod_control.core.kinematics.arrays import Array
from hexapod_control.core.names import HARDWARE_NODES
from hexapod_control.core.planner.planner import Planner
from hexapod_control.core.planner.tick_plan import RobotState, TickPlan
from hexapod_control.nodes.gait_planner.planner_output import PlannerOutput
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import SAMPLES

PATIENCE_S = 2.0  # of the control clock, after which a request without any effect is reported
MOVED_RAD = 0.02  # by which a joint has to turn for an effect
MAX_REPORT_AGE_S = 2.5  # of a report of another node
CHAIN = ("inverse_kinematics", *HARDWARE_NODES)  # nodes between the planner and the joints, in this order
ENDS = {"stand": (RobotState.STANDING,), "recover": (RobotState.STANDING,), "sit": (RobotState.SITTING,)}


class _Watched(NamedTuple):
    """An accepted request, and the robot at that time."""

    name: str
    accepted_at: float  # [s] of the control clock
    state: RobotState
    joints: Array | None  # (n, 3) [rad] measured


class RequestWatch:
    """Watches the newest accepted request. Call `watch` in every tick.

    `joints` are the newest measured ones, `armed` is whether the torque is on.
    """

    def __init__(self, node: GuardedNode, planner: Planner, output: PlannerOutput) -> None:
        self._node, self._planner, self._output = node, planner, output
        self._request: _Watched | None = None
        self._reports: dict[str, tuple[str, float]] = {}  # text by name of a node in CHAIN, with its steady time [s]
        self.armed = True
        self.joints: Array | None = None  # (n, 3) [rad]
        node.create_subscription(DiagnosticArray, "/diagnostics", self.on_diagnostics, SAMPLES)

    def on_diagnostics(self, message: DiagnosticArray) -> None:
        """Stores what the nodes in CHAIN of this robot report."""
        namespace = self._node.get_namespace().rstrip("/")
        for status in message.status:
            place, _, name = status.name.rpartition("/")
            if place == namespace and name in CHAIN:
                text = "" if status.level == DiagnosticStatus.OK else status.message
                self._reports[name] = text, time.monotonic()

    def begin(self, request: str) -> None:
        """Watches an accepted request, and no longer the one before."""
        self._request = _Watched(request, self._node.control_time, self._planner.state, self.joints)

    def watch(self) -> None:
        """Reports a request that has changed nothing."""
        request, plan = self._request, self._output.last
        if request is None or plan is None or self._node.control_time - request.accepted_at < PATIENCE_S:
            return
        self._request = None
        if not self._is_done(request, plan) and not self._has_moved(request):
            text = f"{request.name} was accepted {PATIENCE_S:g} s ago, but the robot does not move: {self._cause(plan)}"
            self._node.report("request without effect", ReportLevel.ERROR, text)

    def _is_done(self, request: _Watched, plan: TickPlan) -> bool:
        return plan.at_rest and self._planner.state in ENDS.get(request.name, (self._planner.state,))

    def _has_moved(self, request: _Watched) -> bool:
        if request.joints is None or self.joints is None:
            return self._planner.state is not request.state
        return bool(abs(self.joints - request.joints).max() > MOVED_RAD)

    def _cause(self, plan: TickPlan) -> str:
        """Why nothing moves: what the nodes after the planner report, in their order, else what the planner knows."""
        if not self.armed:
            return "the torque is off: call arm"
        now = time.monotonic()
        fresh = {name: text for name, (text, at) in self._reports.items() if text and now - at < MAX_REPORT_AGE_S}
        for name in CHAIN:
            if name in fresh:
                return f"{name} reports: {fresh[name]}"
        if plan.unreached is not None:
            leg, reason, excess = plan.unreached
            return f"the target of the foot of {leg} is {reason.describe(excess)}: call sit or stand again"
        if plan.blocked is not None and math.isfinite(plan.blocked.distance):
            return "two legs are in each other's way: switch the torque off with disarm, and part them by hand"
        if self.joints is None:
            return "no joint_states arrive: start the driver"
        return "the joints do not follow their targets: do inverse_kinematics and the driver run, and is it armed?"
