"""Who drives: sources say so on `driving`, gait_planner shows the foremost one on `command_source`."""

from __future__ import annotations

import time
from typing import Any

from std_msgs.msg import String

from hexapod_control.core.steering.command_priorities import ANNOUNCED, SOURCES, foremost
from hexapod_control.nodes.gait_planner.velocity_input import VelocityInput
from hexapod_control.ros import messages
from hexapod_control.ros.guarded_node import GuardedNode
from hexapod_control.ros.qos import EVENTS, LATCHED

NOBODY = "none"
WATCH = 0.2  # [s]
MAX_NAME_LENGTH = 40  # characters of a name
MOST = 16  # names that are kept beside those of the table


class CommandSourceDisplay:
    """For gait_planner: the latched topic `command_source`."""

    def __init__(self, node: GuardedNode, velocity: VelocityInput) -> None:
        self._velocity = velocity
        self.announced: dict[str, float] = {}  # [s] steady time by name
        self._shown = ""
        self._publisher = node.create_publisher(String, "command_source", LATCHED)
        node.create_subscription(String, "driving", self.on_driving, EVENTS)
        node.create_timer(WATCH, self.show, clock=node.steady)
        self.show()

    def on_driving(self, message: Any) -> None:
        """A source that is in use."""
        name = "".join(filter(str.isprintable, message.data))[:MAX_NAME_LENGTH]
        if name and (name in SOURCES or name in self.announced or len(self.announced) < MOST):
            self.announced[name] = time.monotonic()
            self.show()

    @property
    def name(self) -> str:
        """The foremost source in use; the nodes that publish cmd_vel if the one in force does not say its name."""
        now = time.monotonic()
        self.announced = {name: when for name, when in self.announced.items() if now - when <= ANNOUNCED}
        if self.announced:
            return foremost(self.announced)
        return NOBODY if self._velocity.input.twist.is_zero else ", ".join(self._velocity.sources) or NOBODY

    def show(self) -> None:
        """Publishes the name if it is a new one."""
        name = self.name
        if name != self._shown:
            self._shown = name
            self._publisher.publish(messages.text(name))
