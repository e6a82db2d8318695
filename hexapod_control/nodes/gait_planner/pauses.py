"""Pauses that the machine makes by itself, because of a fault that can end without a person.

The robot comes to rest at the begin of a pause. Once all causes have ended, velocities are followed again, and standing
up or sitting down continues; only a stop of an operator has to be answered with a zero command or a new request.
"""

from __future__ import annotations

import time

from std_msgs.msg import String

from hexapod_control.core.motions.operator_commands import OperatorCommands
from hexapod_control.core.names import shortened
from hexapod_control.core.planner.planner import Planner
from hexapod_control.nodes.gait_planner.velocity_filter import VelocityFilter
from hexapod_control.ros.guarded_node import GuardedNode, ReportLevel
from hexapod_control.ros.qos import EVENTS

TOPIC = "pause"
REQUEST_LIFE_S = 2.5  # of a message of the driver, which repeats it every second as long as the cause lasts
FAILURE_PAUSE_S = 2.0  # after an exception
MAX_REASON = 300  # characters of a reason that are shown
FOLLOWED = "velocities are followed again"


class Pauses:
    """The present pauses. Lives as long as its node; call `watch` regularly."""

    def __init__(
        self, node: GuardedNode, commands: OperatorCommands, planner: Planner, velocities: VelocityFilter
    ) -> None:
        """`velocities` are ignored while a pause lasts."""
        self._node = node
        self._commands = commands
        self._planner = planner
        self._velocities = velocities
        self._ends: dict[str, float] = {}  # [s] steady time, by cause
        node.create_subscription(String, TOPIC, self.on_pause, EVENTS)

    def on_pause(self, message: String) -> None:
        """Handles the topic `pause`: why the sender needs the robot to stand still; empty once it does not."""
        if message.data:
            self.begin(TOPIC, shortened(message.data, MAX_REASON), REQUEST_LIFE_S)
        else:
            self._ends.pop(TOPIC, None)
            self.watch()

    def begin(self, cause: str, reason: str, seconds: float) -> None:
        """Brings the robot to rest for `seconds`, or for longer if it pauses already; `reason` is reported."""
        self._ends[cause] = time.monotonic() + seconds
        view = self._planner.view
        # During a pause the robot may still sit down; and a stop would abandon the change of a leg.
        if not (self._velocities.paused and (view.changing_legs or view.lying_down)):
            self._commands.interrupt()
        self._velocities.pause()
        self._node.report("pause", ReportLevel.WARNING, f"the robot pauses until this has ended: {reason}")

    def watch(self) -> None:
        """Ends the pauses whose time is over, and continues what they interrupted."""
        now = time.monotonic()
        self._ends = {cause: end for cause, end in self._ends.items() if now < end}
        if self._velocities.paused and not self._ends:
            self._velocities.paused = False
            next_step = "after the stop, send a zero command first" if self._velocities.blocked else FOLLOWED
            self._node.report("pause end", ReportLevel.OK, f"the pause has ended: {next_step}")
            self._commands.resume()
